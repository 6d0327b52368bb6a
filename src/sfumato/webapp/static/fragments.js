// Parts of a page are fetched as the page that they are on, and swapped by their ids.
const rules = globalThis.trustedTypes?.createPolicy("sfumato", { createHTML: (text) => text });
const parser = new DOMParser();

const live = () => document.getElementById("live");

export function announce(words) {
  if (live() && words) live().textContent = words;
}

// What the page says in its own language, by a name.
export const tell = (name) => announce(live()?.dataset[name]);

// What was sent last wins: an answer to an older question is thrown away.
const asked = new Map();

export async function fetchParts(address, options = {}) {
  const answer = await fetch(address, { credentials: "same-origin", ...options, headers: { "X-Fragment": "1", ...options.headers } });
  const text = await answer.text();
  return { page: parser.parseFromString(rules ? rules.createHTML(text) : text, "text/html"), answer };
}

export function swap(page, id) {
  const [old, fresh] = [document.getElementById(id), page.getElementById(id)];
  if (!old || !fresh) return false;
  const focused = document.activeElement;
  const at = focused && old.contains(focused) ? focused.id || focused.name : "";
  const typed = focused?.matches("input[type=text]:not([data-fresh]), textarea") && focused.value !== focused.defaultValue ? focused.value : null;
  const open = [...old.querySelectorAll("details[open] > summary")].map((each) => each.textContent);
  const before = old.dataset.says;
  old.replaceWith(document.importNode(fresh, true));
  const now = document.getElementById(id);
  for (const each of now.querySelectorAll("details > summary")) if (open.includes(each.textContent)) each.parentElement.open = true;
  if (at) {
    const again = now.querySelector(`#${CSS.escape(at)}, [name="${CSS.escape(at)}"]`);
    again?.focus({ preventScroll: true });
    if (again && typed !== null) again.value = typed; // somebody is still at it
  }
  if (now.dataset.says !== before) announce(now.dataset.says);
  return true;
}

export async function load(part) {
  const number = (asked.get(part.id) ?? 0) + 1;
  asked.set(part.id, number);
  await new Promise((ready) => setTimeout(ready, part.dataset.wait ?? 0));
  if (asked.get(part.id) !== number) return;
  try {
    const { page } = await fetchParts(part.dataset.load);
    if (asked.get(part.id) !== number) return;
    swap(page, part.id);
    for (const other of page.querySelectorAll("[data-swap]")) swap(page, other.id);
    const late = document.getElementById(part.id);
    if (late.querySelector("[data-again]")) setTimeout(() => load(late), 1500);
  } catch {
    tell("unasked");
  }
}

const sent = new WeakMap();

// A form that names parts is sent in place: its answer is a page, of which these parts are taken.
export async function sendInPlace(event) {
  const form = event.target;
  const parts = form.dataset.fragment?.split(" ");
  if (!parts || event.submitter?.matches("[data-whole]")) return;
  event.preventDefault();
  const body = new URLSearchParams(new FormData(form, event.submitter));
  if (sent.get(form) === String(body)) return; // Enter changes a field and sends its form: that is one thing
  sent.set(form, String(body));
  try {
    const { page, answer } = await fetchParts(form.action, { method: "POST", body });
    const swapped = parts.map((id) => swap(page, id));
    if (!answer.ok || !swapped.some(Boolean)) form.submit();
    else {
      announce(page.querySelector(".said")?.textContent ?? live()?.dataset.saved);
      if (parts.includes("standing")) for (const each of document.querySelectorAll("[data-load]")) load(each);
      document.dispatchEvent(new Event("sent"));
    }
  } catch {
    form.submit();
  }
}

// What is still being counted is asked for again, unless somebody is filling in a form there.
export function askAgain() {
  const main = document.getElementById("content");
  if (!main?.querySelector("[data-again]")) return;
  setTimeout(async () => {
    if (!main.contains(document.activeElement) || document.activeElement === main) {
      const { page } = await fetchParts(location.href);
      swap(page, "content");
    }
    askAgain();
  }, 1500);
}

// A form that shows what it would make is sent to be looked at, a moment after the last change; nothing is saved.
let waiting = 0;

export function preview(event) {
  const { form } = event.target;
  if (!form?.dataset.preview) return;
  clearTimeout(waiting);
  waiting = setTimeout(async () => {
    const body = new URLSearchParams(new FormData(form));
    body.set("do", "look");
    const { page } = await fetchParts(form.action, { method: "POST", body });
    if (swap(page, form.dataset.preview)) announce(document.querySelector(`#${form.dataset.preview} .coverage`)?.textContent);
  }, 600);
}
