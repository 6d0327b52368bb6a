// Small conveniences: sliders beside their numbers, a filter of long tables, ticking many at once.
const dispatch = (field) => field.dispatchEvent(new Event("change", { bubbles: true }));

export function controls() {
  document.addEventListener("input", (event) => {
    const { target } = event;
    if (target.dataset.for) {
      const field = document.getElementById(target.dataset.for);
      field.value = String(Number(Number(target.value).toPrecision(3)));
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
  // m goes from a ticked value to the name of its group, and Enter there puts all ticked ones into it.
  document.addEventListener("keydown", (event) => {
    const name = document.querySelector("[data-group-name]");
    if (!name) return;
    if (event.key === "m" && event.target.matches("#groups-table input[type=checkbox]")) {
      event.preventDefault();
      event.target.checked = true;
      name.focus();
    } else if (event.key === "Enter" && event.target === name) {
      event.preventDefault();
      document.querySelector("[data-group]").click();
    }
  });
  // Shift with an arrow ticks the next one, too.
  document.addEventListener("keydown", (event) => {
    const step = event.shiftKey && { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step || !event.target.matches("table input[type=checkbox]")) return;
    const boxes = [...event.target.closest("table").querySelectorAll("tr:not([hidden]) input[type=checkbox]")];
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
    if (target.dataset.group) {
      const name = document.querySelector("[data-group-name]").value;
      for (const box of document.querySelectorAll(`#${target.dataset.group} input[type=checkbox]:checked`)) {
        box.closest("tr").querySelector("input[type=text]").value = name;
        box.checked = false;
      }
      return;
    }
    if (target.type !== "checkbox" || !target.closest("table")) return;
    const boxes = [...target.closest("table").querySelectorAll("tr:not([hidden]) input[type=checkbox]")];
    if (event.shiftKey && last && boxes.includes(last)) {
      const [from, to] = [boxes.indexOf(last), boxes.indexOf(target)].sort((a, b) => a - b);
      for (const box of boxes.slice(from, to + 1)) { box.checked = target.checked; }
      dispatch(target);
    }
    last = target;
  });
}
