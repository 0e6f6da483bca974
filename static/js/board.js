// The entry of the board, beside that of every page: keys, clicks, folded columns.

import { board, cardsOf, cellOf, cells, linkOf, refresh, rove, spotIn } from "./cards.js";
import { closeSheet, openSheet } from "./dialogs.js";
import { watchDrag } from "./drag.js";
import { watchFilters } from "./filters.js";
import { isTaken, singleKeys } from "./keys.js";
import { watchLive } from "./live.js";
import { change, move, reach, submit } from "./moves.js";
import { speak } from "./page.js";
import { openQuickAdd, watchQuickAdd } from "./quick.js";

// What a key does to the card in focus: a sheet of its own, each.
const SHEETS = { m: "move", a: "pick/assignee", l: "pick/labels", p: "pick/priority" };

function watchBoard() {
  rove();
  refold();
  watchFilters();
  watchLive();
  watchQuickAdd();
  const columnAt = (x, y) => document.elementFromPoint(x, y)?.closest(".column") ?? null;
  watchDrag(document.querySelector(".board-page"), { move, columnAt, spotIn });
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("focusin", (event) => {
    const card = event.target.closest?.(".card");
    if (card) rove(card);
  });
  document.addEventListener("htmx:afterSettle", () => {
    rove();
    refold();
  });
}

/** The cells of each lane; a board without lanes has one row of them. */
function rows() {
  const found = new Map();
  for (const cell of cells()) {
    const row = found.get(cell.dataset.lane) ?? [];
    found.set(cell.dataset.lane, [...row, cell]);
  }
  return [...found.values()];
}

function onKey(event) {
  if (isTaken(event)) return;
  const card = event.target.closest?.(".card");
  const column = card?.closest(".column");
  if (singleKeys() && event.key === "c" && document.getElementById("quick-add")) {
    event.preventDefault();
    openQuickAdd((column ?? cells()[0]).dataset.state);
    return;
  }
  if (!card) return;
  const all = rows();
  const row = all.findIndex((one) => one.includes(column));
  const at = all[row].indexOf(column);
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  const upwards = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  if (event.shiftKey && (sideways || upwards)) {
    event.preventDefault();
    const target = sideways ? all[row][at + sideways] : all[row + upwards]?.[at];
    if (target) carry(card, target);
    else speak(sideways ? "There is no further column" : "There is no further lane");
  } else if (sideways) {
    event.preventDefault();
    const place = cardsOf(column).indexOf(card);
    let next = at + sideways;
    while (all[row][next] && !cardsOf(all[row][next]).length) next += sideways;
    const list = all[row][next] ? cardsOf(all[row][next]) : [];
    if (list.length) reach(list[Math.min(place, list.length - 1)]);
  } else if (upwards || event.key === "Home" || event.key === "End") {
    event.preventDefault();
    // Down the column, through its lanes.
    const list = all.flatMap((one) => cardsOf(one[at]));
    const place = list.indexOf(card);
    const next = list[upwards ? place + upwards : event.key === "Home" ? 0 : list.length - 1];
    if (next) reach(next);
  } else if (singleKeys() && !event.shiftKey) {
    onLetter(event, card.dataset.ref);
  }
}

async function carry(card, cell) {
  const done = move(card, cell);
  linkOf(card).focus();
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
  await done;
}

function onLetter(event, ref) {
  const sheet = SHEETS[event.key];
  if (!sheet && event.key !== "e" && event.key !== "i") return;
  event.preventDefault();
  if (sheet) openSheet(`/tickets/${ref}/${sheet}`);
  else if (event.key === "e") location.assign(`/tickets/${ref}/fields/title`);
  else change(`/tickets/${ref}/pick/assignee`, { value: "me" });
}

function onClick(event) {
  if (event.ctrlKey || event.metaKey) return;
  const more = event.target.closest(".card-more");
  const add = event.target.closest("[data-add]");
  const fold = event.target.closest("[data-fold]");
  if (more || add) event.preventDefault();
  if (more) openSheet(more.href);
  else if (add) openQuickAdd(add.dataset.add);
  else if (fold) toggle(fold.dataset.fold);
  else if (event.target.id === "pill") refresh();
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches("[data-move]")) {
    event.preventDefault();
    const card = document.getElementById(`card-${form.dataset.move}`);
    closeSheet();
    if (!card) return;
    linkOf(card).focus();
    const state = board().dataset.everywhere === undefined ? new FormData(form).get("state_id") : form.querySelector(":checked").dataset.category;
    move(card, cellOf(state, card.dataset.lane));
  } else if (form.matches("[data-merge]")) {
    event.preventDefault();
    submit(form);
  }
}

const folded = () => JSON.parse(localStorage.getItem("folded") ?? "[]");

function toggle(state) {
  const now = folded();
  const left = now.filter((one) => one !== state);
  localStorage.setItem("folded", JSON.stringify(left.length < now.length ? left : [...now, state]));
  refold();
}

/** Columns that this reader folded are narrow, and take cards all the same. */
function refold() {
  const narrow = folded();
  for (const one of board().querySelectorAll("[data-column], .column")) {
    one.classList.toggle("folded", narrow.includes(one.dataset.column ?? one.dataset.state));
  }
  for (const one of board().querySelectorAll("[data-fold]")) {
    one.setAttribute("aria-expanded", `${!narrow.includes(one.dataset.fold)}`);
  }
}

watchBoard();
