// Serves [data-find-option] with [data-options] and [data-item]: the box in a menu of options that leaves only those that hold what is typed.

import { marked } from "./page.js";
import { watchSteps } from "./steps.js";

document.addEventListener("toggle", ({ target }) => {
  if (target.open) target.querySelector("[data-find-option]")?.focus();
}, true);
document.addEventListener("input", ({ target }) => {
  // A box that asks the server shows what the server found.
  if (!target.matches("[data-find-option]:not([hx-get])")) return;
  const typed = target.value.trim().toLowerCase();
  for (const one of options(target)) one.hidden = !one.textContent.toLowerCase().includes(typed);
});
document.addEventListener("keydown", (event) => {
  if (event.key !== "Enter" || !event.target.matches("[data-find-option]:not([hx-get])")) return;
  event.preventDefault();
  options(event.target).find((one) => !one.hidden)?.click();
});

const options = (box) => [...box.closest("[data-options]").querySelectorAll("[data-item]")];

// The log of tool calls has nothing to undo.
if (marked("steps")) watchSteps();
