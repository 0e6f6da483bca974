// Serves [data-wikilinks], [data-completes] and [data-finds].
// Completion of [[links]] in text fields, and on tickets of @names and ticket numbers, as a listbox that the
// field controls (ARIA combobox pattern).

import { announce } from "./page.js";
import { insert } from "./inserting.js";

const WAIT = 120;
// The text to complete: after the last open [[ of the line, after an @, or a ticket number.
const LINK = /\[\[([^[\]|\n]{0,80})$/;
const NAME = /(?<![\w@/.-])@([\w.-]{0,40})$/;
const WORDS = /^(.{2,80})$/;
const NUMBER = /(?<![\w/-])([A-Z][A-Z0-9]{1,9}-\d{0,6})$/;

export function watchWikilinks() {
  const watch = (within) => {
    for (const area of within.querySelectorAll("[data-wikilinks], [data-completes], [data-finds]")) complete(area);
  };
  watch(document);
  document.addEventListener("htmx:load", (event) => watch(event.detail.elt));
}

/** A field's kinds of completion: the pattern, the address to ask, and what follows an inserted value. */
function kindsOf(area) {
  const { finds } = area.dataset;
  if (finds) return [{ typed: WORDS, address: `/tickets/complete?project=${finds}&q=`, end: "", whole: true }];
  const key = area.dataset.completes;
  const base = area.dataset.wikilinks ?? `/projects/${key}/wiki/complete`;
  const kinds = [{ typed: LINK, address: `${base}?q=`, end: "]]", whole: false }];
  if (key) {
    kinds.push({ typed: NAME, address: `/tickets/complete?project=${key}&of=people&q=`, end: " ", whole: true });
    kinds.push({ typed: NUMBER, address: `/tickets/complete?project=${key}&q=`, end: " ", whole: true });
  }
  return kinds;
}

function complete(area) {
  if (area.dataset.watched) return;
  area.dataset.watched = "yes";
  const kinds = kindsOf(area);
  const list = document.createElement("ul");
  list.className = "completions";
  list.id = `${area.id}-completions`;
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Pages and tickets");
  list.hidden = true;
  area.after(list);
  area.setAttribute("aria-autocomplete", "list");
  area.setAttribute("aria-controls", list.id);
  let timer = 0;
  let asked = 0;
  let at = 0;

  const typed = () => {
    if (area.selectionStart !== area.selectionEnd) return null;
    const before = area.value.slice(Math.max(0, area.selectionStart - 100), area.selectionStart);
    for (const kind of kinds) {
      const found = kind.typed.exec(before);
      if (found) return { ...kind, whole: kind.whole ? found[0] : found[1], text: found[1] };
    }
    return null;
  };
  const close = () => {
    clearTimeout(timer);
    asked += 1;
    list.hidden = true;
    area.removeAttribute("aria-activedescendant");
  };

  function choose(index) {
    at = (index + list.children.length) % list.children.length;
    [...list.children].forEach((one, place) => one.setAttribute("aria-selected", String(place === at)));
    area.setAttribute("aria-activedescendant", list.children[at].id);
  }

  async function ask() {
    const found = typed();
    if (!found) return close();
    const mine = (asked += 1);
    const answer = await fetch(found.address + encodeURIComponent(found.text)).catch(() => null);
    if (!answer?.ok || mine !== asked || !typed()) return;
    const rows = await answer.json();
    // A complete name, whatever its case, needs no list, so Enter stays Enter.
    if (mine !== asked) return;
    const whole = found.whole.toLowerCase();
    if (found.end !== "]]" && rows.some((row) => row.insert.toLowerCase() === whole)) return close();
    list.replaceChildren(...rows.map((row, index) => option(list.id, row, index)));
    list.hidden = rows.length === 0;
    if (!rows.length) return close();
    place(area, list);
    choose(0);
    announce(`${rows.length} ${rows.length === 1 ? "suggestion" : "suggestions"}`);
  }

  function take(one) {
    const found = typed();
    close();
    if (!found) return;
    const caret = area.selectionStart;
    const closed = found.end !== "" && area.value.startsWith(found.end, caret);
    insert(area, one.dataset.insert + (closed ? "" : found.end), caret - found.whole.length, caret);
    if (closed) area.setSelectionRange(area.selectionStart + found.end.length, area.selectionStart + found.end.length);
    close();
  }

  area.addEventListener("input", () => {
    clearTimeout(timer);
    if (typed()) timer = setTimeout(ask, WAIT);
    else close();
  });
  area.addEventListener("keydown", (event) => {
    if (list.hidden || event.isComposing) return;
    if (event.key === "ArrowDown") choose(at + 1);
    else if (event.key === "ArrowUp") choose(at - 1);
    else if (event.key === "Enter" || event.key === "Tab") take(list.children[at]);
    else if (event.key === "Escape") close();
    else return;
    event.preventDefault();
    event.stopPropagation();
  });
  area.addEventListener("click", () => (typed() ? ask() : close()));
  area.addEventListener("blur", close);
  // A press would move the focus out of the field before the click arrives.
  list.addEventListener("pointerdown", (event) => event.preventDefault());
  list.addEventListener("click", (event) => {
    const one = event.target.closest("[data-insert]");
    if (one) take(one);
  });
}

function option(id, row, index) {
  const one = document.createElement("li");
  one.id = `${id}-${index}`;
  one.setAttribute("role", "option");
  one.setAttribute("aria-selected", "false");
  one.dataset.insert = row.insert;
  const title = document.createElement("span");
  title.className = "title";
  title.textContent = row.title;
  const name = document.createElement("span");
  name.className = "mono";
  name.textContent = row.insert.replace("ticket:", "") + (row.note && row.note !== "ticket" ? ` · ${row.note}` : "");
  one.append(title, name);
  return one;
}

/** Place the list below the caret, whose position comes from a copy of the text before it. */
function place(area, list) {
  const copy = document.createElement("div");
  const look = getComputedStyle(area);
  for (const name of ["font", "letterSpacing", "lineHeight", "padding", "border", "width", "boxSizing", "tabSize"]) {
    copy.style[name] = look[name];
  }
  Object.assign(copy.style, { position: "absolute", visibility: "hidden", whiteSpace: "pre-wrap", overflowWrap: "anywhere" });
  copy.textContent = area.value.slice(0, area.selectionStart);
  const caret = document.createElement("span");
  caret.textContent = "\u200b";
  copy.append(caret);
  area.parentElement.append(copy);
  const top = caret.offsetTop + caret.offsetHeight - area.scrollTop;
  list.style.top = `${Math.max(0, Math.min(top + 4, area.offsetHeight))}px`;
  list.style.left = `${Math.max(0, Math.min(caret.offsetLeft, area.offsetWidth - list.offsetWidth))}px`;
  copy.remove();
}
