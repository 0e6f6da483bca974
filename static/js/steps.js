// Serves data-behavior="steps" with [data-step] and [data-said], [data-steps], a form that is sent in steps, and
// [data-undo-request], a form that undoes all of a request.
// A bulk change too large for one request: it runs in steps, which the user can stop, continue and undo.

import { bar } from "./choosing.js";
import { closeSheet } from "./dialogs.js";
import { marked, newKey } from "./page.js";
import { ask } from "./server.js";

// The most tickets that one request changes.
const MAX_TICKETS = 500;
const ADDRESS = "/tickets/bulk/step";
const written = (number) => number.toLocaleString("en-GB");

// The address and the values of each step, the number of matches (null: too many to count), and the results so far.
let run = null;
let isRunning = false;
let isStopping = false;

export function watchSteps() {
  // In the capture phase, before htmx sends the form as a whole.
  document.addEventListener("submit", onSubmit, true);
  marked("steps").addEventListener("click", ({ target }) => {
    const { step } = target.dataset;
    if (step === "go") walk();
    else if (step === "undo") takeBack(`/audit/requests/${run.request}/undo`);
    else if (step === "close") marked("steps").hidden = true;
    else if (step === "stop") {
      isStopping = true;
      target.disabled = true;
      say("Stopping…");
    }
  });
}

function onSubmit(event) {
  const { target: form, submitter } = event;
  if (form.matches("[data-undo-request]")) {
    event.preventDefault();
    form.closest("[data-toast]")?.remove();
    return takeBack(form.getAttribute("action"));
  }
  const isAll = form === bar() && form.elements.all.value === "yes" && submitter?.value !== "delete";
  const count = form.dataset.steps ?? (isAll && form.dataset.count);
  if (!count || (numberOf(count) ?? Infinity) <= MAX_TICKETS) return;
  event.preventDefault();
  event.stopPropagation();
  if (form.closest("dialog")) closeSheet();
  if (isRunning) return marked("steps").focus();
  const sent = new URLSearchParams(new FormData(form, submitter));
  sent.delete("id");
  const verb = { delete: "deleted", top: "moved", bottom: "moved" }[sent.get("action")] ?? "changed";
  // The selection has been sent.
  document.body.dispatchEvent(new CustomEvent("docket:changed", { bubbles: true }));
  begin({ address: ADDRESS, sent, total: numberOf(count), verb });
}

/** Undo the steps of a change, last one first. */
function takeBack(address) {
  if (isRunning) return marked("steps").focus();
  begin({ address: `${address}/step`, sent: new URLSearchParams(), total: null, verb: "undone", isUndo: true });
}

function begin(change) {
  run = { ...change, changed: 0, skipped: 0, reasons: {} };
  run.sent.set("idempotency_key", newKey());
  walk();
  marked("steps").focus();
}

/** "1,234" is a number, "10,000+" is not. */
const numberOf = (text) => (text.endsWith("+") ? null : Number(text.replaceAll(",", "")));

/** Run steps until the end, an error, or a stop by the user. */
async function walk() {
  isRunning = true;
  isStopping = false;
  show();
  let problem = "";
  let isDone = false;
  while (!isDone && !problem && !isStopping) {
    const { status, text } = await ask(run.address, run.sent);
    if (status === 200) isDone = add(JSON.parse(text));
    else problem = status === 422 ? JSON.parse(text).problem : status ? "The server did not respond." : "No connection.";
    if (!isStopping) show();
  }
  isRunning = false;
  document.body.dispatchEvent(new CustomEvent("docket:changed", { bubbles: true }));
  show(isDone ? "Done." : problem || "Stopped.", isDone);
}

/** Add the result of a step. Returns whether it was the last. */
function add({ changed, skipped, next, beside, total, ...joined }) {
  run.changed += changed;
  run.request = joined.request_id;
  if (total) run.total = total;
  for (const [why, count] of Object.entries(skipped)) {
    run.skipped += count;
    run.reasons[why] = (run.reasons[why] ?? 0) + count;
  }
  run.sent.set("next", next ?? "");
  run.sent.set("beside", beside ?? "");
  run.sent.set("run", joined.run);
  // A repeated step keeps its key, as perhaps only its response was lost; an answered one gives it up.
  run.sent.set("idempotency_key", newKey());
  return next === null;
}

/** Show the progress; without `end` the run goes on. */
function show(end, isDone) {
  const panel = marked("steps");
  const gauge = panel.querySelector("progress");
  const past = run.changed + run.skipped;
  panel.hidden = false;
  if (run.total === null && !isDone) gauge.removeAttribute("value");
  else Object.assign(gauge, { max: isDone ? 1 : Math.max(run.total, past), value: isDone ? 1 : past });
  gauge.hidden = Boolean(end) && !isDone && run.total === null;
  for (const button of panel.querySelectorAll("[data-step]")) {
    const isLeft = !end || run.isUndo || !run.changed;
    button.hidden = { stop: Boolean(end), go: !end || isDone, undo: isLeft, close: !end }[button.dataset.step];
    button.disabled = false;
    if (button.dataset.step === "undo") button.textContent = `Undo all ${written(run.changed)}`;
  }
  const why = Object.entries(run.reasons).map(([one, count]) => `${one.replace(/\.$/, "")}: ${written(count)}`);
  const sum = `${written(run.changed)} ${run.verb}${run.skipped ? `, ${written(run.skipped)} skipped (${why.slice(0, 3).join("; ")})` : ""}.`;
  say(end ? `${end} ${sum}` : `${written(past)}${run.total === null ? "" : ` of ${written(run.total)}`} ${run.isUndo ? "changes" : "tickets"}…`);
}

function say(text) {
  marked("steps").querySelector("[data-said]").textContent = text;
}
