// Serves data-behavior="password-aids" and data-behavior="wait".
// The entry of the pages where nobody is logged in, beside that of every page: showing the password, Caps
// Lock, and how long to wait after too many attempts.

import { marked } from "./page.js";

const aids = marked("password-aids");
const field = aids.closest("form").elements.password;
const caps = aids.querySelector("[role=status]");
const wait = marked("wait");

aids.querySelector("[type=checkbox]").addEventListener("change", (event) => {
  field.type = event.target.checked ? "text" : "password";
});
// A browser keeps what was typed into a field of text, to offer it again.
field.form.addEventListener("submit", () => (field.type = "password"));

for (const name of ["keydown", "keyup"]) {
  field.addEventListener(name, (event) => {
    // A browser that fills the field in sends an event without a key.
    const words = event.getModifierState?.("CapsLock") ? "Caps Lock is on." : "";
    if (caps.textContent !== words) caps.textContent = words;
  });
}
field.addEventListener("blur", () => (caps.textContent = ""));

if (wait) {
  // Where the page comes back out of the browser's memory, the time that passed meanwhile counts.
  const end = Date.now() + wait.dataset.seconds * 1000;
  const [left, over] = wait.children;
  const show = () => {
    const seconds = Math.max(0, Math.ceil((end - Date.now()) / 1000));
    left.textContent = `${Math.floor(seconds / 60)}:${String(seconds % 60).padStart(2, "0")} left`;
    if (seconds) return;
    clearInterval(ticking);
    left.textContent = "";
    over.textContent = "You can try again now.";
  };
  const ticking = setInterval(show, 1000);
  show();
}
