// Serves data-behavior="dialog", [data-dialog], [data-open], [data-close-dialog] and [data-closes].
// Dialogs: those that a link opens, and those that are part of the page.

import { marked, toast } from "./page.js";
import { ask } from "./server.js";

const dialog = marked("dialog");

/** Open the form at this address as a dialog. Without scripts it is a page of its own. */
export async function openSheet(address) {
  const { status, text } = await ask(address);
  if (!status) toast("No connection.", "error");
  if (status !== 200) return marked("toasts").insertAdjacentHTML("beforeend", text);
  const body = dialog.firstElementChild;
  body.innerHTML = text;
  htmx.process(body);
  if (!dialog.open) dialog.showModal();
  const first = ["[autofocus]", "[data-start]", "input:checked", "input:not([type=hidden])", "button[data-close-dialog]"];
  first.map((one) => dialog.querySelector(one)).find(Boolean)?.focus();
}

export function closeSheet() {
  dialog.close();
}

export function watchDialogs() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-dialog]");
    if (link && !event.ctrlKey && !event.metaKey) {
      event.preventDefault();
      openSheet(link.href);
    }
    const opener = event.target.closest("[data-open]");
    if (opener) document.querySelector(opener.dataset.open).showModal();
    if (event.target.closest("[data-close-dialog]")) event.target.closest("dialog")?.close();
    if (event.target.matches("dialog")) event.target.close();
  });
  // A conflict shows a question, such as whether to undo anyway.
  document.addEventListener("htmx:afterSwap", (event) => {
    if (event.detail.xhr.status === 409 && event.detail.target === dialog.firstElementChild && !dialog.open) dialog.showModal();
  });
  // This closes the dialog before the swap, because elements below a modal dialog cannot take the focus.
  document.addEventListener("htmx:beforeSwap", (event) => {
    const { isError, xhr, requestConfig } = event.detail;
    if (!isError && xhr.status !== 422 && requestConfig.elt.matches("[data-closes]")) dialog.close();
  });
}
