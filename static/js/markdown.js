// Serves data-behavior="markdown" and data-behavior="preview".
// Text that was laid out: blocks of code can be copied, and so can the addresses of headings.

const LAID_OUT = "[data-behavior=markdown]";
const PREVIEW = "[data-behavior=preview]";

/** Comes for the page, and for each part of it that comes later. */
export function watchMarkdown() {
  document.addEventListener("htmx:load", () => {
    for (const pre of document.querySelectorAll(`:is(${LAID_OUT}, ${PREVIEW}) pre:not([data-code] > *)`)) {
      const box = document.createElement("div");
      box.className = "code-box";
      box.dataset.code = "";
      pre.replaceWith(box);
      box.innerHTML = '<button type="button" class="button tiny">Copy</button>';
      box.firstChild.dataset.copy = pre.textContent.trimEnd();
      box.prepend(pre);
    }
    // Nothing else in such a text has an id.
    for (const heading of document.querySelectorAll(`${LAID_OUT} [id]:not(:has([data-copy]))`)) {
      heading.innerHTML += '<a class="anchor" aria-label="Copy link"></a>';
      const link = heading.lastChild;
      link.href = `#${heading.id}`;
      link.dataset.copy = link.href;
    }
  });
}
