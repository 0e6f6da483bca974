// Serves data-behavior="thread" with [data-nothing] and [data-run], and fields that others change: [data-by] with [data-value].
// Live updates of a ticket's page. They never replace what the user is writing.

import { announce, marked } from "./page.js";

export function watchStream() {
  document.addEventListener("htmx:oobBeforeSwap", (event) => {
    const { target, fragment } = event.detail;
    if (target.dataset.behavior === "thread") sort(fragment);
    else if (isBusy(target)) {
      event.detail.shouldSwap = false;
      tell(target, fragment.firstElementChild);
    }
  });
  addEventListener("hashchange", followComment);
  followComment();
}

/** A link to a comment that is not among the newest leads to the page that has it. */
function followComment() {
  const [place, id] = /^#comment-(.{36})$/.exec(location.hash) ?? [];
  if (id && marked("thread") && !document.querySelector(place)) location.replace(`/comments/${id}`);
}

const asks = (one) => one.classList.contains("htmx-request");

/** Whether the user is busy here: an editor, an open menu, the focus in a field, or a pending request. */
function isBusy(place) {
  if ([place, ...place.querySelectorAll("[hx-get], [hx-post]")].some(asks)) return true;
  if (place.matches("[data-editor]") || place.querySelector("[data-editor], details[open]")) return true;
  return place.contains(document.activeElement) && document.activeElement.matches("input, textarea, select");
}

/** Of new entries, those already on the page are dropped, or replace the old ones. */
function sort(entries) {
  for (const run of entries.querySelectorAll("[data-run]")) {
    // If part of a run is on the page, its lines are added one by one, so that none appears twice.
    const lines = [...run.children].filter((one) => one.id);
    if (lines.some((one) => document.getElementById(one.id))) run.replaceWith(...lines);
  }
  for (const entry of [...entries.children]) {
    const old = document.getElementById(entry.id);
    const focused = old?.contains(document.activeElement) && document.activeElement.id;
    const follows = focused !== "" && (!focused || entry.querySelector(`#${focused}`));
    if (old && "again" in entry.dataset && !isBusy(old) && follows) {
      old.replaceWith(entry);
      htmx.process(entry);
      if (focused) document.getElementById(focused).focus();
    } else if (old || "again" in entry.dataset) entry.remove();
    else entry.classList.add("fresh");
  }
  if (entries.children.length) document.querySelector("[data-nothing]")?.remove();
}

/** Show beside an editor that someone else changed the same field. */
function tell(editor, fresh) {
  if (!editor.matches("[data-editor]") || !fresh?.dataset.by) return;
  editor.querySelector("[data-theirs]")?.remove();
  // The editor was opened after the change, or the change was undone.
  if (editor.querySelector("[data-digest]")?.dataset.digest === fresh.dataset.now) return;
  const words = `${fresh.dataset.by} changed this`;
  const value = fresh.querySelector("[data-value]")?.textContent.trim().replace(/^[^:]+:\s*/, "");
  const text = value ? `${words} to ${value.replace(/\s+/g, " ")}` : words;
  const note = document.createElement("p");
  note.className = "theirs small";
  note.dataset.theirs = "";
  note.append(`${text} · `);
  const take = document.createElement("button");
  take.type = "button";
  take.className = "button quiet tiny";
  take.textContent = "Use theirs";
  take.addEventListener("click", () => editor.querySelector("[data-cancel]").click());
  note.append(take);
  (editor.querySelector("[data-picker]") ?? editor).prepend(note);
  announce(text);
}
