// Serves data-behavior="neighbors".
// Links from a ticket's page to the previous and next ticket.

import { KEPT } from "./lines.js";
import { marked } from "./page.js";

/** Show the previous and next ticket of the list or board that the user came from. */
export function showNeighbors() {
  const bar = marked("neighbors");
  const left = JSON.parse(sessionStorage.getItem(KEPT));
  if (!bar || !left || !document.referrer) return;
  const { origin, pathname, search } = new URL(document.referrer);
  const isOnTheWay = pathname + search === left.address || pathname.startsWith("/tickets/");
  const { ticket } = bar.dataset;
  const line = left.lines.find((one) => one.includes(ticket));
  if (origin !== location.origin || !isOnTheWay || !line) return;
  const at = line.indexOf(ticket);
  for (const [link, to] of [[bar.firstElementChild, line[at - 1]], [bar.lastElementChild, line[at + 1]]]) {
    if (to) link.href = `/tickets/${to}`;
    else link.setAttribute("aria-disabled", "true");
  }
  const back = bar.children[1];
  back.href = left.address;
  back.firstElementChild.textContent = `${at + 1} of ${line.length}`;
  bar.hidden = false;
}
