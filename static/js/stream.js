// What others do to a ticket, while one reads it: asks now and then, and never touches what is being
// written.

import { speak } from "./page.js";
import { connected, isLoggedIn } from "./server.js";

const EVERY = 3000;
const RESTING = 30_000;
const RESTS_AFTER = 5 * 60_000;

export function watchStream() {
  if (!document.getElementById("live")) return;
  let touched = Date.now();
  let asked = 0;
  const ask = () => {
    asked = Date.now();
    document.body.dispatchEvent(new Event("app:poll"));
  };
  for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => (touched = Date.now()), true);
  setInterval(() => {
    const wait = Date.now() - touched > RESTS_AFTER ? RESTING : EVERY;
    if (!document.hidden && isLoggedIn() && Date.now() - asked >= wait - 100) ask();
  }, EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || ask());
  addEventListener("online", ask);
  watchConnection();
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.id === "thread") sort(fragment);
    else if (isBusy(target)) {
      event.detail.shouldSwap = false;
      tell(target, fragment.firstElementChild);
    }
  });
}

/** News that do not come are said once, beside what is being read. */
function watchConnection() {
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { elt, xhr } = event.detail;
    if (elt.id === "live" && xhr.status >= 400 && xhr.status !== 401) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, xhr } = event.detail;
    if (elt.id === "live" && xhr.status !== 401) connected(event.detail.successful);
  });
}

/** What a reader is in the middle of: an editor, an open form, an open menu. */
function isBusy(place) {
  if (place.matches("[data-editor]") || place.querySelector("[data-editor], details[open]")) return true;
  return place.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
}

/** Of further entries, those that are here already are dropped, or take the place of the old. */
function sort(entries) {
  for (const entry of [...entries.children]) {
    const old = document.getElementById(entry.id);
    if (old && "again" in entry.dataset && !isBusy(old) && !old.contains(document.activeElement)) {
      old.replaceWith(entry);
      htmx.process(entry);
    } else if (old || "again" in entry.dataset) entry.remove();
    else entry.classList.add("fresh");
  }
  if (entries.children.length) document.querySelector(".stream-empty")?.remove();
}

/** Beside an editor: someone else changed the same field. */
function tell(editor, fresh) {
  if (!editor.matches("[data-editor]") || !fresh?.dataset.by) return;
  const words = `${fresh.dataset.by} changed this`;
  const value = fresh.querySelector(".fact-value, h1")?.textContent.trim().replace(/^[^:]+:\s*/, "");
  const text = value ? `${words} to ${value.replace(/\s+/g, " ")}` : words;
  editor.querySelector(".theirs")?.remove();
  const note = document.createElement("p");
  note.className = "theirs small";
  note.append(`${text} · `);
  const take = document.createElement("button");
  take.type = "button";
  take.className = "button quiet tiny";
  take.textContent = "Use theirs";
  take.addEventListener("click", () => editor.querySelector("[data-cancel]").click());
  note.append(take);
  editor.prepend(note);
  speak(text);
}
