// Serves data-behavior="notify", this browser's switch for notifications.
// When they are on, one of the open pages polls for news, and shows it unless the page has the focus.

import { marked, toast } from "./page.js";
import { ask } from "./server.js";

const EVERY = 60_000;
// The newest event that this browser has seen. It exists only while notifications are on.
const KNOWN = "notify";
const ASKED = "notify-asked";

const known = () => localStorage.getItem(KNOWN);

function watchNews() {
  const button = marked("notify");
  if (button && "Notification" in window) {
    button.hidden = false;
    button.addEventListener("click", () => turn(button));
    name(button);
  }
  setInterval(look, EVERY / 4);
}

function name(button) {
  button.lastChild.textContent = `Turn ${known() ? "off" : "on"} notifications`;
}

async function turn(button) {
  if (known()) localStorage.removeItem(KNOWN);
  else if ((await Notification.requestPermission()) !== "granted") {
    toast("Your browser blocks notifications from this site. Allow them in its settings first.", "error");
  } else if (show("Notifications are on", "You get updates on your tickets here while you work elsewhere.")) {
    localStorage.setItem(KNOWN, button.dataset.latest);
  } else toast("This browser doesn’t support notifications.", "error");
  name(button);
}

async function look() {
  const last = known();
  if (!last || Notification.permission !== "granted" || Date.now() - localStorage.getItem(ASKED) < EVERY) return;
  localStorage.setItem(ASKED, Date.now());
  const { status, text } = await ask(`/inbox/newest?after=${last}`, null, true);
  if (status !== 200 || known() !== last) return;
  const news = JSON.parse(text);
  localStorage.setItem(KNOWN, news.id);
  if (!document.hasFocus()) show(news.title, news.body, news.address);
}

/** Returns whether the notification was shown; browsers on phones refuse. */
function show(title, body, address) {
  try {
    const shown = new Notification(title, { body });
    shown.onclick = () => {
      window.focus();
      if (address) location.assign(address);
      shown.close();
    };
    return true;
  } catch {
    return false;
  }
}

watchNews();
