// Serves [data-moves] (a state) with its [data-grip], and the labels of colors.js.
// The entry script of a project's settings: reordering states by dragging, and the preview of a label's
// color.

import { pull, watchDrag } from "./drag.js";
import { announce } from "./page.js";
import { watchColors } from "./colors.js";

const rowsOf = (list) => [...list.querySelectorAll("[data-moves]")];

function watchStates() {
  const held = (target) => target.closest("[data-grip]")?.closest("[data-moves]");
  // Each change swaps the list, so the listeners are on an element around it.
  watchDrag(document.querySelector("main"), { held, over, scroll, drop });
}

/** Show the row before which the dragged one would land, or the end of the list. */
function over(drag) {
  const list = drag.card.parentElement;
  const middle = (row) => row.getBoundingClientRect().top + row.offsetHeight / 2;
  const next = rowsOf(list).find((row) => row !== drag.card && middle(drag.ghost) < middle(row));
  drag.place = next ?? list;
  if (goes(drag.card, drag.place)) list.insertBefore(drag.mark, next ?? null);
  else drag.mark.remove();
}

/** Whether this would change the position of the row. */
function goes(row, place) {
  const rows = rowsOf(row.parentElement);
  return place !== row && place !== (rows[rows.indexOf(row) + 1] ?? row.parentElement);
}

function scroll({ y }) {
  scrollBy(0, pull(y, 0, innerHeight));
}

/** Move the row at once, and back if the server refuses. */
async function drop(row, place) {
  if (!row || !place || !goes(row, place)) return;
  const list = row.parentElement;
  const home = row.nextElementSibling;
  const before = place === list ? null : place;
  list.insertBefore(row, before);
  const name = row.dataset.name;
  const at = rowsOf(list).indexOf(row) + 1;
  const values = { before: before?.dataset.state ?? "" };
  // page.js shows the reason for a failure.
  await htmx.ajax("POST", row.dataset.moves, { target: "#states", values }).catch(() => null);
  if (row.isConnected) list.insertBefore(row, home);
  else announce(`${name} is now state ${at} of ${rowsOf(list).length}`);
}

watchStates();
watchColors();
