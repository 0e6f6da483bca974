// Serves data-behavior="bulk", the form of what is chosen, and in it [data-choose] and [data-count].
// What is chosen, of a list or a board, for one change to all of it: it outlives a swap of what shows
// it. The bar that says the change is a form; what is chosen goes along when it is sent.

import { marked } from "./page.js";

/** The ids of what is chosen. */
export const chosen = new Set();

/** The form, if the page has it. */
export const bar = () => marked("bulk");

/** Show the bar or hide it, and say how much is chosen; that it is all that match was said. */
export function showChosen() {
  bar()?.classList.toggle("choosing", chosen.size > 0);
  if (bar()?.elements.all.value === "") bar().querySelector("[data-count]").textContent = chosen.size;
}

/** `show` marks what is chosen; it is called whenever that changed. */
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
