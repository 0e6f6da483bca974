// The entry of the board, beside that of every page: walking and moving cards by keyboard, quick add,
// and what a move does.

import { closeSheet, openSheet } from "./dialogs.js";
import { watchDrag } from "./drag.js";
import { isTaken, singleKeys } from "./keys.js";
import { newKey, speak, toast } from "./page.js";

const board = () => document.getElementById("board");
const columns = () => [...board().querySelectorAll(".column")];
const cardsOf = (column) => [...column.querySelectorAll(".card:not(.ghost)")];
const linkOf = (card) => card.querySelector(".card-title");

function watchBoard() {
  rove();
  watchDrag(document.querySelector(".board-page"), { move, columnAt, spotIn });
  document.addEventListener("keydown", onKey);
  document.addEventListener("click", onClick);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("focusin", (event) => {
    const card = event.target.closest?.(".card");
    if (card) rove(card);
  });
  document.addEventListener("htmx:afterSettle", (event) => {
    if (event.target.id === "board") rove();
  });
}

/** Of all cards, one can be reached with Tab; arrows walk to the others. */
function rove(current = board().querySelector(".card")) {
  for (const one of board().querySelectorAll(".card a")) {
    const wanted = current?.contains(one) ? 0 : -1;
    if (one.tabIndex !== wanted) one.tabIndex = wanted;
  }
}

/** Cards stand by priority, then due date, then newest change: a moved one is the newest. */
export function spotIn(column, card) {
  const others = cardsOf(column).filter((one) => one !== card);
  return others.find((one) => one.dataset.key >= card.dataset.key) ?? column.querySelector(".column-empty");
}

function columnAt(x, y) {
  return document.elementFromPoint(x, y)?.closest(".column") ?? null;
}

/** Put a card where it belongs in a column, and count anew. */
function put(card, column) {
  const from = card.closest(".column");
  column.querySelector(".cards").insertBefore(card, spotIn(column, card));
  if (from !== column) {
    if (from) count(from, -1);
    count(column, 1);
  }
}

/** Say in the head how many cards there are, and of how many tickets if filters hide some. */
function count(column, change) {
  const head = column.querySelector(".count");
  const total = Number(head.dataset.total) + change;
  const shown = cardsOf(column).length;
  head.dataset.total = total;
  head.textContent = shown === total ? `${total}` : `${shown} of ${total}`;
}

/** Move a card at once, tell the server, and put it back if the server says no. */
export async function move(card, column, { force = false } = {}) {
  const from = card.closest(".column");
  if (from === column || !column) return;
  const ref = card.dataset.ref;
  const hadFocus = card.contains(document.activeElement);
  put(card, column);
  if (hadFocus) linkOf(card).focus();
  const values = { state_id: column.dataset.state };
  if (!force) values.from_state_id = from.dataset.state;
  let status = 0;
  const note = (event) => {
    if (event.detail.elt === card || event.detail.target?.id === card.id) status = event.detail.xhr.status;
  };
  document.addEventListener("htmx:beforeSwap", note);
  const id = card.id;
  await htmx.ajax("POST", `/tickets/${ref}/move`, { source: card, target: card, swap: "outerHTML", values });
  document.removeEventListener("htmx:beforeSwap", note);
  const fresh = document.getElementById(id);
  if (status === 200 || status === 409) {
    const place = board().querySelector(`.column[data-state="${fresh.dataset.state}"]`);
    if (place) put(fresh, place);
    const list = cardsOf(place);
    speak(status === 200
      ? `${ref} moved to ${place.dataset.name}, ${list.indexOf(fresh) + 1} of ${list.length}`
      : `${ref} was moved by someone else; it is in ${place.dataset.name}`);
  } else {
    put(fresh, from);
    speak(`${ref} could not be moved`);
  }
  rove(fresh);
  if (hadFocus) linkOf(fresh).focus();
}

function onKey(event) {
  if (isTaken(event)) return;
  const card = event.target.closest?.(".card");
  if (singleKeys() && event.key === "c") {
    event.preventDefault();
    openQuickAdd(card?.closest(".column") ?? columns()[0]);
    return;
  }
  if (!card) return;
  const column = card.closest(".column");
  const all = columns();
  const list = cardsOf(column);
  const at = list.indexOf(card);
  const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
  if (event.shiftKey && sideways) {
    event.preventDefault();
    const target = all[all.indexOf(column) + sideways];
    if (target) move(card, target);
    else speak("There is no further column");
  } else if (sideways) {
    event.preventDefault();
    let next = all.indexOf(column) + sideways;
    while (all[next] && !cardsOf(all[next]).length) next += sideways;
    if (all[next]) reach(cardsOf(all[next])[Math.min(at, cardsOf(all[next]).length - 1)]);
  } else if (["ArrowUp", "ArrowDown", "Home", "End"].includes(event.key)) {
    event.preventDefault();
    const next = { ArrowUp: at - 1, ArrowDown: at + 1, Home: 0, End: list.length - 1 }[event.key];
    if (list[next]) reach(list[next]);
  } else if (event.key === "m" && singleKeys()) {
    event.preventDefault();
    openSheet(card.querySelector(".card-more").href);
  }
}

function reach(card) {
  linkOf(card).focus();
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
}

function onClick(event) {
  const more = event.target.closest(".card-more");
  const add = event.target.closest("[data-add]");
  const undo = event.target.closest("[data-undo]");
  if (event.ctrlKey || event.metaKey) return;
  if (more) {
    event.preventDefault();
    openSheet(more.href);
  } else if (add) {
    event.preventDefault();
    openQuickAdd(add.closest(".column"));
  } else if (undo) {
    event.preventDefault();
    const card = board().querySelector(`.card[data-ref="${undo.dataset.ref}"]`);
    const column = board().querySelector(`.column[data-state="${undo.dataset.undo}"]`);
    undo.closest(".toast").remove();
    if (card && column) move(card, column, { force: undo.hasAttribute("data-force") });
  } else if (event.target.closest(".quick-add [data-cancel]")) {
    closeQuickAdd(event.target.closest(".quick-add"));
  }
}

function onSubmit(event) {
  const form = event.target;
  if (form.matches("[data-move]")) {
    event.preventDefault();
    const card = document.getElementById(`card-${form.dataset.move}`);
    const state = new FormData(form).get("state_id");
    closeSheet();
    if (card) {
      linkOf(card).focus();
      move(card, board().querySelector(`.column[data-state="${state}"]`));
    }
  } else if (form.matches("[data-quick]")) {
    event.preventDefault();
    add(form);
  }
}

function openQuickAdd(column) {
  document.querySelector(".quick-add")?.remove();
  const form = document.getElementById("quick-add").content.cloneNode(true).querySelector("form");
  form.elements.state_id.value = column.dataset.state;
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      closeQuickAdd(form);
    } else if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      const { project, state_id, title } = form.elements;
      const query = new URLSearchParams({ project: project.value, state_id: state_id.value, title: title.value });
      location.assign(`/tickets/new?${query}`);
    }
  });
  column.querySelector(".column-head").after(form);
  form.elements.idempotency_key.value = newKey();
  form.elements.title.focus();
}

function closeQuickAdd(form) {
  const button = form.closest(".column").querySelector("[data-add]");
  form.remove();
  button.focus();
}

/** Create the ticket and leave the input open for the next one. */
async function add(form) {
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const column = form.closest(".column");
  const title = form.elements.title;
  const problem = form.querySelector(".problem");
  const answer = await fetch("/tickets/quick", {
    method: "POST",
    headers: { "HX-Request": "true", "X-Requested-By": "web" },
    body: new URLSearchParams(new FormData(form)),
  }).catch(() => null);
  const text = answer ? await answer.text() : "";
  if (answer?.status === 201) {
    htmx.swap(`#column-${column.dataset.state}`, text, { swapStyle: "afterbegin" }, {
      afterSettleCallback: () => {
        const card = column.querySelector(".cards > .card");
        put(card, column);
        count(column, 1);
        card.scrollIntoView({ block: "nearest" });
        rove(card);
        speak(`${card.dataset.ref} created in ${column.dataset.name}`);
      },
    });
    title.value = "";
    form.elements.idempotency_key.value = newKey();
    problem.hidden = true;
    title.focus();
  } else if (answer?.status === 422) {
    problem.textContent = text;
    problem.hidden = false;
    title.focus();
  } else {
    toast("The ticket was not created. Try again.", "error");
  }
  // Only now: a second Enter before this would bring the answer, and the card, once more.
  delete form.dataset.sending;
}

watchBoard();
