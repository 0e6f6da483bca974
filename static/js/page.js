// Serves data-behavior="menu" with [data-item], data-behavior="toasts" with [data-toast] and [data-close], data-behavior="announcements", data-behavior="header-status" and [data-copy].
// The basics of every page: menus, toasts, times, copying, failed requests, double submits.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
// In ms. After this time a plain form may be submitted again: no event tells that the user stopped the request.
const ON_ITS_WAY = 5_000;
// Created once: creating a formatter takes as long as a hundred uses.
const written = (more) => new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", ...more }).format;
const asMoment = written({ year: "numeric", hour: "2-digit", minute: "2-digit" });
const asFull = written({ year: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit" });
const asDay = written();
const asDate = written({ year: "numeric" });

/** The element with this data-behavior. */
export const marked = (behavior) => document.querySelector(`[data-behavior=${behavior}]`);

/** Whether the server redirected to this page, as it does after a form was accepted. */
export function isLedHere() {
  const [{ type, redirectCount } = {}] = performance.getEntriesByType("navigation");
  return type === "navigate" && redirectCount > 0;
}

// The uploads into text fields that have not ended, each with its field and the file's name.
export const uploads = new Set();

/** The placeholder in the text during an upload. */
export const waiting = ({ name }) => `[Uploading ${name}…]`;

/** Announce something to screen readers. */
export function announce(text) {
  marked("announcements").textContent = text;
}

/** A random key for one submission of a form. Plain http has no crypto.randomUUID. */
export function newKey() {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** Show a message, optionally with a button. An error stays until it is closed. */
export function toast(text, kind = "", action = "", act = null) {
  const made = document.createElement("div");
  made.className = `toast ${kind}`;
  made.dataset.toast = "";
  if (kind === "error") made.setAttribute("role", "alert");
  made.innerHTML = '<span></span><button type="button" class="button quiet tiny" data-close>Close</button>';
  made.firstChild.textContent = text;
  if (action) made.lastChild.before(actionButton(action, () => (made.remove(), act())));
  marked("toasts").append(made);
  return made;
}

function actionButton(words, act) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button quiet tiny";
  button.textContent = words;
  button.addEventListener("click", act);
  return button;
}

export function watchPage() {
  watchMenus();
  watchToasts();
  watchTimes();
  watchCopies();
  watchRequests();
}

function watchMenus() {
  document.addEventListener("click", (event) => {
    for (const menu of document.querySelectorAll("[data-behavior=menu][open]")) {
      if (!menu.contains(event.target) || event.target.closest("[data-item]")) menu.open = false;
    }
  });
  document.addEventListener("keydown", (event) => {
    const menu = event.target.closest?.("[data-behavior=menu][open]");
    if (!menu) return;
    if (event.key === "Escape") {
      menu.open = false;
      menu.querySelector("summary").focus();
      // Escape must not also clear the selection or close a message, whose listeners come next.
      event.stopImmediatePropagation();
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      step([...menu.querySelectorAll("[data-item]")], event.key === "ArrowDown" ? 1 : -1);
    }
  });
}

/** Move the focus within a list, wrapping at its ends. */
export function step(items, by) {
  const shown = items.filter((item) => item.offsetParent !== null);
  if (!shown.length) return;
  const at = shown.indexOf(document.activeElement);
  const next = at < 0 ? (by > 0 ? 0 : shown.length - 1) : (at + by + shown.length) % shown.length;
  shown[next].focus();
}

function watchToasts() {
  const box = marked("toasts");
  const start = (one) => {
    if (one.matches("[role=alert]")) return;
    const wait = one.querySelector("a, button:not([data-close])") ? 12_000 : 6_000;
    one.timer = setTimeout(() => one.remove(), wait);
  };
  new MutationObserver((records) => {
    for (const record of records) {
      for (const one of record.addedNodes) if (one.matches?.("[data-toast]")) start(one);
    }
  }).observe(box, { childList: true });
  for (const name of ["pointerover", "focusin"]) {
    box.addEventListener(name, (event) => clearTimeout(event.target.closest("[data-toast]")?.timer));
  }
  for (const name of ["pointerout", "focusout"]) {
    box.addEventListener(name, (event) => {
      const one = event.target.closest("[data-toast]");
      if (one && !one.contains(event.relatedTarget)) start(one);
    });
  }
  box.addEventListener("click", (event) => {
    event.target.closest("[data-close]")?.closest("[data-toast]").remove();
  });
}

function watchTimes() {
  const refresh = () => {
    for (const one of document.querySelectorAll("time[datetime]")) {
      const at = new Date(one.dateTime);
      one.textContent = timeText(at);
      one.title = asFull(at);
    }
  };
  refresh();
  setInterval(refresh, MINUTE);
  document.addEventListener("htmx:afterSettle", refresh);
}

/** The same wording as the server's filter, in local time. */
export const timeText = (at) => document.documentElement.dataset.times ? asMoment(at) : ago(at);

function ago(at) {
  const passed = Date.now() - at;
  if (passed < MINUTE) return "just now";
  if (passed < HOUR) return `${Math.floor(passed / MINUTE)} min ago`;
  if (passed < DAY) return `${Math.floor(passed / HOUR)} h ago`;
  if (passed < 2 * DAY) return "yesterday";
  if (passed < 31 * DAY) return `${Math.floor(passed / DAY)} days ago`;
  return at.getFullYear() === new Date().getFullYear() ? asDay(at) : asDate(at);
}

function watchCopies() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = button.dataset.copy || location.href;
    if (navigator.clipboard) await navigator.clipboard.writeText(text).catch(() => copyOld(text));
    else copyOld(text);
    toast("Copied");
  });
}

/** Plain http has no clipboard API; copying a selection still works. */
function copyOld(text) {
  const area = document.createElement("textarea");
  area.value = text;
  document.body.append(area);
  area.select();
  document.execCommand("copy");
  area.remove();
}

function watchRequests() {
  // The address of a filtered list names only the filters in use.
  document.addEventListener("htmx:configRequest", (event) => {
    const { verb, elt, parameters } = event.detail;
    if (verb !== "get" || !elt.closest("form[role=search]")) return;
    for (const [name, value] of [...parameters.entries?.() ?? Object.entries(parameters)]) {
      if (value === "") delete parameters[name];
    }
  });
  document.addEventListener("htmx:beforeHistoryUpdate", (event) => {
    const { history } = event.detail;
    if (history?.path) history.path = history.path.replace(/\?$/, "");
  });
  // Polling reports its own failures (polling.js) or tries again.
  const asksForNews = (event) => event.detail.elt.matches("[data-behavior=live], [data-behavior=header-status]");
  // The header that came with the response to an action is newer than a pending poll's.
  document.addEventListener("htmx:oobBeforeSwap", ({ target }) => target.matches("[data-behavior=header-status]") && htmx.trigger(target, "htmx:abort"));
  document.addEventListener("htmx:sendError", (event) => {
    if (!asksForNews(event)) toast("No connection. Nothing was saved; your text is still here.", "error");
  });
  document.addEventListener("htmx:timeout", (event) => {
    if (!asksForNews(event)) toast("The server took too long to respond. Try again.", "error");
  });
  document.addEventListener("submit", (event) => {
    const { target: form, timeStamp } = event;
    // Logging out deletes all drafts.
    if (form.getAttribute("action") === "/logout") sessionStorage.clear();
    if (form.method !== "post" || form.hasAttribute("hx-post") || event.defaultPrevented) return;
    // A double click on a plain form submits it once.
    if (timeStamp - form.dataset.sent < ON_ITS_WAY) event.preventDefault();
    else form.dataset.sent = timeStamp;
  });
}
