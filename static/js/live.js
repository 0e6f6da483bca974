// Serves [data-live], the address of a board's news, and [data-touch], the mark of a bot's change.
// Changes by others appear within three seconds: a small request is answered with 204 if nothing
// happened. Nothing is updated while a card is dragged, a button pressed, or a move pending.

import { board, merge, offer } from "./cards.js";
import { busy } from "./moves.js";
import { ask, connected, isLoggedIn } from "./server.js";

const EVERY = 2500;
const TOUCHED = 15 * 60_000;

let asking = false;
let pressed = false;
let timer = 0;

export function watchLive() {
  for (const [name, value] of [["pointerdown", true], ["pointerup", false], ["pointercancel", false]]) {
    document.addEventListener(name, () => (pressed = value), true);
  }
  document.addEventListener("visibilitychange", look);
  for (const name of ["online", "focus"]) window.addEventListener(name, look);
  timer = setInterval(look, EVERY);
}

const held = () => pressed || busy() || document.documentElement.classList.contains("dragging");

/** Request the news, unless the page is busy or hidden. */
export async function look() {
  const asked = board();
  if (asking || document.hidden || held() || !isLoggedIn()) return;
  asking = true;
  const moves = busy.count;
  const { live, since } = asked.dataset;
  const answer = await ask(`${live}${live.includes("?") ? "&" : "?"}since=${since}`, null, true);
  asking = false;
  connected(answer.status > 0);
  // A response may be older than a move made meanwhile; it is dropped, and the next poll follows.
  if (asked !== board() || held() || moves !== busy.count) return;
  if (answer.status === 200) {
    const content = merge(answer.text, { glow: true });
    const { since: next, pill } = content.querySelector("[data-since]").dataset;
    asked.dataset.since = next;
    if (pill !== undefined) offer(pill);
  } else if (answer.status >= 400 && answer.status < 500) {
    if (isLoggedIn()) clearInterval(timer);
    merge(answer.text);
  }
  fade();
}

/** The mark of a bot's change disappears after a quarter of an hour. */
function fade() {
  for (const touch of board().querySelectorAll("[data-touch]")) {
    if (Date.now() - new Date(touch.querySelector("time").dateTime) < TOUCHED) continue;
    touch.closest("li[data-ref]").classList.remove("touched");
    touch.remove();
  }
}
