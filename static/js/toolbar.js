// Serves [data-tools], the Markdown toolbar of a text field, with [data-mark], [data-lines] and [data-letter].
// Puts marks around the selection or before its lines, by button or shortcut. A second time removes them.

import { insert } from "./inserting.js";
import { step } from "./page.js";

// The prefix of a list item.
const ITEM = /^(- (\[[ x]\] )?)?/;

export function watchTools() {
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-mark], [data-lines]");
    if (button) use(button);
  });
  // In the capture phase, before the palette handles Ctrl+K.
  addEventListener("keydown", onKey, true);
}

function onKey(event) {
  const { target, key } = event;
  const tools = target.closest?.("[data-tools]");
  if (tools && ["ArrowLeft", "ArrowRight"].includes(key)) step([...tools.children], key === "ArrowRight" ? 1 : -1);
  else {
    if (!(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey || target.tagName !== "TEXTAREA") return;
    const own = document.querySelector(`[data-tools][aria-controls="${target.id}"]`);
    const button = [...(own?.children ?? [])].find((one) => one.dataset.letter === key.toLowerCase());
    if (!button) return;
    event.stopPropagation();
    use(button);
  }
  event.preventDefault();
}

function use(button) {
  const area = document.getElementById(button.closest("[data-tools]").getAttribute("aria-controls"));
  const { mark, lines } = button.dataset;
  if (lines) prefix(area, lines);
  else surround(area, mark);
}

/** Put a mark around the selection; `~` in the mark stands for the selected text. */
function surround(area, mark) {
  const { value, selectionStart: from, selectionEnd: to } = area;
  const chosen = value.slice(from, to);
  let [before, after] = (chosen.includes("\n") && mark === "`~`" ? "```\n~\n```" : mark).split("~");
  const start = from - before.length;
  if (start >= 0 && value.startsWith(before, start) && value.startsWith(after, to)) {
    insert(area, chosen, start, to + after.length);
    area.setSelectionRange(start, start + chosen.length);
    return;
  }
  // A block mark starts after an empty line.
  if (before.includes("\n") && from && !value.slice(0, from).endsWith("\n\n")) {
    before = (value[from - 1] === "\n" ? "\n" : "\n\n") + before;
  }
  insert(area, before + chosen + after, from, to);
  const address = chosen ? after.indexOf("url") : -1;
  const at = from + before.length + (address < 0 ? 0 : chosen.length + address);
  area.setSelectionRange(at, at + (address < 0 ? chosen.length : 3));
}

/** Add a prefix to each selected line, or remove it if all lines have it. */
function prefix(area, begun) {
  const { value, selectionStart, selectionEnd } = area;
  const from = value.lastIndexOf("\n", selectionStart - 1) + 1;
  const end = value.indexOf("\n", selectionEnd);
  const to = end < 0 ? value.length : end;
  const rows = value.slice(from, to).split("\n");
  const had = rows.every((row) => ITEM.exec(row)[0] === begun);
  const text = rows.map((row) => row.replace(ITEM, had ? "" : begun)).join("\n");
  insert(area, text, from, to);
  if (rows.length > 1) area.setSelectionRange(from, from + text.length);
}
