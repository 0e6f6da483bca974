// Serves [data-wikilinks], [data-completes] and [data-finds].
// Completion in a text field of [[links]], and on tickets of @names and the numbers of tickets: a list
// box that the field owns (ARIA combobox pattern).

import { announce } from "./page.js";
import { insert } from "./inserting.js";

const WAIT = 120;
// What is being typed: everything behind the last [[ of the line that is not closed; a name; a number.
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

/** The kinds of completion of a field: what is typed, where to ask, what ends what is put in. */
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
    // What is written out in full, in capitals or not, needs no list, and Enter is Enter.
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
  // The press would take the focus from the field before the click comes.
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

/** Put the list below the line of the caret: a copy of the text up to there shows where that is. */
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
