// Serves [data-row-link] and [data-title], the links to tickets in lists and columns, and [data-peek].
// The order in which tickets stand on a list or board, which a ticket that is opened from there goes on in.

import { isTaken } from "./keys.js";
import { marked } from "./page.js";

export const TICKET = "[data-row-link], [data-title]";
export const KEPT = "tickets-left";
const MAX_TICKETS_PER_LINE = 1000;

export const referenceOf = (link) => link.pathname.slice("/tickets/".length);
export const linkTo = (reference) => lines().flat().find((one) => referenceOf(one) === reference);

/** The links to tickets that are seen, in their lines: all of a list, or those of each column of a board. */
export function lines() {
  const found = new Map();
  for (const link of document.querySelectorAll(`main :is(${TICKET})`)) {
    if (!link.offsetParent) continue;
    const state = link.closest("[data-cell]")?.dataset.state;
    found.set(state, [...found.get(state) ?? [], link]);
  }
  return [...found.values()];
}

/** Keep in which order they stand, for the page of a ticket that is opened next. */
export function keepLines() {
  const kept = lines().map((line) => line.slice(0, MAX_TICKETS_PER_LINE).map(referenceOf));
  sessionStorage.setItem(KEPT, JSON.stringify({ address: location.pathname + location.search, lines: kept }));
}

/** Keep the lines as a ticket is opened, and show one beside its list; the script for that comes when it is wanted. */
export function watchLines() {
  document.addEventListener("click", (event) => {
    if (event.target.closest(`main :is(${TICKET})`)) keepLines();
    const button = event.target.closest("[data-peek]");
    if (!button || marked("peek").contains(button)) return;
    event.preventDefault();
    button.closest("dialog")?.close();
    // In a row it stands beside the link.
    peek(button.dataset.peek ? linkTo(button.dataset.peek) : button.parentElement.querySelector("[data-row-link]"));
  });
  document.addEventListener("keydown", (event) => {
    const link = event.target.closest?.(`main :is(${TICKET})`);
    if (event.key !== " " || event.shiftKey || !link || isTaken(event)) return;
    event.preventDefault();
    peek(link);
  });
  // Back from a ticket that was opened out of it.
  const before = history.state?.peek && linkTo(history.state.peek);
  if (before) peek(before);
}

async function peek(link) {
  await import(marked("peek").dataset.script);
  link?.dispatchEvent(new Event("docket:peek", { bubbles: true }));
}
