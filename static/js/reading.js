// Serves data-behavior="contents", the table of contents of a wiki page.
// The table of contents marks the heading that is being read.

import { isLedHere, marked } from "./page.js";

export function watchReading() {
  // After saving a page, the focus goes to its heading.
  if (isLedHere() && /\/(edit|new)(\?|$)/.test(document.referrer)) document.querySelector("main h1[tabindex]")?.focus();
  const contents = marked("contents");
  const links = [...(contents?.querySelectorAll("a") ?? [])];
  const headings = links.map((link) => document.getElementById(decodeURIComponent(link.hash.slice(1)))).filter(Boolean);
  if (!headings.length) return;
  if (matchMedia("(max-width: 900px)").matches) contents.open = false;
  const mark = () => {
    const top = document.querySelector("body > header").offsetHeight + 40;
    const past = headings.filter((heading) => heading.getBoundingClientRect().top <= top);
    const current = past.at(-1) ?? headings[0];
    for (const link of links) {
      if (decodeURIComponent(link.hash.slice(1)) === current.id) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  mark();
  document.addEventListener("scroll", mark, { passive: true });
}
