// Serves [data-editor], [data-ticket-field] with [data-saves], and [data-return].
// Writing: editors that open in place.

import { announce } from "./page.js";

// Where writing begins in an editor: the first of these that it has.
const STARTS = ["[aria-invalid=true]", "[autofocus]", "[data-start]", "button[data-option], [data-option] input"];

export function watchEditing() {
  document.addEventListener("keydown", (event) => {
    const cancel = event.key === "Escape" && event.target.closest?.("form")?.querySelector("[data-cancel]");
    if (!cancel) return;
    event.stopPropagation();
    cancel.click();
  });
  // By request, what had the focus last until its answer came. A dialog gives it back as it closes.
  const focused = new WeakMap();
  for (const name of ["htmx:beforeRequest", "htmx:beforeSwap"]) {
    window.addEventListener(name, ({ detail }) => {
      if (document.activeElement !== document.body) focused.set(detail.xhr, document.activeElement);
    });
  }
  document.addEventListener("htmx:afterSettle", (event) => {
    const place = document.getElementById(event.detail.target?.id);
    if (!place) return;
    const editor = place.matches("[data-editor]") ? place : place.querySelector("[data-editor]");
    // Whoever has gone on to something else meanwhile is not called back.
    const free = document.activeElement === document.body || place.contains(document.activeElement);
    const posted = event.detail.requestConfig?.verb === "post";
    if (!editor && place.matches("[data-ticket-field]") && posted) saved(place);
    if (!free) return;
    if (editor) {
      const start = STARTS.map((one) => editor.querySelector(one)).find(Boolean);
      start?.focus();
      // What is suggested takes the place of what was there.
      if (start?.closest("[data-picker]")) start.select?.();
    } else if (place.matches("[data-ticket-field]")) {
      place.querySelector("[data-edit]")?.focus();
    } else if (document.activeElement === document.body && focused.get(event.detail.xhr)?.isConnected === false) {
      const back = place.querySelector("[data-return]") ?? place.querySelector("h2[tabindex], textarea, a, button");
      (place.matches("[tabindex]") ? place : back)?.focus();
    }
  });
}

function saved(place) {
  const mark = document.createElement("span");
  mark.className = "saved-mark";
  mark.textContent = "Saved";
  (place.querySelector("[data-saves]") ?? place).append(mark);
  announce("Saved");
  setTimeout(() => mark.remove(), 2000);
}
