// Serves data-behavior="bulk", the list as a form: its rows, [data-choose] and [data-fold].
// The entry script of the ticket list: selecting rows, the bulk bar, folding the tree.

import { bar, chosen, openField, SHEETS, showChosen, watchChoosing } from "./choosing.js";
import { closeSheet } from "./dialogs.js";
import { watchFilters } from "./filters.js";
import { isTaken, singleKeys } from "./keys.js";
import { watchLines } from "./lines.js";
import { marked } from "./page.js";
import { ask } from "./server.js";
import { watchSteps } from "./steps.js";

let last = null;
// The row whose dialog was opened last.
let opened = null;

const BOX = "[data-behavior=bulk] tbody [name=id]";
const boxes = () => [...document.querySelectorAll(BOX)];
const rowOf = (one) => one?.closest?.("[id^=row-]");

function watchList() {
  watchFilters();
  watchLines();
  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.matches("[data-choose=page]")) choose(boxes(), target.checked);
    else if (target.matches(BOX)) choose([target], target.checked);
  });
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("submit", onSubmit);
  document.addEventListener("htmx:afterSettle", show);
  marked("dialog").addEventListener("close", onClose);
  watchChoosing(show);
  watchSteps();
  show();
}

function choose(some, on) {
  bar().elements.all.value = "";
  for (const box of some) {
    box.checked = on;
    chosen[on ? "add" : "delete"](box.value);
  }
  show();
}

function show() {
  if (!bar()) return;
  const all = boxes();
  for (const box of all) {
    box.checked = chosen.has(box.value);
    rowOf(box).classList.toggle("chosen", box.checked);
  }
  const page = bar().querySelector("[data-choose=page]");
  page.checked = all.length > 0 && all.every((one) => one.checked);
  page.indeterminate = !page.checked && all.some((one) => one.checked);
  showChosen();
}

function onClick(event) {
  const { target } = event;
  const box = target.closest(BOX);
  if (box) {
    // Shift selects the range from the last clicked box to this one.
    const list = boxes();
    const from = list.findIndex((one) => one.value === last);
    const to = list.indexOf(box);
    if (event.shiftKey && from >= 0) choose(list.slice(Math.min(from, to), Math.max(from, to) + 1), box.checked);
    last = box.value;
  } else if (target.matches("[data-choose=all]")) matching(target);
  else if (target.closest("[data-fold]")) fold(rowOf(target));
}

/** Select all tickets that match the filters, not only those on the page. */
async function matching() {
  const asked = bar();
  const { query: filters, project } = asked.elements;
  const query = new URLSearchParams(filters.value);
  if (project) query.set("project", project.value);
  const { status, text } = await ask(`/tickets/matching?${query}`);
  // Meanwhile the list may have been filtered anew or emptied.
  if (status !== 200 || asked !== bar()) return;
  choose(boxes(), true);
  asked.elements.all.value = "yes";
  asked.dataset.count = text;
  bar().querySelector("[data-count]").textContent = `All ${text}`;
}

function onKey(event) {
  const row = rowOf(event.target);
  if (!row || isTaken(event)) return;
  const side = { ArrowLeft: true, ArrowRight: false }[event.key];
  if (side !== undefined && row.ariaLevel) {
    event.preventDefault();
    fold(row, side);
  } else if (event.key === "x" && singleKeys()) {
    event.preventDefault();
    const box = row.querySelector("[name=id]");
    choose([box], !box.checked);
    last = box.value;
  } else if (SHEETS[event.key] && singleKeys()) {
    event.preventDefault();
    opened = row.id;
    openField(event.key, row.querySelector("[data-row-link]").getAttribute("href"));
  }
}

/** After a change made in a row's dialog, or its undo, reload the list and keep the focus on the row. */
async function onSubmit(event) {
  const form = event.target;
  if (!form.matches("[data-move], [data-merge]")) return;
  event.preventDefault();
  const values = new FormData(form, event.submitter);
  form.closest("[data-toast]")?.remove();
  if (form.closest("dialog")) closeSheet();
  const row = rowOf(document.activeElement)?.id ?? opened;
  const { text } = await ask(form.action, values);
  const made = document.createElement("template");
  made.innerHTML = text;
  marked("toasts").append(...made.content.querySelectorAll("[data-toast]"));
  await htmx.ajax("GET", location.pathname + location.search, { target: "#results", swap: "outerHTML" });
  focusRow(row);
}

/** The list may have been replaced below the dialog, with the row that should get the focus back. */
function onClose({ target: dialog }) {
  const { activeElement, body } = document;
  if (activeElement === body || dialog.contains(activeElement)) focusRow(opened);
}

function focusRow(id) {
  document.getElementById(id)?.querySelector("[data-row-link]").focus();
}

/** Fold or unfold the rows below a row, up to the next one of its level. */
function fold(row, folded = row.ariaExpanded === "true") {
  if (!row.ariaExpanded) return;
  row.ariaExpanded = `${!folded}`;
  row.querySelector("[data-fold]").ariaExpanded = `${!folded}`;
  let hidden = 0;
  for (let next = row.nextElementSibling; next && next.ariaLevel > row.ariaLevel; next = next.nextElementSibling) {
    const level = Number(next.ariaLevel);
    if (hidden && level <= hidden) hidden = 0;
    next.hidden = folded || hidden > 0;
    if (!hidden && next.ariaExpanded === "false") hidden = level;
  }
}

watchList();
