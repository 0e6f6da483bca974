// Serves the pages of the wiki, with the scripts that it imports.

import { watchFiles } from "./files.js";
import { watchMarkdown } from "./markdown.js";
import { watchPolling } from "./polling.js";
import { watchReading } from "./reading.js";
import { watchTools } from "./toolbar.js";
import { watchWikilinks } from "./wikilinks.js";
import { watchWriting } from "./writing.js";

watchReading();
watchMarkdown();
watchPolling();
watchWikilinks();
watchWriting();
watchTools();
watchFiles();
