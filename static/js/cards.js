// Cards on the board: where they stand, how many there are, and putting what the server sends in place.

import { chosen } from "./choosing.js";

export const board = () => document.getElementById("board");
export const cells = () => [...board().querySelectorAll(".column")];
export const cardsOf = (cell) => [...cell.querySelectorAll(".card:not(.ghost)")];
export const idOf = (card) => card.id.slice("card-".length);
export const linkOf = (card) => card.querySelector(".card-title");
export const cellOf = (state, lane) =>
  cells().find((one) => one.dataset.state === state && one.dataset.lane === lane);

/** Of all cards, one can be reached with Tab; arrows walk to the others. */
export function rove(current = board().querySelector(".card a[tabindex='0']")?.closest(".card")) {
  const chosen = current?.isConnected ? current : board().querySelector(".card");
  for (const one of board().querySelectorAll(".card a")) {
    const wanted = chosen?.contains(one) ? 0 : -1;
    if (one.tabIndex !== wanted) one.tabIndex = wanted;
  }
}

/** Cards stand by priority, then due date, then newest change: a moved one is the newest. */
export function spotIn(cell, card) {
  const others = cardsOf(cell).filter((one) => one !== card && one.id !== card.id);
  return others.find((one) => one.dataset.key >= card.dataset.key) ?? cell.querySelector(".column-empty");
}

/** Say in the heads how many cards there are, and of how many tickets if some are not shown. */
export function recount() {
  const shown = {};
  for (const cell of cells()) {
    for (const name of [cell.dataset.state, cell.dataset.lane]) {
      shown[name] = (shown[name] ?? 0) + cardsOf(cell).length;
    }
  }
  for (const head of board().querySelectorAll("[data-head]")) {
    const count = head.querySelector(".count");
    const here = shown[head.dataset.head] ?? 0;
    const total = Math.max(here, Number(count.dataset.total));
    const text = (here === total ? "" : `${here.toLocaleString("en")} of `) + counted(total);
    if (count.textContent !== text) count.textContent = text;
  }
  for (const count of board().querySelectorAll("[data-lane-count]")) {
    count.textContent = shown[count.dataset.laneCount] ?? 0;
  }
}

/** The server counts up to here; one more stands for any more. */
const COUNTED = 10000;

const counted = (total) => total > COUNTED ? `${COUNTED.toLocaleString("en")}+` : total.toLocaleString("en");

/** Change how many tickets a column holds. */
export function total(state, by, to) {
  const count = board().querySelector(`[data-head="${CSS.escape(state)}"] .count`);
  if (count) count.dataset.total = to ?? Number(count.dataset.total) + by;
}

/** Put a card into a cell, and keep the focus where it was. */
export function place(card, cell) {
  const old = document.getElementById(card.id);
  const focused = old?.contains(document.activeElement) ? document.activeElement.className : "";
  const stays = old?.parentElement === cell.querySelector(".cards") && old.dataset.key === card.dataset.key;
  if (stays && old !== card) old.replaceWith(card);
  else if (!stays) {
    cell.querySelector(".cards").insertBefore(card, spotIn(cell, card));
    if (old !== card) old?.remove();
  }
  if (focused && !card.contains(document.activeElement)) {
    card.getElementsByClassName(focused)[0]?.focus({ preventScroll: true });
  }
}

function remove(card) {
  const near = card.nextElementSibling?.matches(".card") ? card.nextElementSibling : card.previousElementSibling;
  const head = board().querySelector(`[data-head="${CSS.escape(card.dataset.state)}"] h2`);
  const focused = card.contains(document.activeElement);
  card.remove();
  if (focused) (near ? linkOf(near) : head)?.focus({ preventScroll: true });
}

/** Put in place what an answer holds: cards, what is gone, counts, messages. */
export function merge(text, { glow = false } = {}) {
  const made = document.createElement("template");
  made.innerHTML = text;
  const all = (what) => [...made.content.querySelectorAll(what)];
  for (const head of all("i[data-head]")) total(head.dataset.head, 0, head.dataset.total);
  for (const { dataset } of all("[data-gone]")) {
    const card = document.getElementById(`card-${dataset.gone}`);
    if (card) remove(card);
  }
  for (const card of all("li.card")) {
    const old = document.getElementById(card.id);
    const cell = cellOf(card.dataset.state, card.dataset.lane);
    const same = old && old.dataset.version === card.dataset.version && old.closest(".column") === cell;
    if (!cell) offer("1");
    if (same || !cell) continue;
    if (glow) card.classList.add("fresh");
    card.classList.toggle("chosen", chosen.has(idOf(card)));
    place(card, cell);
  }
  document.getElementById("toasts").append(...all(".toast"));
  rove();
  recount();
  return made.content;
}

/** Too much changed to mend it piece by piece: let the reader choose when to see it. */
export function offer(many) {
  const pill = document.getElementById("pill");
  const words = many === "1" ? "Something changed" : many ? `${many} changes` : "The board changed";
  pill.textContent = `${words} · Refresh`;
  pill.hidden = false;
}

/** Show the board anew. */
export async function refresh() {
  await htmx.ajax("GET", location.pathname + location.search, { target: "#results", swap: "outerHTML" });
  document.getElementById("pill").hidden = true;
}
