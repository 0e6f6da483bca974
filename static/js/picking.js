// Serves [data-picker], a popover, [data-options] with [data-option], [data-narrow] and [data-create].
// Pickers: arrow keys move between options, typing narrows them, a click elsewhere closes them.

import { step } from "./page.js";

const OPTION = "button[data-option], [data-option] input";
const NUMBER = /^[a-z][a-z0-9]*-\d+$/i;

const shown = (form) => [...form.querySelectorAll(OPTION)].filter((one) => one.offsetParent !== null);

export function watchPicking() {
  document.addEventListener("keydown", onKey);
  document.addEventListener("input", ({ target }) => target.matches("[data-narrow]") && narrow(target));
  // In the capture phase, so that a click on the button that opened the picker closes it.
  document.addEventListener("click", onClick, true);
}

function onKey(event) {
  const form = event.target.closest?.("form:has([data-options])");
  if (!form || event.ctrlKey || event.metaKey || event.altKey || event.isComposing) return;
  const field = form.querySelector("[data-narrow]");
  const by = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (by && !event.target.matches("select, textarea, [type=date]")) {
    event.preventDefault();
    step([...form.querySelectorAll(OPTION)], by);
  } else if (event.key === "Enter" && event.target === field) {
    event.preventDefault();
    take(form, field);
  } else if (event.key === "Enter" && event.target.matches("input")) {
    // By default, Enter would click the form's first button, which is an option.
    event.preventDefault();
    form.requestSubmit();
  } else if (field && event.key.length === 1 && event.key !== " " && event.target.closest("[data-options], [autofocus]")) {
    // The typed character goes into the field, also from the message of a refusal, which has the focus.
    field.focus();
  }
}

/** Enter in the field takes the first visible option, or else the typed text. */
function take(form, field) {
  const [first] = shown(form);
  const create = form.querySelector("[data-create]:not([hidden])");
  const boxes = form.querySelector("[data-option] input");
  const typed = field.name && NUMBER.test(field.value.trim());
  if (!field.value.trim()) {
    if (boxes) form.requestSubmit();
    else if (form.matches("[data-picker]")) form.querySelector("[data-cancel]").click();
    else form.closest("dialog")?.close();
  } else if (first && !typed) {
    first.click();
    if (!boxes) return;
    field.value = "";
    narrow(field);
  } else if (create) create.click();
  // Results from the server may still be on their way.
  else if (typed) form.requestSubmit();
}

/** Show only the options that match the typed text, and offer to create one if none has that name. */
function narrow(field) {
  const typed = field.value.trim();
  const wanted = typed.toLowerCase();
  let same = false;
  for (const one of field.form.querySelectorAll("[data-option]")) {
    const text = one.textContent.trim().toLowerCase();
    same ||= text === wanted;
    one.hidden = !text.includes(wanted);
  }
  const create = field.form.querySelector("[data-create]");
  if (!create) return;
  create.hidden = !typed || same;
  create.value = typed;
  create.textContent = `Create label "${typed}"`;
}

function onClick(event) {
  const form = document.querySelector("[data-picker]");
  if (!form || form.contains(event.target)) return;
  if (event.target.closest("[data-edit]")?.parentElement === form.parentElement) {
    event.preventDefault();
    event.stopPropagation();
  }
  const changed = [...form.querySelectorAll("[data-option] input")].some((one) => one.checked !== one.defaultChecked);
  if (changed) form.requestSubmit();
  else form.querySelector("[data-cancel]").click();
}
