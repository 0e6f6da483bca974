// Serves data-behavior="markdown" and data-behavior="preview".
// Rendered Markdown: buttons that copy code blocks and the links of headings.

const LAID_OUT = "[data-behavior=markdown]";
const PREVIEW = "[data-behavior=preview]";

/** Runs for the page, and for each part that is swapped in later. */
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
    // In rendered text, only headings have ids.
    for (const heading of document.querySelectorAll(`${LAID_OUT} [id]:not(:has([data-copy]))`)) {
      heading.innerHTML += '<a class="anchor" aria-label="Copy link"></a>';
      const link = heading.lastChild;
      link.href = `#${heading.id}`;
      link.dataset.copy = link.href;
    }
  });
}
