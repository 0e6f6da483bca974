// Serves data-behavior="palette" and [data-palette].
// The palette: from any page to a ticket, a page, a project or a command by a few keys. A combobox
// whose list the server writes; what was typed last is what counts.

import { marked } from "./page.js";
import { ask } from "./server.js";

const palette = marked("palette");
const field = palette?.querySelector("[role=combobox]");
const list = palette?.querySelector("[role=listbox]");
let turn = 0;
let answered;
let at = 0;

const options = () => list.querySelectorAll("[role=option]");

export function watchPalette() {
  if (!palette) return;
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (palette.open) palette.close();
    else open();
  });
  document.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || !event.target.closest("[data-palette]")) return;
    event.preventDefault();
    open();
  });
  field.addEventListener("input", () => (answered = find()));
  field.addEventListener("keydown", onKey);
  list.addEventListener("click", () => palette.close());
}

function open() {
  palette.showModal();
  field.select();
  answered = find();
}

async function find() {
  const mine = (turn += 1);
  const query = new URLSearchParams({ q: field.value, project: document.body.dataset.project ?? "" });
  const { status, text } = await ask(`/palette?${query}`);
  if (mine !== turn) return;
  if (status === 200) list.innerHTML = text;
  choose(0);
  const count = options().length;
  palette.querySelector("[role=status]").textContent = `${count} ${count === 1 ? "result" : "results"}`;
}

async function onKey(event) {
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (event.isComposing || !(by || event.key === "Enter")) return;
  event.preventDefault();
  await answered;
  if (by) choose(at + by);
  else options()[at]?.click();
}

function choose(index) {
  const all = options();
  at = (index + all.length) % all.length || 0;
  all.forEach((one, place) => one.setAttribute("aria-selected", place === at));
  field.setAttribute("aria-activedescendant", all[at]?.id ?? "");
  all[at]?.scrollIntoView({ block: "nearest" });
}
