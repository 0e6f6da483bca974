// Serves [data-grip] and the elements that its callers name.
// Drag and drop by mouse and touch. Native drag events do not fire on touch screens, so this uses pointer
// events: a mouse drags after 8 px, a finger after a press of 250 ms. On a grip, which cannot scroll the
// page, a finger drags as a mouse does.

const THRESHOLD = 8;
const HOLD = 250;
const EDGE = 56;
const SPEED = 14;

/** The scroll speed in pixels per frame when the pointer `at` is near an edge of the range from `low` to `high`. */
export function pull(at, low, high) {
  if (at < low + EDGE) return -SPEED * Math.min(1, (low + EDGE - at) / EDGE);
  if (at > high - EDGE) return SPEED * Math.min(1, (at - high + EDGE) / EDGE);
  return 0;
}

// `held` finds the element that a press would drag. `over` shows where it would land, `scroll` runs on each
// frame, and `drop` receives the dragged element and the place and next element that `over` set.
/** Make elements below `root` draggable. */
export function watchDrag(root, { held, over, scroll, drop }) {
  let press = null;
  let drag = null;

  root.addEventListener("dragstart", (event) => event.preventDefault());
  root.addEventListener("pointerdown", (event) => {
    const card = held(event.target);
    if (!card || event.button !== 0 || drag) return;
    const touch = event.pointerType === "touch" && !event.target.closest("[data-grip]");
    press = { card, id: event.pointerId, x: event.clientX, y: event.clientY, touch };
    if (touch) press.timer = setTimeout(() => begin(press.x, press.y), HOLD);
  });
  document.addEventListener("pointermove", (event) => {
    if (drag && event.pointerId === drag.id) {
      follow(event.clientX, event.clientY);
    } else if (press && event.pointerId === press.id) {
      const far = Math.hypot(event.clientX - press.x, event.clientY - press.y) > THRESHOLD;
      if (far && press.touch) forget();
      else if (far) begin(event.clientX, event.clientY);
    }
  });
  document.addEventListener("pointerup", (event) => {
    if (drag?.id === event.pointerId) {
      const { card, place, next } = drag;
      end();
      drop(document.getElementById(card.id), place, next);
    }
    forget();
  });
  document.addEventListener("pointercancel", (event) => {
    if (drag?.id === event.pointerId) end();
    forget();
  });
  // A touch drag must not scroll the page.
  document.addEventListener("touchmove", (event) => drag && event.preventDefault(), { passive: false });
  document.addEventListener("contextmenu", (event) => (drag || press?.touch) && event.preventDefault());
  document.addEventListener("keydown", (event) => {
    if (event.key !== "Escape" || !drag) return;
    event.stopPropagation();
    end();
  }, true);

  function forget() {
    clearTimeout(press?.timer);
    press = null;
  }

  function begin(x, y) {
    // A response may have replaced the pressed card.
    const card = document.getElementById(press.card.id);
    const { id } = press;
    if (!card) return forget();
    const box = card.getBoundingClientRect();
    const ghost = card.cloneNode(true);
    ghost.removeAttribute("id");
    ghost.removeAttribute("data-ref");
    ghost.classList.add("ghost");
    ghost.setAttribute("aria-hidden", "true");
    ghost.style.width = `${box.width}px`;
    ghost.style.height = `${box.height}px`;
    const mark = document.createElement("li");
    mark.className = "drop-mark";
    drag = { card, id, ghost, mark, dx: x - box.left, dy: y - box.top, x, y, place: null };
    forget();
    document.body.append(ghost);
    document.documentElement.classList.add("dragging");
    card.classList.add("lifted");
    navigator.vibrate?.(10);
    follow(x, y);
    requestAnimationFrame(scrollAtEdges);
  }

  function follow(x, y) {
    Object.assign(drag, { x, y });
    drag.ghost.style.left = `${x - drag.dx}px`;
    drag.ghost.style.top = `${y - drag.dy}px`;
    over(drag);
  }

  function scrollAtEdges() {
    if (!drag) return;
    scroll(drag);
    requestAnimationFrame(scrollAtEdges);
  }

  function end() {
    drag.ghost.remove();
    drag.mark.remove();
    drag.place?.classList.remove("over");
    drag.card.classList.remove("lifted");
    document.documentElement.classList.remove("dragging");
    drag = null;
    // The click that ends a drag must not open the ticket.
    const swallow = (event) => {
      event.preventDefault();
      event.stopPropagation();
    };
    document.addEventListener("click", swallow, { capture: true, once: true });
    setTimeout(() => document.removeEventListener("click", swallow, true), 50);
  }
}
