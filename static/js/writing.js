// Serves [data-guarded], the form of a wiki page, with [data-save] and [data-leave].
// Writing a wiki page: saving by key, and a word before text is lost.

import { toast } from "./page.js";

export function watchWriting() {
  const form = document.querySelector("form[data-guarded]");
  if (!form) return;
  guard(form);
  // By then the drafts are those of whoever is here (drafts.js).
  document.addEventListener("DOMContentLoaded", () => offerOlderDraft(form));
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("[data-save]"));
  });
}

/** Ask before a page with text that was not saved is left; a draft of it is kept all the same. */
function guard(form) {
  let leaving = false;
  const first = new Map([...form.elements].map((field) => [field, field.defaultValue]));
  const isDirty = () =>
    "dirty" in form.dataset || [...first].some(([field, value]) => field.type !== "hidden" && field.value !== value);
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && isDirty()) event.preventDefault();
  });
  form.addEventListener("submit", () => (leaving = true));
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") === "/logout") leaving = true;
  });
  window.addEventListener("pageshow", () => (leaving = false));
  // Cancel says it already: nothing is asked twice, and the draft goes.
  form.addEventListener("click", (event) => {
    if (!event.target.closest("[data-leave]")) return;
    if (isDirty() && !confirm("Leave without saving? Your changes will be lost.")) {
      event.preventDefault();
      return;
    }
    leaving = true;
    for (const area of form.querySelectorAll("[data-draft]")) sessionStorage.removeItem(area.dataset.draft);
  });
}

/** Text begun on an older revision comes back with that revision, so saving shows both texts. */
function offerOlderDraft(form) {
  const area = form.elements.body;
  const [kind, page, revision] = (area?.dataset.draft ?? "").split(":");
  if (kind !== "wiki" || !revision || !form.elements.base) return;
  const older = Object.keys(sessionStorage)
    .filter((key) => key.startsWith(`${kind}:${page}:`) && key !== area.dataset.draft)
    .pop();
  if (!older) return;
  const note = document.createElement("p");
  note.className = "notice warn";
  note.append("You have unsaved changes to an earlier revision of this page. ");
  const discard = () => sessionStorage.removeItem(older);
  for (const [words, act] of [["Restore", restore], ["Discard", discard]]) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = "button tiny";
    button.textContent = words;
    button.addEventListener("click", () => {
      act();
      note.remove();
      area.focus();
    });
    note.append(button, " ");
  }
  form.prepend(note);

  function restore() {
    area.value = JSON.parse(sessionStorage.getItem(older))[0];
    // It stays that draft, or it would come back as one of the text of now.
    area.dataset.draft = older;
    form.elements.base.value = older.split(":")[2];
    form.elements.etag.value = '"older"';
    area.dispatchEvent(new Event("input", { bubbles: true }));
    toast("Your changes were restored. Save to merge them with newer ones.");
  }
}
