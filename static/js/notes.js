// Serves data-behavior="notes", data-behavior="new-note", [data-notes] and [data-note-count].
// The wall of sticky notes: filtering the notes on the page by text, color and author.

import { marked } from "./page.js";
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
      note.hidden =
        !text.includes((wanted.text ?? "").toLowerCase()) ||
        Boolean(wanted.color && note.dataset.color !== wanted.color) ||
        Boolean(wanted.author && note.dataset.author !== wanted.author);
      shown += note.hidden ? 0 : 1;
    }
    const all = wall.children.length;
    count.textContent = shown === all ? String(all) : `${shown} of ${all}`;
  };
  for (const one of filters) one.addEventListener("input", apply);
  document.addEventListener("htmx:afterSettle", apply);
}
