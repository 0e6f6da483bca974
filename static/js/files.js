// Serves data-behavior="files" with [data-pick], [data-uploads] and [data-image], and [data-attaches] with [data-attach].
// Uploads by paste, drop or file dialog, with progress, and the image viewer.

import { insert } from "./inserting.js";
import { announce, toast, uploads, waiting } from "./page.js";

// Images in rendered text, unless inside a link.
const IN_TEXT = "img[src^='/files/']:not(a *)";
// Forms that are to be sent once uploads have ended, each with its submitter and message.
const held = new WeakMap();
// Whether a placeholder is being inserted, which counts as typed.
let placing = false;

export function watchFiles() {
  document.addEventListener("paste", (event) => {
    const files = [...(event.clipboardData?.files ?? [])];
    const area = event.target.closest?.("textarea");
    // Spreadsheets paste text together with a picture of it.
    if (!area || !files.length || event.clipboardData.types.includes("text/plain")) return;
    event.preventDefault();
    addAll(files, area.dataset.attaches, area);
  });
  for (const kind of ["dragover", "drop"]) {
    document.addEventListener(kind, (event) => {
      const place = event.target.closest?.("textarea, [data-behavior=files]");
      if (!place || !event.dataTransfer?.types.includes("Files")) return;
      event.preventDefault();
      if (kind === "drop") addAll([...event.dataTransfer.files], placeOf(place), place.matches("textarea") ? place : null);
    });
  }
  // In the capture phase, before htmx and drafts see it.
  document.addEventListener("submit", hold, true);
  document.addEventListener("input", ({ isTrusted, target }) => isTrusted && !placing && letGo(target.form));
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-attach], [data-pick]");
    if (button) pick(event, button);
    const image = event.target.closest("[data-image], [data-gallery]") ?? event.target.closest(IN_TEXT);
    if (image && !event.ctrlKey && !event.metaKey && !event.shiftKey && !image.matches("[data-gallery]")) {
      event.preventDefault();
      openGallery(image);
    }
  });
}

const placeOf = (element) => element.dataset.attaches ?? element.dataset.place;

function pick(event, button) {
  event.preventDefault();
  const area = document.getElementById(button.dataset.attach ?? "");
  const place = placeOf(area ?? button.closest("[data-behavior=files]"));
  const field = document.createElement("input");
  field.type = "file";
  field.multiple = true;
  field.addEventListener("change", () => addAll([...field.files], place, area));
  field.click();
}

/** Files are uploaded one after another, to keep their order. */
async function addAll(files, place, area) {
  if (!place) return void toast("Save this first, then add files.", "error");
  const all = files.map((file) => ({ area, file, name: file.name || "image.png" }));
  if (area) for (const one of all) uploads.add(one);
  let added = 0;
  for (const one of all) added += (await add(one, place)) ? 1 : 0;
  if (added) refresh(place);
}

async function add(one, place) {
  const { area, file, name } = one;
  placing = true;
  if (area) insert(area, waiting(one), area.selectionStart, area.selectionEnd);
  placing = false;
  const made = await send(file, name, place, area);
  if (area) {
    replace(fieldOf(one), waiting(one), made ? linkTo(made) : "");
    uploads.delete(one);
    release(one, made);
  }
  return made;
}

/** The field of an upload, or the one in its place: a new form may be there by now. */
const fieldOf = ({ area }) => (area.isConnected ? area : (document.querySelector(`[data-attaches][id="${area.id}"]`) ?? area));
const uploadInto = (form) => [...uploads].find((one) => fieldOf(one).form === form);

/** A form is not sent during uploads into its fields, which would save the placeholder and could end the upload. */
function hold(event) {
  const { target: form, submitter } = event;
  const upload = uploadInto(form);
  if (!upload) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  const note = held.get(form)?.note ?? document.createElement("span");
  note.className = "soft small";
  held.set(form, { submitter, note });
  form.querySelector("button:not([type=button])").parentElement.append(note);
  say(note, upload);
}

/** Whoever goes on editing is not done, so the form waits no longer. */
function letGo(form) {
  if (!held.has(form)) return;
  held.get(form).note.remove();
  held.delete(form);
  toast("You went on typing, so nothing was saved. Save again when you are done.");
}

function say(note, { name }) {
  note.textContent = `Waiting for ${name}…`;
  announce(note.textContent);
}

/** After an upload, its form is sent, waits for the next one, or stays because the file is missing. */
function release(upload, made) {
  const { form } = fieldOf(upload);
  const { submitter, note } = held.get(form) ?? {};
  if (!note) return;
  const next = uploadInto(form);
  if (made && next) return say(note, next);
  note.remove();
  held.delete(form);
  if (!made) toast(`${upload.name} is missing, so nothing was saved. Your text is still here.`, "error");
  else if (!submitter) form.requestSubmit();
  // htmx takes the submitter from its click.
  else submitter.click();
}

const linkTo = (made) => `${made.is_image ? "!" : ""}[${made.name.replace(/[[\]\\]/g, " ")}](/files/${made.id})`;

function replace(area, mark, text) {
  const at = area.value.indexOf(mark);
  if (at < 0) return;
  const end = at + mark.length;
  const { selectionStart: from } = area;
  // A caret behind the placeholder stays where the user types.
  area.setRangeText(text, at, end, from > at && from <= end ? "end" : "preserve");
  area.dispatchEvent(new Event("input", { bubbles: true }));
}

/** Upload a file. Returns the server's record of it, or null after an error message or a cancel. */
function send(file, name, place, area) {
  const row = rowOf(name, area);
  const form = new FormData();
  form.append("file", file, name);
  return new Promise((done) => {
    const request = new XMLHttpRequest();
    const end = (made, problem) => {
      row.remove();
      if (problem) toast(`${name}: ${problem}`, "error");
      else if (made) announce(`${name} was added.`);
      done(made);
    };
    request.upload.addEventListener("progress", ({ loaded, total }) => (row.querySelector("progress").value = loaded / total));
    request.addEventListener("load", () => {
      const answer = request.response;
      if (request.status === 201 && answer) end(answer);
      else end(null, problemOf(request.status, answer));
    });
    request.addEventListener("error", () => end(null, "No connection. The file was not added."));
    request.addEventListener("abort", () => end(null));
    row.querySelector("button").addEventListener("click", () => request.abort());
    request.open("POST", `/api/v1${place}/files`);
    // A body that is not JSON is null.
    request.responseType = "json";
    request.setRequestHeader("X-Requested-By", "web");
    request.send(form);
  });
}

function problemOf(status, answer) {
  if (status === 413) return `The file is too large. Files have at most ${Math.floor((answer?.error?.details?.limit_bytes ?? 0) / 2 ** 20)} MB.`;
  if (status === 401) return "You are logged out. Log in and add the file again.";
  return answer?.error?.message ?? "The file was not added.";
}

function rowOf(name, area) {
  const row = document.createElement(area ? "div" : "li");
  row.className = "upload";
  row.innerHTML = '<span class="file-name"></span><progress max="1" value="0"></progress><button type="button" class="button quiet tiny">Cancel</button>';
  row.firstChild.textContent = name;
  row.querySelector("progress").setAttribute("aria-label", `Uploading ${name}`);
  if (area) area.closest("[data-field]").append(row);
  else document.querySelector("[data-uploads]").append(row);
  return row;
}

function refresh(place) {
  if (document.querySelector("[data-behavior=files]")) {
    htmx.ajax("GET", `${place}/files`, { target: "[data-behavior=files]", swap: "outerHTML" });
  }
}

/** Show an image in the viewer, with the previous and next ones. */
function openGallery(image) {
  const around = image.matches("[data-image]") ? "[data-image]" : IN_TEXT;
  const all = [...document.querySelectorAll(around)].map((one) => ({
    address: one.getAttribute("href") ?? one.getAttribute("src"),
    name: one.dataset.image ?? one.alt,
    from: one,
  }));
  const dialog = document.createElement("dialog");
  dialog.className = "gallery";
  dialog.dataset.gallery = "";
  dialog.innerHTML = '<img alt=""><p><span data-name></span> <span class="faint" data-count></span></p><button type="button" class="button tiny" data-back>Previous</button><button type="button" class="button tiny" data-next>Next</button><a class="button tiny" download>Download</a><button type="button" class="button tiny" data-end>Close</button>';
  let at = all.findIndex((one) => one.from === image);
  const show = (step) => {
    at = (at + step + all.length) % all.length;
    const { address, name } = all[at];
    const [shown, count] = [dialog.querySelector("img"), dialog.querySelector("[data-count]")];
    shown.src = address;
    shown.alt = name;
    dialog.querySelector("[data-name]").textContent = name;
    count.textContent = all.length > 1 ? `${at + 1} of ${all.length}` : "";
    Object.assign(dialog.querySelector("a"), { href: address, download: name });
  };
  for (const one of dialog.querySelectorAll("[data-back], [data-next]")) one.hidden = all.length < 2;
  dialog.addEventListener("click", ({ target }) => {
    if (target === dialog || target.matches("[data-end]")) dialog.close();
    else if (target.matches("[data-back]")) show(-1);
    else if (target.matches("[data-next]")) show(1);
  });
  dialog.addEventListener("keydown", (event) => {
    if (event.key === "ArrowLeft") show(-1);
    else if (event.key === "ArrowRight") show(1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  dialog.addEventListener("close", () => {
    dialog.remove();
    all[at].from.focus?.();
  });
  document.body.append(dialog);
  show(0);
  dialog.setAttribute("aria-label", "Images");
  dialog.showModal();
}
