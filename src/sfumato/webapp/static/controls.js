// Small conveniences: sliders beside their numbers, a filter of long tables, ticking many at once.
const dispatch = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));
const MANY = ":is(table, .pane) input[type=checkbox]"; // one of many that are ticked together
const together = (box) => [...box.closest("table, .pane").querySelectorAll("input[type=checkbox]")].filter((each) => !each.closest("tr[hidden]"));

export function controls() {
  document.addEventListener("input", (event) => {
    const { target } = event;
    if (target.dataset.for) {
      const field = document.getElementById(target.dataset.for);
      field.value = String(Number(Number(target.value).toPrecision(3)));
    }
    if (target.dataset.numbers) { // lines are counted along; marks of the text before are gone with another count
      const numbers = document.getElementById(target.dataset.numbers);
      const count = target.value.split("\n").length;
      if (count !== numbers.textContent.split("\n").length - 1) numbers.textContent = Array.from({ length: count }, (_, at) => `${String(at + 1).padStart(4)}\n`).join("");
    }
    if (target.dataset.filter) {
      const words = target.value.toLowerCase();
      for (const row of document.querySelectorAll(`#${target.dataset.filter} tbody tr`)) {
        row.hidden = !row.dataset.name.toLowerCase().includes(words);
      }
    }
  });
  document.addEventListener("change", (event) => {
    if (event.target.dataset.into) {
      event.target.files[0]?.text().then((text) => { document.getElementById(event.target.dataset.into).value = text; });
    }
    // What is changed is saved at once, as if its button had been pressed; ticks and bulk settings wait for theirs.
    const { form } = event.target;
    if (form?.dataset.autosave && (event.target.name || event.target.dataset.for) && !event.target.closest("[data-later]")) {
      form.requestSubmit(form.querySelector(`button[name=do][value=${form.dataset.autosave}]`));
    }
  });
  // Shift with an arrow ticks the next one, too.
  document.addEventListener("keydown", (event) => {
    const step = event.shiftKey && { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches(MANY)) return;
    const boxes = together(event.target);
    const next = boxes[boxes.indexOf(event.target) + step];
    if (!next) return;
    event.preventDefault();
    event.target.checked = next.checked = true;
    next.focus();
  });
  // Shift ticks all between the last tick and this one.
  let last = null;
  document.addEventListener("click", (event) => {
    const { target } = event;
    if (target.dataset.line) { // the line of a problem, chosen in the text
      const text = document.querySelector("textarea[data-numbers]");
      const lines = text.value.split("\n");
      const start = lines.slice(0, target.dataset.line - 1).join("\n").length + (target.dataset.line > 1);
      event.preventDefault(); // which would take the focus
      text.focus();
      document.querySelector(target.hash)?.scrollIntoView({ block: "center" });
      return text.setSelectionRange(start, start + lines[target.dataset.line - 1].length);
    }
    if (target.dataset.tick) {
      for (const box of document.querySelectorAll(`#${target.dataset.tick} tbody tr:not([hidden]) input[type=checkbox]`)) box.checked = true;
      return;
    }
    if (target.dataset.like) {
      const ticked = document.querySelectorAll(`#${target.dataset.like} tbody tr:has(input[type=checkbox]:checked)`);
      const like = new Set([...ticked].map((row) => row.dataset.like));
      for (const row of document.querySelectorAll(`#${target.dataset.like} tbody tr:not([hidden])`)) {
        if (like.has(row.dataset.like)) row.querySelector("input[type=checkbox]").checked = true;
      }
      return;
    }
    if (!target.matches(MANY)) return;
    const boxes = together(target);
    if (event.shiftKey && last && boxes.includes(last)) {
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(target)].sort((a, b) => a - b);
      for (const box of boxes.slice(from, to + 1)) { box.checked = target.checked; }
      dispatch(target);
    }
    last = target;
  });
}
