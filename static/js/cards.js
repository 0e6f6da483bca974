// Serves data-behavior="board", data-behavior="refresh" and, on the board, [data-ref] (a card), [data-title] and [data-head].
// Cards on the board: their order, their counts, and merging the server's response into the page.

import { chosen } from "./choosing.js";
import { marked } from "./page.js";

export const board = () => marked("board");
export const cells = () => [...board().querySelectorAll("[data-cell]")];
export const cardOf = (target) => target.closest?.("li[data-ref]");
export const cardsOf = (cell) => [...cell.querySelectorAll("li[data-ref]")];
export const idOf = (card) => card.id.slice("card-".length);
export const linkOf = (card) => card.querySelector("[data-title]");
export const cellOf = (state, swimlane) =>
  cells().find((one) => one.dataset.state === state && one.dataset.swimlane === swimlane);

/** One card is a tab stop; arrow keys move between the others. */
export function setTabStop(current = board().querySelector("li[data-ref] a[tabindex='0']")?.closest("li[data-ref]")) {
  const chosen = current?.isConnected ? current : cardsOf(board())[0];
  for (const one of board().querySelectorAll("li[data-ref] a")) {
    const wanted = chosen?.contains(one) ? 0 : -1;
    if (one.tabIndex !== wanted) one.tabIndex = wanted;
  }
  // A scrollable column without that card is a tab stop, so that the keyboard can scroll it.
  const lists = [...board().querySelectorAll("[data-cards]")];
  const alone = lists.filter((one) => one.scrollHeight > one.clientHeight && !one.contains(chosen));
  for (const one of lists) {
    if (alone.includes(one)) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}

/** The element before which a card belongs: by priority, then due date, then newest change, which is its own. */
export function spotIn(cell, card) {
  const others = cardsOf(cell).filter((one) => one !== card && one.id !== card.id);
  return others.find((one) => one.dataset.key >= card.dataset.key) ?? cell.querySelector("[data-empty]");
}

/** Update the counts in the column heads: cards shown, and all tickets if some are not shown. */
export function recount() {
  const shown = {};
  for (const cell of cells()) {
    for (const name of [cell.dataset.state, cell.dataset.swimlane]) {
      shown[name] = (shown[name] ?? 0) + cardsOf(cell).length;
    }
  }
  for (const head of board().querySelectorAll("[data-head]")) {
    const count = head.querySelector("[data-total]");
    const here = shown[head.dataset.head] ?? 0;
    const total = Math.max(here, Number(count.dataset.total));
    const { limit } = count.dataset;
    const text = (here === total ? "" : `${here.toLocaleString("en")} of `) + counted(total) + (limit ? ` / ${limit}` : "");
    head.classList.toggle("over-limit", total > Number(limit ?? Infinity));
    if (count.textContent !== text) count.textContent = text;
  }
  for (const count of board().querySelectorAll("[data-swimlane-count]")) {
    count.textContent = shown[count.dataset.swimlaneCount] ?? 0;
  }
}

/** The server counts up to this number; anything more is shown as "10,000+". */
const COUNTED = 10000;

const counted = (total) => total > COUNTED ? `${COUNTED.toLocaleString("en")}+` : total.toLocaleString("en");

/** Change the ticket count of a column. */
export function total(state, by, to) {
  const count = board().querySelector(`[data-head="${CSS.escape(state)}"] [data-total]`);
  if (count) count.dataset.total = to ?? Number(count.dataset.total) + by;
}

/** Put a card into a cell without losing the focus. */
export function place(card, cell) {
  const old = document.getElementById(card.id);
  const focused = old ? [...old.querySelectorAll("a")].indexOf(document.activeElement) : -1;
  const stays = old?.parentElement === cell.querySelector("[data-cards]") && old.dataset.key === card.dataset.key;
  if (stays && old !== card) old.replaceWith(card);
  else if (!stays) {
    cell.querySelector("[data-cards]").insertBefore(card, spotIn(cell, card));
    if (old !== card) old?.remove();
  }
  if (!card.contains(document.activeElement)) card.querySelectorAll("a")[focused]?.focus({ preventScroll: true });
}

function remove(card) {
  const near = card.nextElementSibling?.matches("li[data-ref]") ? card.nextElementSibling : card.previousElementSibling;
  const head = board().querySelector(`[data-head="${CSS.escape(card.dataset.state)}"] h2`);
  const focused = card.contains(document.activeElement);
  card.remove();
  if (focused) (near ? linkOf(near) : head)?.focus({ preventScroll: true });
}

/** Merge a response into the page: cards, removals, counts, messages. */
export function merge(text, { glow = false } = {}) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const all = (what) => [...made.content.querySelectorAll(what)];
  for (const head of all("i[data-head]")) total(head.dataset.head, 0, head.dataset.total);
  for (const { dataset } of all("[data-gone]")) {
    const card = document.getElementById(`card-${dataset.gone}`);
    if (card) remove(card);
  }
  for (const card of all("li[data-ref]")) {
    const old = document.getElementById(card.id);
    const cell = cellOf(card.dataset.state, card.dataset.swimlane);
    const same = old && old.dataset.version === card.dataset.version && old.closest("[data-cell]") === cell;
    if (!cell) offer("1");
    if (same || !cell) continue;
    if (glow) card.classList.add("fresh");
    card.classList.toggle("chosen", chosen.has(idOf(card)));
    place(card, cell);
  }
  marked("toasts").append(...all("[data-toast]"));
  setTabStop();
  recount();
  return made.content;
}

/** Too much changed to merge. The reader decides when to refresh. */
export function offer(many) {
  const pill = marked("refresh");
  const words = many === "1" ? "Something changed" : many ? `${many} changes` : "The board changed";
  pill.textContent = `${words} · Refresh`;
  pill.hidden = false;
}

/** Reload the board's content. */
export async function refresh() {
  await htmx.ajax("GET", location.pathname + location.search, { target: "#results", swap: "outerHTML" });
  marked("refresh").hidden = true;
}
