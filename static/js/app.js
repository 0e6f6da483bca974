// The entry of every page. Pages work without any of this; it makes them quicker to use.

import { watchDialogs } from "./dialogs.js";
import { watchEditing } from "./editing.js";
import { watchKeys } from "./keys.js";
import { watchPage } from "./page.js";
import { watchPalette } from "./palette.js";

document.documentElement.classList.add("scripted");
watchPage();
watchDialogs();
watchEditing();
watchKeys();
watchPalette();
