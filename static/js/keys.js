// Serves [data-key], the target of a key, [data-search] and [data-row-link].
// Keyboard shortcuts of every page. They are off while the user types, and for users who switched them off.

import { marked, step } from "./page.js";

// Where `g` and a second key lead: for the whole workspace, and for the workspace or the current project.
const GO = { h: "/", i: "/inbox", p: "/projects", a: "/audit" };
const GO_WITHIN = { b: "board", l: "tickets", w: "wiki", s: "sticky-notes" };

function go(key, more = "") {
  // Outside a project, the user's default project.
  const { project = document.body.dataset.home } = document.body.dataset;
  if (GO[key]) location.assign(GO[key]);
  else if (GO_WITHIN[key]) location.assign(`${project ? `/projects/${project}` : ""}/${GO_WITHIN[key]}${more}`);
}

// The [data-key] that each key activates if the page has it. On boards with quick add, board.js handles `c`.
const HERE = {
  "?": "keys",
  "/": "search",
  e: "edit",
  h: "history",
  n: "note",
  m: "state",
  s: "state",
  a: "assignee",
  i: "me",
  p: "priority",
  l: "labels",
  d: "due_date",
  P: "parent",
  w: "watch",
  u: "up",
  r: "comment",
  c: "new",
};

/** Whether a key press is typing or belongs to another component. */
export function isTaken(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return true;
  return Boolean(event.target.closest?.("input, textarea, select, [contenteditable], dialog[open], [data-picker]"));
}

export function singleKeys() {
  return document.documentElement.dataset.keys !== "off";
}

export function watchKeys() {
  let going = 0;
  // Escape closes one thing at a time: whatever else closes stops the event before it arrives here.
  addEventListener("keydown", (event) => {
    if (event.key === "Escape") document.querySelector("body:not(:has(dialog[open])) [data-toast]:last-child [data-close]")?.click();
  });
  document.addEventListener("keydown", (event) => {
    const form = event.target.closest?.("form");
    if (form && event.key === "Enter" && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      form.requestSubmit();
    }
    const down = event.key === "ArrowDown" && event.target.matches("[data-search]");
    if (!down && (isTaken(event) || !singleKeys())) return;
    const by = down ? 1 : { j: 1, k: -1 }[event.key];
    if (by) {
      // On a ticket's page, these keys move within the list it was opened from.
      const beside = !down && document.querySelector(`nav:not([hidden]) > [data-key=${by > 0 ? "next" : "previous"}]`);
      if (beside) return beside.click();
      step([...document.querySelectorAll("[data-row-link], [data-title]:not([tabindex='-1'])")], by);
      if (down) event.preventDefault();
      return;
    }
    if (Date.now() - going < 1200) {
      going = 0;
      // The second key is not a shortcut of a card.
      event.preventDefault();
      return go(event.key);
    }
    going = event.key === "g" ? Date.now() : 0;
    const wanted = event.key === "c" && marked("quick-add") ? "" : HERE[event.key];
    const target = wanted && document.querySelector(`[data-key=${wanted}]`);
    if (!target && event.key === "n") go("s", "#note-body");
    if (!target) return;
    event.preventDefault();
    if (target.matches("dialog")) target.showModal();
    else {
      // The editor that opens in its place takes over the focus.
      if (target.matches("[data-edit], textarea")) target.focus();
      target.click();
    }
  });
}
