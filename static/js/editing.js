// Serves [data-editor], [data-ticket-field] with [data-saves], and [data-return].
// Editors that open in place, and the focus when they open and close.

import { announce } from "./page.js";

// An editor's initial focus: the first of these that it has.
const STARTS = ["[aria-invalid=true]", "[autofocus]", "[data-start]", "button[data-option], [data-option] input"];

export function watchEditing() {
  document.addEventListener("keydown", (event) => {
    const cancel = event.key === "Escape" && event.target.closest?.("form")?.querySelector("[data-cancel]");
    if (!cancel) return;
    event.stopPropagation();
    cancel.click();
  });
  // htmx focuses what arrives with [autofocus], wherever the user has moved the focus meanwhile.
  const before = new WeakMap();
  document.addEventListener("htmx:beforeSend", ({ detail }) => before.set(detail.xhr, document.activeElement));
  document.addEventListener("htmx:afterSwap", ({ detail, target }) => {
    const { activeElement, body } = document;
    const hasMoved = ![body, before.get(detail.xhr)].includes(activeElement) && !target.contains(activeElement);
    if (hasMoved) for (const one of target.querySelectorAll("[autofocus]")) one.autofocus = false;
  });
  document.addEventListener("htmx:afterSettle", ({ detail }) => {
    const place = document.getElementById(detail.target?.id);
    if (!place) return;
    const editor = place.matches("[data-editor]") ? place : place.querySelector("[data-editor]");
    const { activeElement, body } = document;
    if (!editor && place.matches("[data-ticket-field]") && detail.requestConfig.verb === "post") saved(place);
    // If the user has moved the focus elsewhere meanwhile, it stays there.
    if (activeElement !== body && !place.contains(activeElement)) return;
    if (editor) {
      const start = STARTS.map((one) => editor.querySelector(one)).find(Boolean);
      start?.focus();
      // Typing replaces a suggested value.
      if (start?.closest("[data-picker]")) start.select?.();
    } else if (place.matches("[data-ticket-field]")) {
      place.querySelector("[data-edit]")?.focus();
    } else if (activeElement === body && /submit|click/.test(detail.requestConfig.triggeringEvent?.type)) {
      // Responses to typing or timers never take the focus.
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
