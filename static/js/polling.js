// Serves data-behavior="live".
// Triggers app:poll at intervals; elements that show live content refresh on it.

import { marked } from "./page.js";
import { connected, isLoggedIn } from "./server.js";

const EVERY = 3000;

/** Poll while the page is visible, less often after five idle minutes, and report lasting failures. */
export function watchPolling() {
  if (!marked("live")) return;
  let touched = Date.now();
  let asked = 0;
  const ask = () => {
    asked = Date.now();
    document.body.dispatchEvent(new Event("app:poll"));
  };
  for (const name of ["pointerdown", "keydown"]) addEventListener(name, () => (touched = Date.now()), true);
  setInterval(() => {
    const wait = Date.now() - touched > 300_000 ? 30_000 : EVERY;
    if (!document.hidden && isLoggedIn() && Date.now() - asked >= wait - 100) ask();
  }, EVERY);
  document.addEventListener("visibilitychange", () => document.hidden || ask());
  addEventListener("online", ask);
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { elt, xhr } = event.detail;
    if (elt.dataset.behavior === "live" && xhr.status >= 400 && xhr.status !== 401) event.detail.shouldSwap = false;
  });
  document.addEventListener("htmx:afterRequest", (event) => {
    const { elt, xhr } = event.detail;
    if (elt.dataset.behavior === "live" && xhr.status !== 401) connected(event.detail.successful);
  });
}
