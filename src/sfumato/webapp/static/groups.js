// Groups by hand: a drag ticks what is dragged and presses the button of where it is dropped; keys go along the boxes.
const pane = (part) => part?.closest?.("[data-many]");
const boxes = () => [...document.querySelectorAll("#groups [name=pick]")];
const within = (part) => boxes().filter((box) => box.closest(".pane") === part.closest(".pane"));
let dragged = null; // its name: what is dragged says nothing to other windows
let back = null; // which pane, and the place in it, that somebody came from with m

function press(value) {
  const form = document.querySelector("#groups form");
  form.requestSubmit(form.querySelector(`button[name=do][value="${value}"]`));
}

function drag() {
  document.addEventListener("dragstart", (event) => {
    const item = event.target.closest?.("#groups [data-name]");
    if (!item) return;
    dragged = item.dataset.name;
    event.dataTransfer.setData("text/plain", "");
    event.dataTransfer.effectAllowed = "move";
  });
  document.addEventListener("dragend", () => { dragged = null; });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    document.addEventListener(kind, (event) => {
      const place = event.target.closest?.("#groups [data-drop]");
      if (dragged === null || !place) return;
      for (const each of document.querySelectorAll("#groups .over")) each.classList.remove("over");
      if (kind === "dragleave") return;
      event.preventDefault();
      if (kind === "dragover") return place.classList.add("over");
      // What is ticked goes along with one that is ticked; one that is not goes alone.
      const all = boxes();
      const along = all.find((box) => box.value === dragged)?.checked;
      for (const box of all) box.checked = box.value === dragged || (along && box.checked);
      dragged = null;
      press(place.dataset.drop);
    });
  }
}

function keys(event) {
  const { target, key } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (target.matches("#groups input[type=text]") && key === "Enter") {
    event.preventDefault();
    return press(target.name === "name" ? "move" : `rename.${target.name.split(".")[1]}`);
  }
  if (target.name !== "pick" || !pane(target) || event.shiftKey) return;
  const all = within(target);
  const at = all.indexOf(target);
  const letter = key.length === 1 && key !== " " && key.toLowerCase();
  if (letter === "m") {
    if (!all.some((box) => box.checked)) target.checked = true;
    back = [target.closest(".pane").dataset.drop ?? "", at];
    const name = document.getElementById("group-name");
    name.focus();
    name.select(); // the last one, to be taken again with Enter
  } else if (letter) {
    [...all.slice(at + 1), ...all.slice(0, at)].find((box) => box.value.toLowerCase().startsWith(letter))?.focus();
  } else {
    const to = { ArrowDown: at + 1, ArrowRight: at + 1, ArrowUp: at - 1, ArrowLeft: at - 1, Home: 0, End: all.length - 1 }[key];
    if (to === undefined) return;
    all[to]?.focus();
  }
  event.preventDefault();
}

export function groups() {
  drag();
  document.addEventListener("keydown", keys);
  // Who came with m goes back to where they were.
  document.addEventListener("sent", () => {
    if (!back) return;
    const there = boxes().filter((box) => (box.closest(".pane").dataset.drop ?? "") === back[0]);
    (there[back[1]] ?? there.at(-1))?.focus();
    back = null;
  });
  let leaving = false;
  document.addEventListener("submit", (event) => { leaving = !event.defaultPrevented; });
  addEventListener("beforeunload", (event) => {
    if (!leaving && document.querySelector("#groups [name=earlier]")) event.preventDefault();
  });
}
