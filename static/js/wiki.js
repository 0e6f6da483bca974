// The entry of the wiki's pages, beside that of every page.

import { watchReading } from "./reading.js";
import { watchWikilinks } from "./wikilinks.js";
import { watchWriting } from "./writing.js";

watchReading();
watchWikilinks();
watchWriting();
