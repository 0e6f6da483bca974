// Serves data-behavior="bulk", the form of the selection, and in it [data-choose] and [data-count].
// Selection on a list or board for one bulk change. It survives swaps of the content. The bulk bar is a form;
// the selected ids are added when it is sent.

import { openSheet } from "./dialogs.js";
import { marked } from "./page.js";

// Keys that open a dialog for the focused card or row.
export const SHEETS = {
  m: "move",
  s: "move",
  a: "pick/assignee",
  l: "pick/labels",
  p: "pick/priority",
  d: "pick/due_date",
  P: "pick/parent",
};
// The field of the bulk form that each key focuses while several are selected.
const FIELDS = { m: "place", s: "place", a: "assignee_user_id", l: "add_label", p: "priority" };

/** The selected ids. */
export const chosen = new Set();

/** The bulk form, or null if the page has none. */
export const bar = () => marked("bulk");

/** Show or hide the bar. It shows the number of selected items, unless all that match are selected. */
export function showChosen() {
  bar()?.classList.toggle("choosing", chosen.size > 0);
  if (bar()?.elements.all.value === "") bar().querySelector("[data-count]").textContent = chosen.size;
}

/** Open the field of a key: that of the bulk form if anything is selected, else the dialog of the ticket at `address`. */
export function openField(key, address) {
  if (chosen.size) bar().elements[FIELDS[key]]?.focus();
  else openSheet(`${address}/${SHEETS[key]}`);
}

/** `show` marks the selected items; it is called after every change of the selection. */
export function watchChoosing(show) {
  const clear = () => {
    chosen.clear();
    bar()?.reset();
    if (bar()) bar().elements.all.value = "";
    show();
  };
  document.addEventListener("click", (event) => event.target.closest("[data-choose=none]") && clear());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !chosen.size || event.target.closest("dialog, details[open]")) return;
    event.stopPropagation();
    clear();
  });
  document.addEventListener("htmx:configRequest", (event) => {
    const { elt, formData } = event.detail;
    if (elt !== bar()) return;
    const there = formData.getAll("id");
    for (const id of chosen) if (!there.includes(id)) formData.append("id", id);
  });
  document.addEventListener("docket:changed", clear);
  document.addEventListener("docket:sheet", () => marked("dialog").showModal());
}
