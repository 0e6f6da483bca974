// Serves data-behavior="offline", data-behavior="signed-in" and data-behavior="signed-out", the pages where nobody is logged in.
// The line to the server: asking it, saying when it does not answer, and logging in again in place
// where the session ended, so that what was typed is not lost and what was refused is sent again.

import { marked, toast } from "./page.js";

const TYPED = "textarea, input:not([type=hidden], [type=checkbox], [type=radio])";
// What a reader does; the rest, such as questions for news, does not call for a login by itself.
const USER_EVENTS = ["click", "submit", "change"];

let login = null;
let isOut = false;
let failed = 0;

/** Whether questions for news make sense: after a refusal they wait for the reader. */
export const isLoggedIn = () => !isOut;

/** Ask as htmx does; no connection is status 0. With `quietly` nobody is asked to log in for it. */
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

/** Say it once news failed to come twice, until they come again. */
export function connected(yes) {
  failed = yes ? 0 : failed + 1;
  const banner = marked("offline");
  if (failed === 2) {
    const now = new Date().toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
    banner.textContent = `No connection since ${now}. Your text is kept.`;
  }
  banner.hidden = failed < 2;
}

/** Say that the server could not be asked, or could not answer. */
function failing(status) {
  toast(`${status ? "The server did not respond" : "No connection"}. Nothing was saved; your text is still here.`, "error");
}

/** The login, over the page as it is; whether the reader is logged in then. */
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
      // Another answer than the form is no way to log in, and there may be one later.
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
      // The answer is a message with a way to log in; one is enough.
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
  // A form that leaves the page would take what was typed along: first look whether it can arrive.
  window.addEventListener("submit", async (event) => {
    const { target: form, submitter } = event;
    // A file to be saved: for the browser, not for htmx, and the page stays.
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
