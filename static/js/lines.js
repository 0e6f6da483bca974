// Serves [data-row-link] and [data-title], the ticket links of lists and columns, and [data-peek].
// The order of tickets on a list or board, so that an opened ticket can lead to its neighbors.

import { isTaken } from "./keys.js";
import { marked } from "./page.js";

export const TICKET = "[data-row-link], [data-title]";
export const KEPT = "tickets-left";
const MAX_TICKETS_PER_LINE = 1000;

export const referenceOf = (link) => link.pathname.slice("/tickets/".length);
export const linkTo = (reference) => lines().flat().find((one) => referenceOf(one) === reference);

/** The visible ticket links by line: one line for a list, one per column for a board. */
export function lines() {
  const found = new Map();
  for (const link of document.querySelectorAll(`main :is(${TICKET})`)) {
    if (!link.offsetParent) continue;
    const state = link.closest("[data-cell]")?.dataset.state;
    found.set(state, [...found.get(state) ?? [], link]);
  }
  return [...found.values()];
}

/** Save the order for the page of the ticket that is opened next. */
export function keepLines() {
  const kept = lines().map((line) => line.slice(0, MAX_TICKETS_PER_LINE).map(referenceOf));
  sessionStorage.setItem(KEPT, JSON.stringify({ address: location.pathname + location.search, lines: kept }));
}

/** Save the order when a ticket is opened, and load the script of the peek panel when it is first needed. */
export function watchLines() {
  document.addEventListener("click", (event) => {
    if (event.target.closest(`main :is(${TICKET})`)) keepLines();
    const button = event.target.closest("[data-peek]");
    if (!button || marked("peek").contains(button)) return;
    event.preventDefault();
    button.closest("dialog")?.close();
    // In a row, the button stands beside the link.
    peek(button.dataset.peek ? linkTo(button.dataset.peek) : button.parentElement.querySelector("[data-row-link]"));
  });
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest?.(`main :is(${TICKET})`);
    if (event.key !== " " || event.shiftKey || !link || isTaken(event)) return;
    event.preventDefault();
    peek(link);
  });
  // The user came back from a ticket that was opened out of the panel.
  const before = history.state?.peek && linkTo(history.state.peek);
  if (before) peek(before);
}

async function peek(link) {
  await import(marked("peek").dataset.script);
  link?.dispatchEvent(new Event("docket:peek", { bubbles: true }));
}
