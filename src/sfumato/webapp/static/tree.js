// A tree by keyboard: arrows go along and open or close, Home and End go to the ends, letters to the next that begins so.
const shown = (tree) => [...tree.querySelectorAll("[role=treeitem]")].filter((item) => !item.parentElement.closest("[aria-expanded=false]"));

function go(from, to) {
  if (!to) return;
  from.tabIndex = -1;
  to.tabIndex = 0;
  to.focus();
}

function open(item, yes) {
  if (item.hasAttribute("aria-expanded")) item.setAttribute("aria-expanded", String(yes));
}

export function trees() {
  document.addEventListener("click", (event) => {
    const item = event.target.closest("[role=treeitem]");
    if (item) open(item, item.getAttribute("aria-expanded") === "false");
  });
  document.addEventListener("keydown", (event) => {
    const item = event.target;
    if (!item.matches?.("[role=treeitem]") || event.ctrlKey || event.metaKey || event.altKey) return;
    const all = shown(item.closest("[role=tree]"));
    const at = all.indexOf(item);
    const state = item.getAttribute("aria-expanded");
    if (event.key === "ArrowDown") go(item, all[at + 1]);
    else if (event.key === "ArrowUp") go(item, all[at - 1]);
    else if (event.key === "Home") go(item, all[0]);
    else if (event.key === "End") go(item, all.at(-1));
    else if (event.key === "ArrowRight") state === "false" ? open(item, true) : state === "true" && go(item, all[at + 1]);
    else if (event.key === "ArrowLeft") state === "true" ? open(item, false) : go(item, item.parentElement.closest("[role=treeitem]"));
    else if (event.key.length === 1 && event.key !== " ") {
      const after = [...all.slice(at + 1), ...all.slice(0, at)];
      go(item, after.find((each) => each.textContent.trim().toLowerCase().startsWith(event.key.toLowerCase())));
    } else return;
    event.preventDefault();
  });
}
