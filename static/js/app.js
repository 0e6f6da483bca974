// Serves every page, with the scripts that it imports.
// Pages work without any of this; it makes them quicker to use.

import { watchDialogs } from "./dialogs.js";
import { watchKeys } from "./keys.js";
import { watchPage } from "./page.js";
import { watchPalette } from "./palette.js";
import { watchSession } from "./server.js";

document.documentElement.classList.add("scripted");
tellDay();
document.addEventListener("visibilitychange", tellDay);
watchSession();
watchPage();
watchDialogs();
watchKeys();
watchPalette();
// Only browsers in which notifications were turned on load their script.
if (localStorage.getItem("notify")) import("./notify.js");

/** The server words due dates by the reader's day. A page can stay open while clocks change or its reader travels. */
function tellDay() {
  document.cookie = `utc_offset=${-new Date().getTimezoneOffset()}; path=/; max-age=31536000; samesite=lax`;
}
