// Serves data-behavior="board-page" and, in it, [data-cell] (a column, or its part in a swimlane), [data-add] and [data-fold].
// The entry script of the board: keys, clicks, drag and drop, folded columns.

import { board, cardOf, cardsOf, cellOf, cells, idOf, linkOf, refresh, setTabStop, spotIn } from "./cards.js";
import { bar, chosen, openField, SHEETS, showChosen, watchChoosing } from "./choosing.js";
import { closeSheet, openSheet } from "./dialogs.js";
import { pull, watchDrag } from "./drag.js";
import { watchFilters } from "./filters.js";
import { isTaken, singleKeys } from "./keys.js";
import { watchLines } from "./lines.js";
import { look, watchLive } from "./live.js";
import { change, move, ranked, reach, submit } from "./moves.js";
import { announce, marked } from "./page.js";
import { watchPicking } from "./picking.js";
import { openQuickAdd, watchQuickAdd } from "./quick.js";
import { ask } from "./server.js";

function watchBoard() {
  setTabStop();
  refold();
  watchFilters();
  watchLive();
  watchLines();
  watchQuickAdd();
  watchPicking();
  document.addEventListener("docket:changed", look);
  watchChoosing(mark);
  const held = (target) => !target.closest("[data-more]") && cardOf(target);
  watchDrag(marked("board-page"), { held, over, scroll, drop });
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("focusin", (event) => {
    const card = cardOf(event.target);
    if (card) setTabStop(card);
  });
  document.addEventListener("htmx:afterSettle", () => {
    setTabStop();
    refold();
    mark();
  });
}

/** Show the column and the position where the dragged card would land. */
function over(drag) {
  const column = document.elementFromPoint(drag.x, drag.y)?.closest("[data-cell]") ?? null;
  if (column === drag.place && !ranked()) return;
  drag.place?.classList.remove("over");
  drag.place = column;
  if (!column || (column === drag.card.closest("[data-cell]") && !ranked())) return drag.mark.remove();
  column.classList.add("over");
  drag.next = ranked() ? spotAt(column, drag) : spotIn(column, drag.card);
  if (drag.mark.nextElementSibling !== drag.next) column.querySelector("[data-cards]").insertBefore(drag.mark, drag.next);
}

/** The card below the pointer, or the element at the end of the column. */
function spotAt(column, { y, card }) {
  const middle = (one) => one.offsetHeight / 2 + one.getBoundingClientRect().top;
  const below = cardsOf(column).find((one) => one !== card && middle(one) > y);
  return below ?? column.querySelector("[data-empty]");
}

function scroll({ x, y, place }) {
  const box = board().getBoundingClientRect();
  board().scrollLeft += pull(x, box.left, box.right);
  // A board with swimlanes also scrolls vertically.
  board().scrollTop += pull(y, box.top, box.bottom);
  const list = place?.querySelector("[data-cards]");
  if (!list) return;
  const inner = list.getBoundingClientRect();
  list.scrollTop += pull(y, inner.top, inner.bottom);
}

function drop(card, column, next) {
  if (card && column) move(card, column, ranked() ? cardOf(next) : undefined);
}

/** The cells of each swimlane. A board without swimlanes has one row of cells. */
function rows() {
  const found = new Map();
  for (const cell of cells()) {
    const row = found.get(cell.dataset.swimlane) ?? [];
    found.set(cell.dataset.swimlane, [...row, cell]);
  }
  return [...found.values()];
}

function onKey(event) {
  const card = cardOf(event.target);
  const column = card?.closest("[data-cell]");
  const by = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (card && by && event.altKey) {
    event.preventDefault();
    raise(card, cardsOf(column), by, event.shiftKey);
  }
  if (isTaken(event)) return;
  if (singleKeys() && event.key === "c" && marked("quick-add")) {
    event.preventDefault();
    openQuickAdd((column ?? cells()[0]).dataset.state);
    return;
  }
  if (!card) {
    const first = cardsOf(board())[0];
    const isArrow = event.key.startsWith("Arrow") && !event.shiftKey;
    // With the focus nowhere, arrows would scroll a page that is as tall as the window.
    if (!first || !isArrow || event.target !== document.body || document.querySelector("dialog[open]")) return;
    event.preventDefault();
    reach(first);
    return;
  }
  const all = rows();
  const row = all.findIndex((one) => one.includes(column));
  const at = all[row].indexOf(column);
  const letter = singleKeys() && { j: "ArrowDown", k: "ArrowUp" }[event.key];
  const key = letter || event.key;
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[key];
  const upwards = { ArrowUp: -1, ArrowDown: 1 }[key];
  if (event.shiftKey && (sideways || upwards)) {
    event.preventDefault();
    const target = sideways ? all[row][at + sideways] : all[row + upwards]?.[at];
    if (target) {
      move(card, target);
      reach(card);
    } else announce(sideways ? "No more columns this way" : "No more swimlanes this way");
  } else if (sideways) {
    event.preventDefault();
    const place = cardsOf(column).indexOf(card);
    let next = at + sideways;
    while (all[row][next] && !cardsOf(all[row][next]).length) next += sideways;
    const list = all[row][next] ? cardsOf(all[row][next]) : [];
    if (list.length) reach(list[Math.min(place, list.length - 1)]);
  } else if (upwards || key === "Home" || key === "End") {
    event.preventDefault();
    // Down the whole column, across its swimlanes.
    const list = all.flatMap((one) => cardsOf(one[at]));
    const place = list.indexOf(card);
    const next = list[upwards ? place + upwards : key === "Home" ? 0 : list.length - 1];
    if (next) reach(next);
  } else if (singleKeys()) {
    onLetter(event, card);
  }
}

/** Move a card up or down by one within its cell, or to the cell's top or bottom. */
function raise(card, list, by, far) {
  if (!ranked()) return announce("Sort by manual order to move cards up or down");
  const place = list.indexOf(card);
  const to = far ? (by < 0 ? 0 : list.length - 1) : place + by;
  if (to === place || !list[to]) return announce(by < 0 ? "Already at the top" : "Already at the bottom");
  move(card, card.closest("[data-cell]"), list[by < 0 ? to : to + 1] ?? null);
  reach(card);
}

function onLetter(event, card) {
  const { key } = event;
  const { ref } = card.dataset;
  if (!SHEETS[key] && !["e", "i", "x"].includes(key)) return;
  event.preventDefault();
  if (key === "x") choose(card);
  else if (SHEETS[key]) openField(key, `/tickets/${ref}`);
  else if (key === "e") location.assign(`/tickets/${ref}/fields/title`);
  else change(`/tickets/${ref}/pick/assignee`, { value: "me" });
}

/** Select or deselect a card. The first selection loads the bulk bar. */
async function choose(card) {
  const id = idOf(card);
  if (!chosen.delete(id)) chosen.add(id);
  announce(`${card.dataset.ref} ${chosen.has(id) ? "selected" : "deselected"}, ${chosen.size} in total`);
  if (!bar()) {
    const query = new URLSearchParams({ project: board().dataset.project, back: location.pathname + location.search });
    const { status, text } = await ask(`/tickets/bulk?${query}`);
    if (status === 200 && !bar()) {
      marked("board-page").insertAdjacentHTML("beforeend", text);
      htmx.process(bar());
    }
  }
  mark();
}

/** Mark the selected cards. If the bar closes while it has the focus, the focus returns to a card. */
function mark() {
  for (const card of cardsOf(board())) card.classList.toggle("chosen", chosen.has(idOf(card)));
  if (!chosen.size && bar()?.contains(document.activeElement)) board().querySelector("[data-title]:not([tabindex='-1'])")?.focus();
  showChosen();
}

function onClick(event) {
  if (event.ctrlKey || event.metaKey) return;
  const more = event.target.closest("[data-more]");
  // The dialog of a card has a button to select it. Once cards are selected, a tap selects more.
  const sheet = event.target.closest("[data-choose=card]")?.form.dataset.move;
  const taps = event.shiftKey || (chosen.size && matchMedia("(pointer: coarse)").matches);
  const card = sheet ? document.getElementById(`card-${sheet}`) : taps && cardOf(event.target);
  const add = event.target.closest("[data-add]");
  const fold = event.target.closest("[data-fold]");
  if (card || more || add) event.preventDefault();
  if (sheet) closeSheet();
  if (card) choose(card);
  else if (more) openSheet(more.href);
  else if (add) openQuickAdd(add.dataset.add);
  else if (fold) toggle(fold.dataset.fold);
  else if (event.target === marked("refresh")) refresh();
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches("[data-move]")) {
    event.preventDefault();
    const card = document.getElementById(`card-${form.dataset.move}`);
    closeSheet();
    if (!card || !event.submitter) return;
    linkOf(card).focus();
    const { name, value, dataset } = event.submitter;
    const chosen = board().dataset.everywhere === undefined ? value : dataset.category;
    const cell = cellOf(name === "state_id" ? chosen : card.dataset.state, card.dataset.swimlane);
    // The dialog's buttons "To the top" and "To the bottom".
    const next = { rank_before: cell && cardsOf(cell).find((one) => one !== card), rank_after: null }[name];
    move(card, cell, next);
  } else if (form.matches("[data-merge]")) {
    event.preventDefault();
    submit(form, event.submitter);
  }
}

const folded = () => JSON.parse(localStorage.getItem("folded") ?? "[]");

function toggle(state) {
  const now = folded();
  const left = now.filter((one) => one !== state);
  localStorage.setItem("folded", JSON.stringify(left.length < now.length ? left : [...now, state]));
  refold();
}

/** Columns that this reader folded are narrow but still accept cards. */
function refold() {
  const narrow = folded();
  for (const one of board().querySelectorAll("[data-column], [data-cell]")) {
    one.classList.toggle("folded", narrow.includes(one.dataset.column ?? one.dataset.state));
  }
  for (const one of board().querySelectorAll("[data-fold]")) {
    one.setAttribute("aria-expanded", `${!narrow.includes(one.dataset.fold)}`);
  }
}

watchBoard();
