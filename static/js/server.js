// Serves data-behavior="offline", data-behavior="signed-in" and data-behavior="signed-out", the pages for logged-out users.
// Requests to the server, notices when it does not answer, and a login dialog when the session has ended,
// so that no text is lost and the refused request is sent again.

import { marked, toast } from "./page.js";

const TYPED = "textarea, input:not([type=hidden], [type=checkbox], [type=radio])";
// Events by the user. Other requests, such as polls, never open the login dialog.
const USER_EVENTS = ["click", "submit", "change"];

let login = null;
let isOut = false;
let failed = 0;

/** Whether polling makes sense: after a 401 it waits for the user. */
export const isLoggedIn = () => !isOut;

/** Send a request as htmx does. Status 0 means no connection. `quietly` never opens the login dialog. */
export async function ask(address, form, quietly) {
  const options = { headers: { "HX-Request": "true", "X-Requested-By": "web" }, signal: AbortSignal.timeout(15_000) };
  if (form) Object.assign(options, { method: "POST", body: new URLSearchParams(form) });
  const answer = await fetch(address, options).catch(() => null);
  const text = answer ? await answer.text().catch(() => null) : null;
  if (text === null) return { status: 0, text: "" };
  const { status } = answer;
  if (address !== "/login") isOut = status === 401;
  if (status === 401 && !quietly && (await logIn())) return ask(address, form);
  return { status, text };
}

/** Show the notice after two failed polls, until one succeeds. */
export function connected(yes) {
  failed = yes ? 0 : failed + 1;
  const banner = marked("offline");
  if (failed === 2) {
    const now = new Date().toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    banner.textContent = `No connection since ${now}. Your text is kept.`;
  }
  banner.hidden = failed < 2;
}

/** Say that the server could not be reached or did not answer. */
function failing(status) {
  toast(`${status ? "The server did not respond" : "No connection"}. Nothing was saved; your text is still here.`, "error");
}

/** Open the login dialog over the page. Resolves to whether the user has logged in. */
function logIn() {
  login ??= new Promise((done) => {
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-labelledby", "again-title");
    const end = () => {
      dialog.remove();
      login = null;
      done(!isOut);
    };
    const show = async (form) => {
      const { status, text } = await ask("/login", form, true);
      if (status === 204) {
        isOut = false;
        document.querySelector("[data-toast] [href='/login']")?.closest("[data-toast]").remove();
        return dialog.open ? dialog.close() : end();
      }
      // A response without the login form cannot be used; the next attempt may get one.
      if (!text.includes("again-title")) return failing(status), dialog.open || end();
      dialog.innerHTML = text;
      const { username, password, code } = dialog.querySelector("form").elements;
      if (username) username.value ||= marked("signed-in")?.textContent;
      if (!dialog.open) dialog.showModal();
      (code ?? password)?.focus();
    };
    dialog.addEventListener("close", end);
    dialog.addEventListener("submit", (event) => {
      event.preventDefault();
      event.stopPropagation();
      show(new FormData(event.target));
    });
    document.body.append(dialog);
    show();
  });
  return login;
}

export function watchSession() {
  document.addEventListener("htmx:beforeSwap", async (event) => {
    const { xhr, requestConfig } = event.detail;
    if (xhr.status !== 401) return;
    const { elt, verb, path, target, formData, triggeringEvent } = requestConfig;
    const told = isOut;
    isOut = true;
    if (!USER_EVENTS.includes(triggeringEvent?.type)) {
      // The response is a message that asks to log in; one is enough.
      event.detail.shouldSwap = !told;
      return;
    }
    event.detail.shouldSwap = false;
    if (await logIn()) htmx.ajax(verb, path, { source: elt, target, event: triggeringEvent, values: formData });
  });
  document.addEventListener("click", (event) => {
    if (!event.target.closest("[data-toast] [href='/login']")) return;
    event.preventDefault();
    logIn();
  });
  // A plain form navigates away and could lose its text, so first check connection and session.
  window.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    // A download is the browser's business, not htmx's, and the page stays.
    if (submitter?.hasAttribute("formaction")) return event.stopImmediatePropagation();
    if (form.sure || form.method !== "post" || form.matches("[hx-post], [data-quick], [action='/login'], [data-behavior=signed-out] *")) return;
    if (![...form.querySelectorAll(TYPED)].some((field) => field.value !== field.defaultValue)) return;
    event.preventDefault();
    event.stopImmediatePropagation();
    const { status } = await ask("/login", null, true);
    if (!status || status >= 500) return failing(status);
    if (status === 200 && !(await logIn())) return;
    form.sure = true;
    form.requestSubmit(submitter);
    form.sure = false;
  }, true);
}
