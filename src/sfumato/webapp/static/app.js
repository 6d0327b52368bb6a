// Pages work without this file; with it, forms and checks answer in place.
import { controls } from "./controls.js";
import { askAgain, load, sendInPlace } from "./fragments.js";
import { follow } from "./jobs.js";
import { uploads } from "./upload.js";

document.addEventListener("submit", sendInPlace);
for (const part of document.querySelectorAll("[data-load]")) load(part);
follow(document.querySelector("[data-events]"));
uploads(document.querySelector("[data-upload]"));
controls();
askAgain();
