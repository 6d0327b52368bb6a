// A job is followed by its events; each time the page is asked for its part about the job.
import { fetchParts, swap, tell } from "./fragments.js";

export function follow(part) {
  if (!part) return;
  const source = new EventSource(part.dataset.events);
  let waiting = false;
  const refresh = async () => {
    if (waiting) return;
    waiting = true;
    setTimeout(() => { waiting = false; }, 400);
    const { page } = await fetchParts(location.href);
    swap(page, "job");
  };
  source.addEventListener("progress", () => refresh().catch(() => {}));
  source.addEventListener("end", async (event) => {
    source.close();
    tell(event.data === "finished" ? "finished" : "ended");
    const { page } = await fetchParts(location.href);
    swap(page, "job");
    const then = document.getElementById("then");
    if (event.data === "finished" && then) location.assign(then.href);
  });
}
