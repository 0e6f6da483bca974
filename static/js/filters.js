// Serves data-behavior="filters", data-behavior="results", [data-unfilter], [data-filter-text], [data-query] and [data-find].
// Filters of boards and lists: chips that remove a filter, views that save the current address.

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
  // The old results are removed at once: htmx would visit each of their elements, which doubles the time of the swap.
  addEventListener("htmx:beforeSwap", ({ target, detail }) => {
    if (detail.shouldSwap && target.matches("[data-behavior=results]:not(:focus-within)")) target.replaceChildren();
  });
  // A swap also replaces the sort menus; an element in them keeps the focus.
  let held = "";
  addEventListener("htmx:oobBeforeSwap", ({ target }) => (held = target.contains(document.activeElement) ? document.activeElement.id : ""));
  addEventListener("htmx:oobAfterSwap", () => held && document.getElementById(held)?.focus({ preventScroll: true }));
  // The input event has sent the text already, so leaving the field must not send it again.
  document.addEventListener("change", (event) => event.target.matches("[data-filter-text]") && event.stopPropagation(), true);
  document.addEventListener("input", ({ target }) => target.matches("[data-find]") && find(target));
  // The search box of a menu is not a filter: it must neither send a request nor appear in the address.
  for (const kind of ["change", "search"]) {
    document.addEventListener(kind, (event) => event.target.matches("[data-find]") && event.stopPropagation(), true);
  }
  document.addEventListener("keydown", (event) => {
    if (!event.target.matches("[data-find]") || event.key !== "Enter") return;
    event.preventDefault();
    event.target.parentElement.querySelector("label:not([hidden]) input")?.click();
  });
  document.addEventListener("submit", (event) => {
    const query = event.target.querySelector?.("[data-query]");
    if (query) query.value = location.search.slice(1);
  }, true);
}

/** Show only the options that match the typed text. */
function find({ value, parentElement }) {
  for (const one of parentElement.querySelectorAll("label")) {
    one.hidden = !one.textContent.toLowerCase().includes(value.trim().toLowerCase());
  }
}
