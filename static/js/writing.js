// Serves [data-guarded], the form of a wiki page, with [data-save] and [data-leave].
// The editor of a wiki page: a shortcut to save, and a warning before unsaved text is left.

export function watchWriting() {
  const form = document.querySelector("form[data-guarded]");
  if (!form) return;
  guard(form);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "s" || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    form.requestSubmit(form.querySelector("[data-save]"));
  });
}

/** Warn before the page is left with unsaved text. A draft is kept in any case. */
function guard(form) {
  let leaving = false;
  const first = new Map([...form.elements].map((field) => [field, field.defaultValue]));
  const isDirty = () =>
    "dirty" in form.dataset || [...first].some(([field, value]) => field.type !== "hidden" && field.value !== value);
  window.addEventListener("beforeunload", (event) => {
    if (!leaving && isDirty()) event.preventDefault();
  });
  form.addEventListener("submit", () => (leaving = true));
  document.addEventListener("submit", (event) => {
    if (event.target.getAttribute("action") === "/logout") leaving = true;
  });
  window.addEventListener("pageshow", () => (leaving = false));
  // Cancel means to discard: no warning, and the draft is deleted.
  form.addEventListener("click", (event) => {
    if (!event.target.closest("[data-leave]")) return;
    if (isDirty() && !confirm("Leave without saving? Your changes will be lost.")) {
      event.preventDefault();
      return;
    }
    leaving = true;
    for (const area of form.querySelectorAll("[data-draft]")) sessionStorage.removeItem(area.dataset.draft);
  });
}
