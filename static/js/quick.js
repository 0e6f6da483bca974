// Serves data-behavior="quick-add", the template of [data-quick], and in that [data-understood] and [data-problem].
// Quick add: one line at the top of a column, parsed as it is typed; each Enter creates a ticket.

import { board, merge, total } from "./cards.js";
import { send } from "./moves.js";
import { announce, marked, newKey } from "./page.js";
import { ask } from "./server.js";

// Unsent text, restored when the line is opened again.
let unsent = "";

const opened = () => document.querySelector("[data-quick]");
const headOf = (state) => board().querySelector(`[data-head="${CSS.escape(state)}"]`);

/** The line survives a reload of the board around it. */
export function watchQuickAdd() {
  let kept = null;
  let focused = null;
  document.addEventListener("htmx:beforeSwap", () => {
    kept = opened();
    focused = kept?.contains(document.activeElement) && document.activeElement;
  });
  document.addEventListener("htmx:afterSwap", () => {
    if (!kept || kept.isConnected) return;
    (headOf(kept.elements.state_id.value) ?? board().querySelector("[data-head]")).after(kept);
    if (focused) focused.focus();
  });
}

/** Open the line in a column and close any other. */
export function openQuickAdd(state) {
  const head = headOf(state);
  if (!marked("quick-add")) return;
  if (opened()) close(opened());
  const form = marked("quick-add").content.cloneNode(true).querySelector("form");
  const { title } = form.elements;
  title.value = unsent;
  form.elements.state_id.value = state;
  form.elements.idempotency_key.value = newKey();
  let typed = 0;
  title.addEventListener("input", () => {
    clearTimeout(typed);
    typed = setTimeout(() => understand(form), 200);
  });
  form.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      event.stopPropagation();
      closeQuickAdd(form);
    } else if (event.key === "Enter" && event.shiftKey) {
      event.preventDefault();
      const { project } = form.elements;
      location.assign(`/tickets/new?${new URLSearchParams({ project: project.value, state_id: state, title: title.value })}`);
    }
  });
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    add(form);
  });
  form.querySelector("[data-cancel]").addEventListener("click", () => closeQuickAdd(form));
  head.after(form);
  title.focus();
  if (unsent) understand(form);
}

function close(form) {
  unsent = form.elements.title.value;
  form.remove();
}

function closeQuickAdd(form) {
  const button = form.parentElement.querySelector("[data-add]");
  close(form);
  button.focus();
}

async function understand(form) {
  const { title, project } = form.elements;
  const asked = title.value;
  let text = "";
  if (/[!@#^:/]/.test(asked)) {
    ({ text } = await ask(`/tickets/quick?${new URLSearchParams({ project: project.value, title: asked })}`, null, true));
  }
  if (title.value === asked) form.querySelector("[data-understood]").innerHTML = text;
}

/** Create the ticket and keep the line open for the next one. */
async function add(form) {
  if (form.dataset.sending) return;
  form.dataset.sending = "yes";
  const { title, state_id: state, idempotency_key: key } = form.elements;
  const problem = form.querySelector("[data-problem]");
  const sent = title.value;
  const { status, text } = await send("/tickets/quick", new FormData(form));
  problem.hidden = status !== 422;
  if (status === 201) {
    total(state.value, 1);
    merge(text);
    const ref = text.match(/data-ref="([^"]+)"/)[1];
    const card = board().querySelector(`[data-ref="${ref}"]`);
    card?.scrollIntoView({ block: "nearest" });
    announce(`${ref} created in ${card?.closest("[data-cell]").dataset.name ?? "the project"}`);
    if (title.value === sent) title.value = "";
    form.querySelector("[data-understood]").textContent = "";
    key.value = newKey();
  } else if (status === 422) {
    problem.textContent = text;
  } else {
    merge(text);
  }
  title.focus();
  // Not earlier: a second Enter would send it again and show its card twice.
  delete form.dataset.sending;
}
