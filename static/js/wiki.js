// The entry of the wiki's pages, beside that of every page.

import { watchMarkdown } from "./markdown.js";
import { watchPolling } from "./polling.js";
import { watchReading } from "./reading.js";
import { watchWikilinks } from "./wikilinks.js";
import { watchWriting } from "./writing.js";

watchReading();
watchMarkdown();
watchPolling();
watchWikilinks();
watchWriting();
