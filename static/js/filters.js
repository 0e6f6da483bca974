// Serves data-behavior="filters", data-behavior="results", [data-unfilter], [data-filter-text] and [data-query].
// Filters of boards and lists: chips take themselves away, a view saves the address at hand.

import { marked } from "./page.js";

export function watchFilters() {
  document.addEventListener("click", (event) => {
    const chip = event.target.closest("[data-unfilter]");
    if (!chip || event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    const form = marked("filters");
    const { unfilter, value } = chip.dataset;
    for (const one of form.querySelectorAll("input:not([type=hidden])")) {
      if (unfilter && (one.name !== unfilter || (one.type === "checkbox" && one.value !== value))) continue;
      if (one.type === "checkbox") one.checked = false;
      else one.value = "";
    }
    htmx.trigger(form, "submit");
    form.elements.q.focus({ preventScroll: true });
  });
  // What goes is let go of at once: htmx asks each of its elements, which takes as long as all the rest.
  addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (detail.shouldSwap && target.matches("[data-behavior=results]:not(:focus-within)")) target.replaceChildren();
  });
  // What was typed is on its way already; leaving the field must not ask, and swap, once more.
  document.addEventListener("change", (event) => event.target.matches("[data-filter-text]") && event.stopPropagation(), true);
  document.addEventListener("submit", (event) => {
    const query = event.target.querySelector?.("[data-query]");
    if (query) query.value = location.search.slice(1);
  }, true);
}
