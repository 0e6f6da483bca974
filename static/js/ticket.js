// Serves data-behavior="subject", data-behavior="ticket-head", [data-preview], [data-write], [data-template] and [data-day].
// The entry script of pages with text fields and live updates, such as a ticket's.

import { watchFiles } from "./files.js";
import { watchMarkdown } from "./markdown.js";
import { showNeighbors } from "./neighbors.js";
import { marked, toast } from "./page.js";
import { watchPolling } from "./polling.js";
import { ask } from "./server.js";
import { watchStream } from "./stream.js";
import { watchTools } from "./toolbar.js";
import { watchWikilinks } from "./wikilinks.js";

watchPolling();
watchStream();
watchMarkdown();
watchWikilinks();
watchTools();
watchFiles();
watchPreviews();
watchTemplates();
watchSubject();
watchCalendars();
showNeighbors();

/** The tabs Write and Preview of a text field. */
function watchPreviews() {
  document.addEventListener("click", async (event) => {
    const button = event.target.closest("[data-preview], [data-write]");
    if (!button) return;
    const area = document.getElementById(button.dataset.preview ?? button.dataset.write);
    const shown = document.getElementById(`${area.id}-preview`);
    const seeing = "preview" in button.dataset;
    if (seeing) {
      const { status, text } = await ask("/tickets/preview", { project: area.dataset.completes, body: area.value });
      if (status === 200) shown.innerHTML = text;
      else return toast("Couldn’t load the preview. Your text is still here.", "error");
    }
    shown.hidden = !seeing;
    area.parentElement.hidden = seeing;
    for (const one of button.parentElement.children) one.setAttribute("aria-pressed", String(one === button));
    if (!seeing) area.focus();
  });
}

/** A typed title goes along to the form with another template, and so leaves no draft in this one. */
function watchTemplates() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("[data-template]");
    const title = link?.closest("form").elements.title;
    const isOtherTab = event.ctrlKey || event.metaKey || event.shiftKey;
    if (!title || isOtherTab || title.value === title.defaultValue) return;
    const address = new URL(link.href);
    address.searchParams.set("title", title.value);
    link.href = address;
    title.value = title.defaultValue;
    title.dispatchEvent(new Event("input", { bubbles: true }));
  });
}

/** Once the head of the ticket has scrolled away, the header shows its id, title and state. */
function watchSubject() {
  const [subject, head] = [marked("subject"), marked("ticket-head")];
  if (!subject || !head) return;
  new IntersectionObserver(([seen]) => {
    subject.classList.toggle("on", !seen.isIntersecting);
    subject.querySelector("[data-subject-title]").textContent = head.querySelector("h1")?.textContent ?? "";
    const state = document.querySelector("[data-key=state] > :not(:first-child)");
    if (state) subject.querySelector("[data-subject-state]").replaceChildren(state.cloneNode(true));
  }).observe(head);
}

/** The calendar writes its date into the text field beside it, which is what the form sends. */
function watchCalendars() {
  document.addEventListener("change", ({ target }) => {
    const field = document.getElementById(target.dataset.day ?? "");
    if (!field) return;
    field.value = target.value;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.focus();
  });
}
