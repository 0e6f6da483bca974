// Serves data-behavior="palette" with [data-recent] and [data-press], and [data-palette].
// The command palette leads from any page to a ticket, page, project or command. It is a combobox whose
// options come from the server; only the response to the latest text counts.

import { marked } from "./page.js";
import { ask } from "./server.js";

const palette = marked("palette");
const field = palette?.querySelector("[role=combobox]");
const list = palette?.querySelector("[role=listbox]");
// Recently visited places, newest first: boards, lists, tickets, pages and notes.
const RECENT = "recent";
const MAX_RECENT = 6;
const PLACE = /^\/(tickets\/[A-Z][A-Z0-9]*-\d+|(projects\/[A-Z0-9]+\/)?(board|tickets|sticky-notes|wiki|wiki\/[^/]+))$/;
let turn = 0;
let answered;
let at = 0;

const options = () => list.querySelectorAll("[role=option]");

export function watchPalette() {
  // Pages for logged-out users have no palette, and nothing of the last user may stay.
  if (!palette) return localStorage.removeItem(RECENT);
  remember();
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
  list.addEventListener("click", onClick);
}

const recent = () => JSON.parse(localStorage.getItem(RECENT) ?? "[]");

function remember() {
  const { pathname } = location;
  const [seen] = performance.getEntriesByType("navigation");
  if (!PLACE.test(pathname) || seen?.responseStatus >= 400) return;
  const title = document.title.split(" · ").slice(0, -1).join(" · ");
  const places = [{ title, pathname }, ...recent().filter((one) => one.pathname !== pathname)];
  localStorage.setItem(RECENT, JSON.stringify(places.slice(0, MAX_RECENT)));
}

/** The places visited before this one. */
function showRecent() {
  const places = recent().filter((one) => one.pathname !== location.pathname);
  if (!places.length) return;
  const [group, sample] = palette.querySelector("[data-recent]").content.cloneNode(true).children;
  for (const [index, { title, pathname }] of places.entries()) {
    const option = sample.cloneNode(true);
    option.id = `palette-recent-${index}`;
    option.href = pathname;
    option.lastElementChild.textContent = title;
    group.append(option);
  }
  list.prepend(group);
}

const pressed = (option) => document.querySelector(`[data-key=${option.dataset.press}]`);

/** A link is followed; an action clicks its button on the page. */
function onClick(event) {
  palette.close();
  const option = event.target.closest("[data-press]");
  if (!option) return;
  event.preventDefault();
  pressed(option).focus();
  pressed(option).click();
}

function open() {
  palette.showModal();
  field.select();
  answered = find();
}

async function find() {
  const mine = (turn += 1);
  const query = new URLSearchParams({ q: field.value, project: document.body.dataset.project ?? "" });
  const ticket = document.querySelector("[data-ticket]");
  if (ticket) query.set("ticket", ticket.dataset.ticket);
  const { status, text } = await ask(`/palette?${query}`);
  if (mine !== turn) return;
  if (status === 200) list.innerHTML = text;
  for (const option of list.querySelectorAll("[data-press]")) if (!pressed(option)) option.remove();
  if (!field.value.trim()) showRecent();
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
