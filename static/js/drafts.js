// Serves [data-draft], a text field with drafts, and data-behavior="drafts" and data-behavior="draft", the list of drafts.
// Drafts of unsent text: saved, restored and listed.

import { announce, isLedHere, marked, timeText, toast, uploads, waiting } from "./page.js";

// A draft stays in this tab until it is sent, discarded, or the user logs out.

const KEPT_AFTER = 500;
// Single-line fields of the same form, such as a title.
const LINES = "input[name]:not([type=hidden], [type=checkbox], [type=radio], [type=file])";

export function watchDrafts() {
  changeHands();
  settleDrafts();
  // htmx is ready by then and notices the restored text.
  document.addEventListener("DOMContentLoaded", () => restoreDrafts(document));
  listDrafts();
  let timer = 0;
  let typed = null;
  document.addEventListener("input", ({ target }) => {
    const area = target.matches(LINES) ? draftsOf(target.form)[0] : target;
    if (!area?.matches("[data-draft]")) return;
    clearTimeout(timer);
    typed = area;
    timer = setTimeout(() => {
      keep(area);
      typed = null;
    }, KEPT_AFTER);
  });
  // Leaving or reloading the page saves the last keystrokes too.
  addEventListener("pagehide", () => typed?.isConnected && keep(typed));
  document.addEventListener("submit", ({ target }) => {
    clearTimeout(timer);
    typed = null;
    for (const area of draftsOf(target)) keep(area, !target.hasAttribute("hx-post"));
  });
  // This runs before a fresh form is swapped in, which would restore the draft. The response may also redirect.
  for (const name of ["htmx:beforeSwap", "htmx:afterRequest"]) {
    document.addEventListener(name, ({ detail: { xhr, requestConfig } }) => {
      const saved = xhr.status >= 200 && xhr.status < 300;
      if (saved && requestConfig?.verb === "post") draftsOf(requestConfig.elt).forEach(forget);
    });
  }
  document.addEventListener("click", ({ target }) => {
    const cancel = target.closest("[data-cancel]");
    if (cancel) clearTimeout(timer);
    if (cancel && typed) keep(typed);
    if (cancel || target.closest("[data-leave]")) typed = null;
    draftsOf(cancel?.closest("form")).forEach(setAside);
  });
  document.addEventListener("htmx:load", (event) => restoreDrafts(event.detail.elt));
}

const draftsOf = (within) => [...(within?.querySelectorAll("[data-draft]") ?? [])];
const forget = (area) => sessionStorage.removeItem(area.dataset.draft);

/** Save a draft of a text and the edited lines beside it. One that is `sent` is deleted once a page confirms its arrival. */
function keep(area, sent) {
  // A form that comes back with an error has earlier edits as its default values.
  const earlier = new Map(JSON.parse(sessionStorage.getItem(area.dataset.draft))?.[6]);
  const isEdited = (line) => line.value !== line.defaultValue || earlier.has(line.name);
  const beside = [...area.form.querySelectorAll(LINES)].filter(isEdited);
  if (area.value.trim() === "" && beside.every(({ value, defaultValue }) => value === defaultValue || !value.trim())) return forget(area);
  const here = [location.pathname + location.search, document.title];
  // After a conflict the draft is based on the common ancestor of both versions.
  const { merged_from: both, seen, base, originals } = area.form.elements;
  const lines = beside.map(({ name, value }) => [name, value]);
  const marks = [...uploads].map(waiting).filter((mark) => area.value.includes(mark));
  const draft = [area.value, Date.now(), sent, ...here, (both ?? seen ?? base ?? originals)?.value, lines, marks];
  sessionStorage.setItem(area.dataset.draft, JSON.stringify(draft));
}

// The message that leads back to the editor closed last.
let offer = null;

/** When an editor closes, its text stays a draft, and a message leads back to it. */
function setAside(area) {
  const { draft: key, restored } = area.dataset;
  const found = sessionStorage.getItem(key);
  if (!found) return;
  // Text equal to the saved one is no draft, unless it was restored or merged.
  if (JSON.parse(found)[0] === area.defaultValue && !restored) return forget(area);
  const { action } = area.form;
  const target = area.form.querySelector("[data-cancel]").getAttribute("hx-target");
  offer?.remove();
  offer = toast("Your text is kept as a draft.", "", "Restore", () => {
    if (target && document.querySelector(target)) htmx.ajax("get", action, target);
    else location.assign(action);
  });
}

// Each draft: key, text, time, whether it was sent, address and title of its page, base version, single-line fields,
// placeholders of uploads.
const everyDraft = () =>
  Object.entries(sessionStorage).flatMap(([key, kept]) => (kept.startsWith("[") ? [[key, ...JSON.parse(kept)]] : []));

/** If another person logs in in this tab, the drafts of the previous one are set aside until they return. */
function changeHands() {
  const me = marked("signed-in")?.textContent;
  if (!me) return;
  const { whose = me } = sessionStorage;
  sessionStorage.whose = me;
  if (whose === me) return;
  const theirs = {};
  for (const [key, ...draft] of everyDraft()) {
    theirs[key] = JSON.stringify(draft);
    sessionStorage.removeItem(key);
  }
  const mine = JSON.parse(sessionStorage.getItem(`of ${me}`) ?? "{}");
  Object.assign(sessionStorage, mine, { [`of ${whose}`]: JSON.stringify(theirs) });
}

/**
 * A sent draft is deleted only if the server redirected from its form, which proves that it arrived.
 * Other drafts lose the placeholders of uploads, which ended with the page.
 */
function settleDrafts() {
  const isLed = isLedHere() && !marked("signed-out");
  for (const [key, text, at, sent, address, title, begun, lines, marks = []] of everyDraft()) {
    const settled = marks.reduce((all, mark) => all.replace(mark, ""), text);
    if (sent && isLed && document.referrer === location.origin + address) sessionStorage.removeItem(key);
    else sessionStorage.setItem(key, JSON.stringify([settled, at, false, address, title, begun, lines]));
  }
}

function restoreDrafts(within) {
  for (const area of draftsOf(within)) {
    const found = sessionStorage.getItem(area.dataset.draft);
    if (!found || area.dataset.restored) continue;
    area.dataset.restored = "yes";
    const [text, at, , , , begun, lines = []] = JSON.parse(found);
    const { seen, base, originals, etag } = area.form.elements;
    const fields = [[area, text], ...lines.map(([name, value]) => [area.form.querySelector(`[name="${name}"]`), value])];
    const changed = fields.filter(([field, value]) => field && value !== field.defaultValue);
    if (!changed.length) continue;
    offer?.remove();
    const version = seen ?? base ?? originals;
    const [now, tag] = [version?.value, etag?.value];
    const isOlder = Boolean(version && begun && begun !== now);
    // With the draft's base version, saving shows what others changed since.
    const put = (values, older) => {
      for (const [field, value] of values) {
        field.value = value;
        // This updates the preview. It does not bubble, so it does not count as typing.
        field.dispatchEvent(new Event("input"));
      }
      if (version) version.value = older ? begun : now;
      if (etag) etag.value = older ? '"older"' : tag;
    };
    area.after(draftNote(area, at, isOlder, () => put(changed.map(([field]) => [field, field.defaultValue]), false)));
    put(changed, isOlder);
  }
}

function draftNote(area, at, isOlder, undo) {
  const note = document.createElement("p");
  note.className = "hint";
  const time = new Date(at).toLocaleTimeString("en-GB", { hour: "2-digit", minute: "2-digit" });
  note.append(`Draft from ${time}${isOlder ? ", from before the last change" : ""} · `);
  const discard = document.createElement("button");
  discard.type = "button";
  discard.className = "button quiet tiny";
  discard.textContent = "Discard";
  discard.addEventListener("click", () => {
    undo();
    forget(area);
    note.remove();
    area.focus();
  });
  note.append(discard);
  return note;
}

/** On the profile: the drafts of this tab, where each was written, and a button to discard it. */
function listDrafts() {
  const list = marked("drafts");
  for (const [key, text, at, , address, title, , lines = []] of list ? everyDraft() : []) {
    const row = marked("draft").content.cloneNode(true).firstElementChild;
    const [link, words, time, discard] = row.querySelectorAll("a, [data-words], time, button");
    link.href = address ?? "/";
    link.textContent = title?.split(" · ")[0] ?? "Untitled";
    words.textContent = (text.trim() || lines[0]?.[1] || "").slice(0, 200);
    time.dateTime = new Date(at).toISOString();
    time.textContent = timeText(new Date(at));
    discard.addEventListener("click", () => {
      sessionStorage.removeItem(key);
      row.remove();
      announce("Draft discarded");
      list.closest("section").querySelector("h2").focus();
    });
    list.append(row);
  }
}
