"""Measure what people wait for in a browser: from a click or key to the resulting paint.

    python -m tests.bench.pages [--times N]

Serves the data in the folder of `REAL_DATA`, imported into one project, and drives Chromium. A new
page counts as painted at its largest contentful paint, a change within a page at the next frame.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import chromium_path
from tests.browser.seed import Seeded, seed
from tests.conftest import REAL_DATA
from tests.screenshots.sample import run_flask
from tests.support.serving import serving

WIDE = {"width": 1280, "height": 800}
# For both documents of a navigation: the time of the click, and of the largest paint.
WATCH = """
addEventListener("click", () => sessionStorage.setItem("clicked", Date.now()), true);
new PerformanceObserver((list) => {
  for (const one of list.getEntries()) window.painted = performance.timeOrigin + one.startTime;
}).observe({ type: "largest-contentful-paint", buffered: true });
"""
# From a key or click to the frame after the change.
CHANGE = """([selector, type]) => new Promise((done) => {
  let from = 0;
  addEventListener(type, (event) => (from = event.timeStamp), { once: true, capture: true });
  const watcher = new MutationObserver(() => {
    if (!from) return;
    watcher.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.now() - from)));
  });
  watcher.observe(document.querySelector(selector), { childList: true, subtree: true });
})"""


def opening(page: Page, address: str, click: str, painted: str) -> float:
    """Return the milliseconds from a click on a link to the paint of its page."""
    page.goto(address)
    page.wait_for_load_state("networkidle")
    page.locator(click).first.click()
    page.wait_for_selector(painted)
    page.wait_for_load_state("networkidle")
    clicked = "Number(sessionStorage.getItem('clicked'))"
    return float(page.evaluate(f"window.painted - {clicked}"))


def changing(page: Page, selector: str, kind: str, act: Callable[[], None]) -> float:
    """Return the milliseconds from a key or click to the frame that shows the change."""
    # Do not await the promise yet.
    page.evaluate(f"void (window.change = ({CHANGE})({[selector, kind]}))")
    act()
    return float(page.evaluate("window.change"))


def palette_key(page: Page, url: str) -> list[float]:
    """Type a word in the palette; return the time of each key."""
    page.goto(f"{url}/projects/REAL/board")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("Control+k")
    page.wait_for_selector("#palette[open]")
    page.wait_for_timeout(300)
    times = []
    for key in "agent":
        times.append(
            changing(page, "#palette-list", "keydown", lambda key=key: page.keyboard.press(key))
        )
        page.wait_for_timeout(300)
    return times


def picker(page: Page, url: str) -> float:
    page.goto(f"{url}/tickets/REAL-331")
    page.wait_for_load_state("networkidle")
    return changing(page, "main", "click", lambda: page.locator("#edit-state").click())


def measure(page: Page, made: Seeded, times: int) -> None:
    board, listed = (f"{made.url}/projects/REAL/{name}" for name in ("board", "tickets"))
    ticket = f"{made.url}/tickets/REAL-331"
    openings = {
        "card to ticket": (board, ".card-title", "#ticket-field-state"),
        "list row to ticket": (listed, "tbody [data-row-link]", "#ticket-field-state"),
        "ticket to board": (
            ticket,
            "header nav a:has-text('Board'), .header a:has-text('Board')",
            ".column",
        ),
        "board to list": (board, ".header a:has-text('Tickets')", ".ticket-row"),
    }
    for name, (address, click, painted) in openings.items():
        # Do not measure the first visit.
        found = [opening(page, address, click, painted) for _ in range(times + 1)][1:]
        print(
            f"{name:20s} {median(found):6.0f} ms   {min(found):.0f} to {max(found):.0f}", flush=True
        )
    for name, address in (("board", board), ("list", listed)):
        page.goto(address)
        size = page.evaluate("performance.getEntriesByType('navigation')[0].encodedBodySize")
        print(f"{name:20s} {size / 1000:6.1f} KB", flush=True)
    keys = [one for _ in range(max(1, times // 5)) for one in palette_key(page, made.url)]
    print(f"{'palette, per key':20s} {median(keys):6.0f} ms   {min(keys):.0f} to {max(keys):.0f}")
    picked = [picker(page, made.url) for _ in range(times + 1)][1:]
    print(f"{'state picker':20s} {median(picked):6.0f} ms   {min(picked):.0f} to {max(picked):.0f}")


def main() -> None:
    """Print the median and the range of each."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.pages")
    parser.add_argument("--times", type=int, default=15, help="how often each is done (15)")
    asked = parser.parse_args()
    found = chromium_path()
    if found is None or not REAL_DATA.exists():
        sys.exit("No Chromium is installed, or there is no data.")
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        instance = Path(folder) / "instance"
        with serving(instance) as served:
            made = seed(served)
            made.call("POST", "/projects", {"key": "REAL", "name": "Real project"})
            run_flask(
                instance, served, "import-issues", REAL_DATA / "issues.jsonl", "--project", "REAL"
            )
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            context = browser.new_context(viewport=WIDE)
            name, _, value = made.cookie.partition("=")
            context.add_cookies([{"name": name, "value": value, "url": made.url}])
            context.add_init_script(WATCH)
            measure(context.new_page(), made, asked.times)
            browser.close()


if __name__ == "__main__":
    main()
