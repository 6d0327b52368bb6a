// A file goes to the server as it is, so that its size does not matter; then on to how it is read.
import { tell } from "./fragments.js";

export function uploads(form) {
  if (!form) return;
  const input = form.querySelector("input[type=file]");
  const bar = form.querySelector("progress");
  const token = form.querySelector("[name=form_token]").value;

  const send = (file) => {
    if (!file) return tell("choose");
    const request = new XMLHttpRequest();
    request.open("PUT", form.dataset.upload);
    request.setRequestHeader("X-Form-Token", token);
    request.setRequestHeader("X-Name", encodeURIComponent(file.name));
    request.upload.onprogress = (event) => { bar.hidden = false; bar.value = event.loaded / event.total; };
    request.onload = () => {
      if (request.status !== 200) {
        tell("uncopied");
        return form.submit();
      }
      const next = document.createElement("form");
      next.method = "post";
      next.action = form.dataset.then;
      for (const [name, value] of [["form_token", token], ["path", JSON.parse(request.responseText).path]]) {
        const field = document.createElement("input");
        [field.type, field.name, field.value] = ["hidden", name, value];
        next.append(field);
      }
      document.body.append(next);
      next.submit();
    };
    request.send(file);
  };

  form.addEventListener("submit", (event) => { event.preventDefault(); send(input.files[0]); });
  const area = form.closest("section");
  area.addEventListener("dragover", (event) => { event.preventDefault(); area.classList.add("over"); });
  area.addEventListener("dragleave", () => area.classList.remove("over"));
  area.addEventListener("drop", (event) => { event.preventDefault(); area.classList.remove("over"); send(event.dataTransfer.files[0]); });
}
