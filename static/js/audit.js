// Serves [data-find-option] with [data-options] and [data-item]: the search box that narrows a menu of options.

import { marked } from "./page.js";
import { watchSteps } from "./steps.js";

document.addEventListener("toggle", ({ target }) => {
  if (target.open) target.querySelector("[data-find-option]")?.focus();
}, true);
document.addEventListener("input", ({ target }) => {
  // A box with hx-get searches on the server instead.
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

// The page of tool calls has no undo.
if (marked("steps")) watchSteps();
