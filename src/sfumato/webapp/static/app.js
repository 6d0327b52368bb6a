// Pages work without this file; with it, forms and checks answer in place.
import { controls } from "./controls.js";
import { askAgain, load, preview, sendInPlace } from "./fragments.js";
import { groups } from "./groups.js";
import { follow } from "./jobs.js";
import { trees } from "./tree.js";
import { uploads } from "./upload.js";

document.addEventListener("submit", sendInPlace);
document.addEventListener("input", preview);
for (const part of document.querySelectorAll("[data-load]")) load(part);
follow(document.querySelector("[data-events]"));
uploads(document.querySelector("[data-upload]"));
controls();
trees();
groups();
askAgain();
