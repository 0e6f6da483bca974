// Serves no element of its own.
// Putting text into a field as if it had been typed.

/** Replace a stretch of the text such that Ctrl+Z takes it back, and say that it changed. */
export function insert(area, text, from, to) {
  area.focus();
  area.setSelectionRange(from, to);
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, from, to, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
