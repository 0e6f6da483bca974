// Text that was laid out: blocks of code can be copied, and so can the addresses of headings.

/** Comes for the page, and for each part of it that comes later. */
export function watchMarkdown() {
  document.addEventListener("htmx:load", () => {
    for (const pre of document.querySelectorAll(".markdown pre:not(.code-box > *)")) {
      const box = document.createElement("div");
      box.className = "code-box";
      pre.replaceWith(box);
      box.innerHTML = '<button type="button" class="button tiny">Copy</button>';
      box.firstChild.dataset.copy = pre.textContent.trimEnd();
      box.prepend(pre);
    }
    // Nothing else in such a text has an id.
    for (const heading of document.querySelectorAll(".markdown:not(.preview) [id]:not(:has(.anchor))")) {
      heading.innerHTML += '<a class="anchor" aria-label="Copy link"></a>';
      const link = heading.lastChild;
      link.href = `#${heading.id}`;
      link.dataset.copy = link.href;
    }
  });
}
