// Serves [data-toast], and the cards and columns of cards.js.
// Moving cards: on the screen at once, then on the server in order, and back if the server refuses.

import { board, cardOf, cardsOf, cellOf, idOf, linkOf, merge, place, recount, setTabStop, total } from "./cards.js";
import { announce, toast } from "./page.js";
import { ask } from "./server.js";

let waiting = 0;
let line = Promise.resolve();
const latest = new Map();

/** Whether a change is pending; `count` grows with each change. */
export const busy = () => waiting > 0;
busy.count = 0;

/** Send a change after the previous ones have been answered. */
export async function send(address, values) {
  waiting += 1;
  busy.count += 1;
  const { group, everywhere, sort } = board().dataset;
  const form = new URLSearchParams(values);
  form.set("group", group);
  form.set("sort", sort);
  if (everywhere !== undefined) form.set("everywhere", "yes");
  line = line.then(() => ask(address, form));
  const answer = await line;
  waiting -= 1;
  if (!answer.status) toast("No connection. Nothing was changed.", "error");
  return answer;
}

/** Whether this board has a manual order. Boards of all projects have none, as each project has its own. */
export const ranked = () => board().dataset.sort === "rank" && board().dataset.everywhere === undefined;

// `next` is the card below it; null puts it last.
/** Move a card at once, tell the server, and move it back if the server refuses. */
export async function move(card, cell, next) {
  const from = card.closest("[data-cell]");
  const stays = next === undefined || next === card || next === cardOf(card.nextElementSibling);
  if (!cell || (from === cell && stays)) return;
  const { id } = card;
  const { ref, key } = card.dataset;
  const values = {
    state_id: cell.dataset.state,
    swimlane: cell.dataset.swimlane,
    from_state_id: from.dataset.state,
    from_swimlane: from.dataset.swimlane,
  };
  if (next !== undefined) {
    const last = cardsOf(cell).filter((one) => one !== card).at(-1);
    if (next) values.rank_before = idOf(next);
    else if (last) values.rank_after = idOf(last);
    card.dataset.key = next?.dataset.key ?? "~";
  }
  place(card, cell);
  total(from.dataset.state, -1);
  total(cell.dataset.state, 1);
  recount();
  const turn = busy.count + 1;
  latest.set(id, turn);
  const { status, text } = await send(`/tickets/${ref}/move`, values);
  // If the card was moved again meanwhile, only the later response counts.
  if (latest.get(id) !== turn) return;
  const moved = status === 200;
  const shown = document.getElementById(id);
  if (!moved) {
    total(from.dataset.state, 1);
    total(cell.dataset.state, -1);
    const home = cellOf(values.from_state_id, values.from_swimlane);
    if (shown && home && status !== 409) {
      shown.dataset.key = key;
      place(shown, home);
    }
  }
  merge(text);
  const now = document.getElementById(id);
  const there = now?.closest("[data-cell]");
  if (!there) return;
  const list = cardsOf(there);
  const where = there.dataset.name + (there.dataset.swimlaneName ? `, ${there.dataset.swimlaneName}` : "");
  if (moved) announce(`${ref} moved to ${where}, ${list.indexOf(now) + 1} of ${list.length}`);
  else if (status === 409) announce(`${ref} was moved by someone else and is in ${where}`);
  else announce(`${ref} could not be moved`);
  if (now.contains(document.activeElement)) setTabStop(now);
}

/** Send a form of the board (undo, a choice for a card) and show its result. */
export async function submit(form, submitter) {
  const values = new FormData(form, submitter);
  form.closest("[data-toast]")?.remove();
  form.closest("dialog")?.close();
  await change(form.action, values);
}

/** Change a field of a card and show the result. */
export async function change(address, values) {
  const { text } = await send(address, values);
  merge(text);
  const said = document.querySelector("[data-toast]:last-child > span");
  if (said) announce(said.textContent);
}

/** Focus a card and scroll it into view. */
export function reach(card) {
  linkOf(card).focus();
  card.scrollIntoView({ block: "nearest", inline: "nearest" });
}
