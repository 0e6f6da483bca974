// Serves [data-moves] (a state) with its [data-grip], and the labels of colors.js.
// The entry of a project's settings, beside that of every page: states carried to another place, and how
// a label will look while its colour is chosen.

import { pull, watchDrag } from "./drag.js";
import { announce } from "./page.js";
import { watchColors } from "./colors.js";

const rowsOf = (list) => [...list.querySelectorAll("[data-moves]")];

function watchStates() {
  const held = (target) => target.closest("[data-grip]")?.closest("[data-moves]");
  // The list is swapped after each change; what is around it stays.
  watchDrag(document.querySelector("main"), { held, over, scroll, drop });
}

/** Show before which row, or at the end of the list, a dragged one would go. */
function over(drag) {
  const list = drag.card.parentElement;
  const middle = (row) => row.getBoundingClientRect().top + row.offsetHeight / 2;
  const next = rowsOf(list).find((row) => row !== drag.card && middle(drag.ghost) < middle(row));
  drag.place = next ?? list;
  if (goes(drag.card, drag.place)) list.insertBefore(drag.mark, next ?? null);
  else drag.mark.remove();
}

/** Whether a row is not there already. */
function goes(row, place) {
  const rows = rowsOf(row.parentElement);
  return place !== row && place !== (rows[rows.indexOf(row) + 1] ?? row.parentElement);
}

function scroll({ y }) {
  scrollBy(0, pull(y, 0, innerHeight));
}

/** Put the row there at once, and back if the server does not say so. */
async function drop(row, place) {
  if (!row || !place || !goes(row, place)) return;
  const list = row.parentElement;
  const home = row.nextElementSibling;
  const before = place === list ? null : place;
  list.insertBefore(row, before);
  const name = row.dataset.name;
  const at = rowsOf(list).indexOf(row) + 1;
  const values = { before: before?.dataset.state ?? "" };
  // Why it failed is said in a message (page.js).
  await htmx.ajax("POST", row.dataset.moves, { target: "#states", values }).catch(() => null);
  if (row.isConnected) list.insertBefore(row, home);
  else announce(`${name} is now state ${at} of ${rowsOf(list).length}`);
}

watchStates();
watchColors();
