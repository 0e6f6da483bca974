// Writing: editors that open in place, drafts that survive, lists of options.

import { speak, step } from "./page.js";

const KEPT_FOR = 500;
// Where writing begins in an editor: the first of these that it has.
const STARTS = ["[aria-invalid=true]", "[autofocus]", "[data-start]", "button.option, .option input"];

export function watchEditing() {
  watchEditors();
  watchOptions();
  watchDrafts();
}

function watchEditors() {
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") event.target.closest?.("form")?.querySelector("[data-cancel]")?.click();
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    const place = document.getElementById(event.detail.target?.id);
    if (!place) return;
    const editor = place.matches("[data-editor]") ? place : place.querySelector("[data-editor]");
    // Whoever has gone on to something else meanwhile is not called back.
    const free = document.activeElement === document.body || place.contains(document.activeElement);
    const posted = event.detail.requestConfig?.verb === "post";
    if (!editor && place.id.startsWith("fact-") && posted) saved(place);
    if (!free) return;
    if (editor) {
      const start = STARTS.map((one) => editor.querySelector(one)).find(Boolean);
      start?.focus();
    } else if (place.id.startsWith("fact-")) {
      place.querySelector("[data-edit]")?.focus();
    } else if (document.activeElement === document.body) {
      (place.matches("[tabindex]") ? place : place.querySelector("h2[tabindex], textarea, a, button"))?.focus();
    }
  });
}

function saved(place) {
  const mark = document.createElement("span");
  mark.className = "saved-mark";
  mark.textContent = "Saved";
  place.append(mark);
  speak("Saved");
  setTimeout(() => mark.remove(), 2000);
}

function watchOptions() {
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form[data-editor]");
    if (!form || !["ArrowDown", "ArrowUp"].includes(event.key)) return;
    if (!event.target.closest(".options") && !event.target.matches("[data-narrow]")) return;
    event.preventDefault();
    step([...form.querySelectorAll("button.option, .option input")], event.key === "ArrowDown" ? 1 : -1);
  });
  document.addEventListener("input", (event) => {
    if (!event.target.matches("[data-narrow]")) return;
    const wanted = event.target.value.trim().toLowerCase();
    for (const one of event.target.form.querySelectorAll(".option")) {
      one.hidden = !one.textContent.toLowerCase().includes(wanted);
    }
  });
}

// Text that was typed and not sent stays in this tab until it is sent, discarded or logged out of.
function watchDrafts() {
  settleDrafts();
  restoreDrafts(document);
  let timer = 0;
  document.addEventListener("input", (event) => {
    const area = event.target;
    if (!area.matches("[data-draft]")) return;
    clearTimeout(timer);
    timer = setTimeout(() => keep(area), KEPT_FOR);
  });
  document.addEventListener("submit", ({ target }) => {
    clearTimeout(timer);
    for (const area of draftsOf(target)) keep(area, !target.hasAttribute("hx-post"));
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { successful, elt, requestConfig } = event.detail;
    if (successful && requestConfig?.verb === "post") draftsOf(elt).forEach(forget);
  });
  document.addEventListener("click", (event) => {
    draftsOf(event.target.closest("[data-cancel]")?.closest("form")).forEach(forget);
  });
  document.addEventListener("htmx:load", (event) => restoreDrafts(event.detail.elt));
}

const draftsOf = (within) => [...(within?.querySelectorAll("[data-draft]") ?? [])];
const forget = (area) => sessionStorage.removeItem(area.dataset.draft);

/** Keep a text; one that is `sent` goes as soon as a page says that it arrived. */
function keep(area, sent) {
  if (area.value.trim() === "") forget(area);
  else sessionStorage.setItem(area.dataset.draft, JSON.stringify([area.value, Date.now(), sent]));
}

/** Text that a form took along is dropped, unless an error or the same form came back. */
function settleDrafts() {
  for (const [key, kept] of Object.entries(sessionStorage)) {
    const [text, at, sent] = kept.startsWith("[") ? JSON.parse(kept) : [];
    const back = document.querySelector(".door") || draftsOf(document).some((one) => one.value === text);
    if (sent && back) sessionStorage.setItem(key, JSON.stringify([text, at]));
    else if (sent) sessionStorage.removeItem(key);
  }
}

function restoreDrafts(within) {
  for (const area of draftsOf(within)) {
    const found = sessionStorage.getItem(area.dataset.draft);
    if (!found || area.dataset.restored) continue;
    area.dataset.restored = "yes";
    const [text, at] = JSON.parse(found);
    if (text === area.value) continue;
    const before = area.value;
    area.value = text;
    area.after(draftNote(area, before, at));
  }
}

function draftNote(area, before, at) {
  const note = document.createElement("p");
  note.className = "hint";
  const time = new Date(at).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  note.append(`Draft from ${time} · `);
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "button quiet tiny";
  discard.textContent = "Discard";
  discard.addEventListener("click", () => {
    area.value = before;
    forget(area);
    note.remove();
    area.focus();
  });
  note.append(discard);
  return note;
}
