// Serves the pages of the wiki, with the scripts that it imports, and [data-pages].

import { watchFiles } from "./files.js";
import { watchMarkdown } from "./markdown.js";
import { watchPolling } from "./polling.js";
import { watchReading } from "./reading.js";
import { watchTools } from "./toolbar.js";
import { watchWikilinks } from "./wikilinks.js";
import { watchWriting } from "./writing.js";

// The list of pages arrives later. It scrolls to the page that is read, and the window stays where it is.
document.addEventListener("htmx:load", ({ detail: { elt } }) => {
  const here = elt.matches("[data-pages]") && elt.querySelector("[aria-current]");
  if (here) elt.scrollTop = here.offsetTop - elt.clientHeight / 2;
});
watchReading();
watchMarkdown();
watchPolling();
watchWikilinks();
watchWriting();
watchTools();
watchFiles();
