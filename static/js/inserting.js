// Serves no element of its own.
// Inserting text into a field as if it had been typed.

/** Replace a range of the text so that Ctrl+Z undoes it, and fire an input event. */
export function insert(area, text, from, to) {
  area.focus();
  area.setSelectionRange(from, to);
  if (!document.execCommand("insertText", false, text)) {
    area.setRangeText(text, from, to, "end");
    area.dispatchEvent(new Event("input", { bubbles: true }));
  }
}
