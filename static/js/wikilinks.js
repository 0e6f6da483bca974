// Completion of [[links]] in a text field: a list box that the field owns (ARIA combobox pattern).

import { speak } from "./page.js";
import { insert } from "./writing.js";

const WAIT = 120;
// What is being typed: everything behind the last [[ of the line that is not closed.
const TYPED = /\[\[([^[\]|\n]{0,80})$/;

export function watchWikilinks() {
  for (const area of document.querySelectorAll("[data-wikilinks]")) complete(area);
}

function complete(area) {
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

  const typed = () => (area.selectionStart === area.selectionEnd ? TYPED.exec(area.value.slice(Math.max(0, area.selectionStart - 100), area.selectionStart)) : null);
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
    const answer = await fetch(`${area.dataset.wikilinks}?q=${encodeURIComponent(found[1])}`).catch(() => null);
    if (!answer?.ok || mine !== asked || !typed()) return;
    const rows = await answer.json();
    if (mine !== asked) return;
    list.replaceChildren(...rows.map((row, index) => option(list.id, row, index)));
    list.hidden = rows.length === 0;
    if (!rows.length) return close();
    place(area, list);
    choose(0);
    speak(`${rows.length} ${rows.length === 1 ? "suggestion" : "suggestions"}`);
  }

  function take(one) {
    const found = typed();
    close();
    if (!found) return;
    const end = area.selectionStart;
    const closed = area.value.startsWith("]]", end);
    insert(area, one.dataset.insert + (closed ? "" : "]]"), end - found[1].length, end);
    if (closed) area.setSelectionRange(area.selectionStart + 2, area.selectionStart + 2);
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
