// The entry of the list, beside that of every page: choosing rows, the bar below, folding a tree.

import { watchFilters } from "./filters.js";
import { isTaken, singleKeys } from "./keys.js";

// What is chosen outlives a swap of the rows, and paging through them.
const chosen = new Set();
let last = null;

const form = () => document.getElementById("bulk");
const boxes = () => [...document.querySelectorAll("#bulk tbody [name=id]")];
const rowOf = (one) => one?.closest?.("tr[data-id]");

function watchList() {
  watchFilters();
  document.addEventListener("change", (event) => {
    const { target } = event;
    if (target.id === "choose-page") choose(boxes(), target.checked);
    else if (target.matches("#bulk tbody [name=id]")) choose([target], target.checked);
  });
  document.addEventListener("click", onClick);
  document.addEventListener("keydown", onKey);
  document.addEventListener("htmx:afterSettle", show);
  document.addEventListener("htmx:configRequest", (event) => {
    if (event.detail.elt !== form()) return;
    const here = new Set(boxes().map((one) => one.value));
    for (const id of chosen) if (!here.has(id)) event.detail.formData.append("id", id);
  });
  document.addEventListener("docket:changed", clear);
  document.addEventListener("docket:sheet", () => document.getElementById("dialog").showModal());
  show();
}

function choose(some, on) {
  form().elements.all.value = "";
  for (const box of some) {
    box.checked = on;
    chosen[on ? "add" : "delete"](box.value);
  }
  show();
}

function clear() {
  chosen.clear();
  if (!form()) return;
  form().reset();
  form().elements.all.value = "";
  show();
}

function show(_, words = `${chosen.size}`) {
  const bar = form();
  if (!bar) return;
  const all = boxes();
  for (const box of all) {
    box.checked = chosen.has(box.value);
    rowOf(box).classList.toggle("chosen", box.checked);
  }
  const page = document.getElementById("choose-page");
  page.checked = all.length > 0 && all.every((one) => one.checked);
  page.indeterminate = !page.checked && all.some((one) => one.checked);
  bar.classList.toggle("choosing", chosen.size > 0);
  document.getElementById("bulk-count").textContent = words;
}

function onClick(event) {
  const { target } = event;
  const box = target.closest("#bulk tbody [name=id]");
  if (box) {
    // Shift takes all between this one and the last.
    const list = boxes();
    const from = list.findIndex((one) => one.value === last);
    const to = list.indexOf(box);
    if (event.shiftKey && from >= 0) choose(list.slice(Math.min(from, to), Math.max(from, to) + 1), box.checked);
    last = box.value;
  } else if (target.id === "choose-all") matching(target);
  else if (target.closest("#choose-none")) clear();
  else if (target.closest(".fold")) fold(rowOf(target));
}

/** Not what is on the page: all that the filters match. */
async function matching() {
  const query = new URLSearchParams(form().elements.query.value);
  if (form().elements.project) query.set("project", form().elements.project.value);
  const answer = await fetch(`/tickets/matching?${query}`, { headers: { "HX-Request": "true" } }).catch(() => null);
  if (!answer?.ok) return;
  choose(boxes(), true);
  form().elements.all.value = "yes";
  show(null, `All ${await answer.text()}`);
}

function onKey(event) {
  if (event.key === "Escape" && chosen.size && !event.target.closest("dialog, details[open]")) clear();
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
  }
}

/** Hide or show what lies below a row, down to the next one of its level. */
function fold(row, folded = row.ariaExpanded === "true") {
  if (!row.ariaExpanded) return;
  row.ariaExpanded = `${!folded}`;
  row.querySelector(".fold").ariaExpanded = `${!folded}`;
  let hidden = 0;
  for (let next = row.nextElementSibling; next && next.ariaLevel > row.ariaLevel; next = next.nextElementSibling) {
    const level = Number(next.ariaLevel);
    if (hidden && level <= hidden) hidden = 0;
    next.hidden = folded || hidden > 0;
    if (!hidden && next.ariaExpanded === "false") hidden = level;
  }
}

watchList();
