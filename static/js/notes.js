// Serves data-behavior="notes", data-behavior="new-note", [data-editor], [data-notes] and [data-note-count].
// The wall of sticky notes: filtering the notes on the page by text, color and author.

import { marked, toast } from "./page.js";
import { watchTools } from "./toolbar.js";

watchNotes();
watchTools();
// The shortcut for a new note leads here from other pages.
if (location.hash === "#note-body") marked("new-note").focus();

function watchNotes() {
  const filters = [...document.querySelectorAll("[data-notes]")];
  const wall = marked("notes");
  if (!wall || !filters.length) return;
  const count = document.querySelector("[data-note-count]");
  const apply = () => {
    const wanted = Object.fromEntries(filters.map((one) => [one.dataset.notes, one.value.trim()]));
    let shown = 0;
    for (const note of wall.children) {
      const text = note.querySelector("[data-behavior=markdown]")?.textContent.toLowerCase() ?? "";
      // Whoever edits a note sees it, whatever it says by now.
      note.hidden =
        !note.matches("[data-editor]") &&
        (!text.includes((wanted.text ?? "").toLowerCase()) ||
          Boolean(wanted.color && note.dataset.color !== wanted.color) ||
          Boolean(wanted.author && note.dataset.author !== wanted.author));
      shown += note.hidden ? 0 : 1;
    }
    const all = wall.children.length;
    count.textContent = shown === all ? String(all) : `${shown} of ${all}`;
  };
  for (const one of filters) one.addEventListener("input", apply);
  document.addEventListener("htmx:afterSettle", apply);
  document.addEventListener("htmx:afterRequest", ({ detail }) => {
    const { elt, verb } = detail.requestConfig;
    if (verb !== "post" || !detail.successful) return;
    const isNew = elt.querySelector("[data-behavior=new-note]");
    const note = isNew ? wall.firstElementChild : document.getElementById(elt.closest("[data-editor]")?.id);
    apply();
    if (!note?.hidden) return;
    toast("Note saved. The filter hides it.", "", "Clear filter", () => {
      for (const one of filters) one.value = "";
      apply();
      note.querySelector("[data-edit]").focus();
    });
  });
}
