// Serves data-behavior="inbox" with [data-mark] and [data-reply].
// Marking the focused row as read and replying to it by keyboard. Opening a ticket marks its news as read.

import { isTaken, singleKeys } from "./keys.js";
import { announce, marked } from "./page.js";

const MARKS = { e: "read", u: "unread" };
const LINK = "[data-row-link]";

function watchInbox() {
  const list = marked("inbox");
  if (!list) return;
  list.addEventListener("keydown", (event) => {
    const open = event.key === "Escape" && event.target.closest("details:has(> [data-reply])[open]");
    if (open) return leave(event, open);
    const mark = MARKS[event.key];
    if ((!mark && event.key !== "r") || isTaken(event) || !singleKeys()) return;
    const row = rowOf(event);
    event.preventDefault();
    if (!mark) return reply(row.querySelector("details:has(> [data-reply])"));
    const form = row.querySelector(`[data-mark=${mark}]`);
    if (!form) return;
    form.requestSubmit();
    announce(`${row.querySelector(LINK).textContent}: marked ${mark}`);
    if (mark === "read") row.nextElementSibling?.querySelector(LINK).focus();
  });
  list.addEventListener("toggle", ({ target }) => target.open && reply(target), true);
  list.addEventListener("click", (event) => {
    const form = event.target.closest(LINK) && rowOf(event).querySelector("[data-mark=read]");
    if (!form) return;
    if (event.ctrlKey || event.metaKey || event.shiftKey) return form.requestSubmit();
    const body = new URLSearchParams(new FormData(form));
    // `keepalive` lets the request outlive the page.
    fetch(form.action, { method: "POST", body, keepalive: true, redirect: "manual", headers: { "X-Requested-By": "web" } });
  });
  // A page restored by the browser still shows opened tickets as unread.
  addEventListener("pageshow", (event) => event.persisted && location.reload());
}

/** An opened reply form focuses its text field. */
function reply(details) {
  if (!details) return;
  details.open = true;
  details.querySelector("textarea").focus();
}

/** The text stays in the form, for when it is opened again. */
function leave(event, details) {
  // Escape closes one thing at a time.
  event.stopPropagation();
  details.open = false;
  details.querySelector("summary").focus();
}

const rowOf = (event) => event.target.closest("li:has([data-mark])");

watchInbox();
