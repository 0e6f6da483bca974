// Serves [data-upper], [data-suggests], [data-autosubmit] and [data-moves].
// Helpers for forms: the cursor at the end of the focused field, a project key suggested from its name, a notice when
// pasted text is cut, forms that submit themselves, rows that move by keyboard.

import { toast } from "./page.js";

export function watchForms() {
  // Typing goes on at the end of a filled-in field. A browser starts at its beginning.
  const field = document.querySelector("input[autofocus][type=text]");
  field?.setSelectionRange(field.value.length, field.value.length);
  document.addEventListener("input", (event) => {
    const field = event.target;
    // The browser cuts pasted text at the limit.
    if (event.inputType === "insertFromPaste" && field.value.length === field.maxLength) {
      toast(`Only ${field.maxLength} characters fit here.`, "error");
    }
    if (field.matches("[data-upper]")) {
      field.value = field.value.toUpperCase().replace(/[^A-Z0-9]/g, "");
      field.dataset.typed = "yes";
    }
    const target = field.dataset.suggests && document.querySelector(field.dataset.suggests);
    if (target && !target.dataset.typed) target.value = suggestKey(field.value);
  });
  // Arrow keys pass over values that are not meant, so keyboard users submit with Enter.
  let isKey = false;
  for (const name of ["keydown", "pointerdown"]) {
    document.addEventListener(name, () => (isKey = name === "keydown"), true);
  }
  document.addEventListener("change", (event) => {
    if (!isKey) event.target.closest("form[data-autosubmit]")?.requestSubmit();
  });
  document.addEventListener("keydown", (event) => {
    const way = event.altKey && { ArrowUp: "up", ArrowDown: "down" }[event.key];
    // In a select element this key opens the list.
    const row = way && event.target.localName !== "select" && event.target.closest("[data-moves]");
    if (!row) return;
    event.preventDefault();
    row.querySelector(`[name=to][value=${way}]`).click();
  });
}

/** "Mobile app" becomes MA; a single word gives its first four letters. */
function suggestKey(name) {
  const words = name.normalize("NFD").toUpperCase().match(/[A-Z0-9]+/g) ?? [];
  const key = words.length > 1 ? words.map((word) => word[0]).join("") : (words[0] ?? "").slice(0, 4);
  return key.replace(/^[0-9]+/, "").slice(0, 10);
}
