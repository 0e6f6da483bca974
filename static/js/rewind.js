// Serves data-behavior="rewind" with [data-step], [data-progress] and [data-said]: a rewind in steps of one request
// each, which the user can stop and continue.

import { marked } from "./page.js";
import { ask } from "./server.js";

const ADDRESS = "/rewind/step";
const counted = (number) => number.toLocaleString("en-GB");

let isEnding = false;
// The results so far.
const sums = { events: 0, back: 0, kept: 0 };

function watchRewind() {
  marked("rewind")?.addEventListener("submit", (event) => {
    event.preventDefault();
    run();
  });
  marked("rewind")?.addEventListener("click", ({ target }) => {
    if (target.dataset.step !== "stop") return;
    isEnding = true;
    target.disabled = true;
    report("Stopping…");
  });
}

/** Run steps until the end, an error, or a stop by the user. */
async function run() {
  const form = marked("rewind");
  let problem = "";
  let isDone = false;
  isEnding = false;
  show(true);
  while (!isDone && !problem && !isEnding) {
    const { status, text } = await ask(ADDRESS, new FormData(form));
    if (status === 200) isDone = add(form, JSON.parse(text));
    else problem = status === 422 ? JSON.parse(text).problem : status ? "The server did not respond." : "No connection.";
    if (!isEnding) report(`${counted(sums.events)} of ${counted(total())} changes…`);
  }
  // The page lists the values that were kept.
  if (isDone) return location.reload();
  show(false);
  report(`${problem || "Stopped."} ${counted(sums.back)} reverted, ${counted(sums.kept)} kept.`);
}

const total = () => Math.max(Number(marked("rewind").dataset.total), sums.events);

/** Add the result of a step. Returns whether it was the last. */
function add(form, { beyond, ...step }) {
  for (const name of Object.keys(sums)) sums[name] += step[name];
  form.elements.beyond.value = beyond ?? "";
  Object.assign(form.querySelector("progress"), { max: total(), value: sums.events });
  return beyond === null;
}

function show(isRunning) {
  const form = marked("rewind");
  form.querySelector("[data-progress]").hidden = false;
  for (const button of form.querySelectorAll("[data-step]")) {
    button.hidden = (button.dataset.step === "go") === isRunning;
    button.disabled = false;
    if (button.dataset.step === "go") button.textContent = "Continue";
  }
  form.querySelector(`[data-step=${isRunning ? "stop" : "go"}]`).focus();
}

function report(text) {
  marked("rewind").querySelector("[data-said]").textContent = text;
}

watchRewind();
