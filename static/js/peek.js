// Serves data-behavior="peek" and, in it, [data-peek].
// The panel that shows a ticket beside its board or list; on a phone it fills the screen.

import { singleKeys } from "./keys.js";
import { keepLines, lines, linkTo, referenceOf } from "./lines.js";
import { announce, marked, toast } from "./page.js";
import { ask } from "./server.js";

const NARROW = "(max-width: 760px)";
// Keys that act on the card or row while the panel is open.
const PASSED_ON = ["m", "a", "i", "l", "p", "x"];

// The ticket in the panel, its card or row, and the address of the list.
let shown = null;
let isGoingBack = false;

const holderOf = (link) => link.closest("li, tr");

function watchPeek() {
  const panel = marked("peek");
  document.addEventListener("docket:peek", (event) => open(event.target));
  panel.addEventListener("click", (event) => {
    const button = event.target.closest("[data-peek]");
    if (button) step(Number(button.dataset.peek));
    else if (event.target.closest("a")) keepLines();
  });
  panel.addEventListener("keydown", onKey);
  panel.addEventListener("close", onClose);
  addEventListener("popstate", onHistory, true);
  // Live updates replace cards and rows.
  new MutationObserver(follow).observe(document.querySelector("main"), { childList: true, subtree: true });
}

function open(link) {
  if (isGoingBack) return;
  const state = { peek: referenceOf(link) };
  if (shown || history.state?.peek) history.replaceState(state, "");
  else history.pushState(state, "");
  show(link);
}

async function show(link) {
  const panel = marked("peek");
  const reference = referenceOf(link);
  const isNew = shown?.reference !== reference;
  shown?.holder.removeAttribute("data-peeked");
  shown = { reference, holder: holderOf(link), address: location.href };
  shown.holder.setAttribute("data-peeked", "");
  link.scrollIntoView({ block: "nearest", inline: "nearest" });
  const { status, text } = await ask(`/tickets/${reference}/peek`);
  // Meanwhile the user may have opened another ticket or closed the panel.
  if (shown?.reference !== reference) return;
  if (!status) toast("No connection.", "error");
  if (status !== 200) {
    marked("toasts").insertAdjacentHTML("beforeend", text);
    return panel.open ? panel.close() : onClose();
  }
  const had = panel.contains(document.activeElement);
  panel.innerHTML = text;
  for (const button of panel.querySelectorAll("[data-peek]")) button.disabled = !beside(Number(button.dataset.peek));
  if (!panel.open) {
    if (matchMedia(NARROW).matches) panel.showModal();
    else panel.show();
    document.documentElement.classList.add("peeking");
    linkTo(reference)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }
  if (isNew) panel.scrollTop = 0;
  if (isNew || had) panel.focus();
}

/** The link before or after the shown ticket in its line. */
function beside(by) {
  const line = lines().find((one) => one.some((link) => referenceOf(link) === shown.reference)) ?? [];
  return line[line.findIndex((link) => referenceOf(link) === shown.reference) + by];
}

function step(by) {
  const link = beside(by);
  if (link) open(link);
  else announce(by < 0 ? "First ticket" : "Last ticket");
}

function onKey(event) {
  const { key, target } = event;
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const by = singleKeys() && { j: 1, k: -1 }[key];
  const isControl = target.closest("a, button, summary, [tabindex='0']");
  if (key === "Escape" || (key === " " && !isControl)) marked("peek").close();
  else if (by) step(by);
  else if (key === "Enter" && !isControl) {
    keepLines();
    location.assign(`/tickets/${shown.reference}`);
  } else if (singleKeys() && PASSED_ON.includes(key)) {
    linkTo(shown.reference)?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  } else return;
  event.preventDefault();
  // Escape closes one thing at a time.
  event.stopPropagation();
}

function onClose() {
  const link = linkTo(shown.reference);
  const { activeElement } = document;
  shown.holder.removeAttribute("data-peeked");
  document.querySelector("[data-peeked]")?.removeAttribute("data-peeked");
  document.documentElement.classList.remove("peeking");
  shown = null;
  if (activeElement === document.body || marked("peek").contains(activeElement)) link?.focus();
  isGoingBack = Boolean(history.state?.peek);
  if (isGoingBack) history.back();
}

/** Back closes the panel, on the same list. History entries of other scripts are left alone. */
function onHistory(event) {
  const panel = marked("peek");
  const link = event.state?.peek && linkTo(event.state.peek);
  const stays = isGoingBack || link || shown?.address === location.href;
  isGoingBack = false;
  if (stays) event.stopImmediatePropagation();
  if (link) show(link);
  else if (panel.open) panel.close();
}

/** When the card or row of the shown ticket was replaced, reload the panel. */
function follow() {
  const link = shown && linkTo(shown.reference);
  if (!link || holderOf(link) === shown.holder) return;
  show(link);
}

watchPeek();
