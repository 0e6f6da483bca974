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
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    const place = document.getElementById(detail.target?.id);
    if (!place) return;
    const editor = place.matches("[data-editor]") ? place : place.querySelector("[data-editor]");
    const { activeElement, body } = document;
    if (!editor && place.matches("[data-ticket-field]") && detail.requestConfig.verb === "post") saved(place);
    // Whoever has gone on to something else meanwhile is not called back.
    if (activeElement !== body && !place.contains(activeElement)) return;
    if (editor) {
      const start = STARTS.map((one) => editor.querySelector(one)).find(Boolean);
      start?.focus();
      // What is suggested takes the place of what was there.
      if (start?.closest("[data-picker]")) start.select?.();
    } else if (place.matches("[data-ticket-field]")) {
      place.querySelector("[data-edit]")?.focus();
    } else if (activeElement === body && /submit|click/.test(detail.requestConfig.triggeringEvent?.type)) {
      // What comes as one types or by a timer takes the focus from nobody.
      const back = place.matches("[tabindex]") ? place : place.querySelector("[data-return]");
      (back ?? place.querySelector("h2[tabindex], textarea, a, button"))?.focus();
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
