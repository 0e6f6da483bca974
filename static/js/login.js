// Serves data-behavior="password-aids" and data-behavior="wait".
// The entry script of pages for logged-out users: showing the password, the Caps Lock notice,
// and the countdown after too many attempts.

import { marked } from "./page.js";

const aids = marked("password-aids");
const field = aids.closest("form").elements.password;
const caps = aids.querySelector("[role=status]");
const wait = marked("wait");

aids.querySelector("[type=checkbox]").addEventListener("change", (event) => {
  field.type = event.target.checked ? "text" : "password";
});
// Browsers remember the values of visible text fields; a password must not be among them.
field.form.addEventListener("submit", () => (field.type = "password"));

for (const name of ["keydown", "keyup"]) {
  field.addEventListener(name, (event) => {
    // Autofill sends an event without a key.
    const words = event.getModifierState?.("CapsLock") ? "Caps Lock is on." : "";
    if (caps.textContent !== words) caps.textContent = words;
  });
}
field.addEventListener("blur", () => (caps.textContent = ""));

if (wait) {
  // A page restored from the browser's cache must count the time that has passed.
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
