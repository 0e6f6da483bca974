"""What the pages of a real project cost: bytes, time to the first paint, shifts, response times."""

import os
from collections.abc import Callable

import pytest

from tests.browser.browser_page import open_page
from tests.support.timing import slowness

pytestmark = [pytest.mark.real_data, pytest.mark.quiet]

SENT_BYTES = 100 * 1024
FIRST_PAINT_MS = 300
ANSWER_MS = 100
# The response to a filter is most of a page: 69 to 79 ms on an ordinary machine.
FILTERED_MS = 150
GIVEN_UP_MS = 2000
SHOWS_FIGURES = "SHOW_FIGURES" in os.environ

# Elements that shifted after they were shown.
SHIFTS = """() => new Promise(done => {
    const seen = new PerformanceObserver(list => {
        const nodes = list.getEntries().flatMap(one => one.sources.map(each => each.node));
        done(nodes.map(node => node?.outerHTML?.slice(0, 80)));
    });
    seen.observe({ type: 'layout-shift', buffered: true });
    setTimeout(() => done([]), 500);
})"""
PAINT = """() => new Promise(done => {
    const seen = new PerformanceObserver(list => done(list.getEntries()[0].startTime));
    seen.observe({ type: 'paint', buffered: true });
})"""


@pytest.fixture(scope="module")
def real(filled):
    """A server with a project of real issues."""
    with filled() as made:
        yield made


@pytest.fixture
def screen(browser, real):
    """Ada with the browser cache empty."""
    yield from open_page(browser, real)


def sent(screen) -> list[int]:
    """Collect the sizes of all responses from here on, in bytes, headers included."""
    sizes: list[int] = []
    watch = screen.page.context.new_cdp_session(screen.page)
    watch.send("Network.enable")
    watch.on("Network.loadingFinished", lambda event: sizes.append(int(event["encodedDataLength"])))
    return sizes


@pytest.mark.parametrize("query", ["", "?done=all", "?group=priority"])
def test_the_board_is_light_and_shifts_nothing(screen, query):
    sizes = sent(screen)
    screen.go(f"/projects/REAL/board{query}")
    screen.page.wait_for_timeout(400)
    assert screen.page.locator(".card").count() > 60
    assert sum(sizes) < SENT_BYTES, sizes
    if SHOWS_FIGURES:
        print("sent:", sum(sizes))
    assert screen.page.evaluate(SHIFTS) == []


def best_of(tries: int, once: Callable[[], float], allowed: float) -> None:
    """Hold the best run to the limit of an ordinary machine: slow runs measure other load, too.

    The first run within the limit is enough, unless SHOW_FIGURES is set. The limit of each run is
    scaled by the speed of the machine just then, which may change within a second.
    """
    took: list[tuple[float, float]] = []
    while len(took) < tries and (SHOWS_FIGURES or not any(kept_to(allowed, *one) for one in took)):
        took.append((once(), slowness()))
    if SHOWS_FIGURES:
        print([f"{milliseconds:.0f} at {slow:.2f}" for milliseconds, slow in took])
    assert any(kept_to(allowed, *one) for one in took), took


def kept_to(allowed: float, milliseconds: float, slow: float) -> bool:
    return 0 < milliseconds < allowed * slow


def test_the_first_paint_is_quick(screen):
    def once():
        screen.go("/projects/REAL/board")
        return screen.page.evaluate(PAINT)

    best_of(5, once, FIRST_PAINT_MS)


MOVE = """() => new Promise(done => {
    const card = document.querySelector('.card');
    const from = card.closest('.column');
    const began = performance.now();
    const look = () => {
        const moved = document.getElementById(card.id).closest('.column') !== from;
        requestAnimationFrame(moved ? () => done(performance.now() - began) : look);
    };
    card.querySelector('.card-title').focus();
    const init = { key: 'ArrowRight', shiftKey: true, bubbles: true, cancelable: true };
    document.activeElement.dispatchEvent(new KeyboardEvent('keydown', init));
    look();
})"""


def test_a_move_is_seen_at_once(screen):
    def once():
        screen.go("/projects/REAL/board")
        return screen.page.evaluate(MOVE)

    best_of(5, once, ANSWER_MS)


# The path, the preparation, the action, and the condition that is true once its effect is seen.
INTERACTIONS = {
    "choosing a row": (
        "/projects/REAL/tickets",
        "",
        "document.querySelector('tbody [name=id]').click();",
        "document.querySelector('tbody .chosen')"
        " && document.querySelector('.bulk-bar').checkVisibility()",
    ),
    "opening an editor": (
        "/tickets/REAL-20",
        "",
        "document.getElementById('edit-title').click();",
        "document.activeElement.id === 'value'",
    ),
    "opening the line of a new ticket": (
        "/projects/REAL/board",
        "",
        "document.querySelector('[data-add]').click();",
        "document.activeElement.matches('.quick-add [name=title]')",
    ),
    "filtering a board": (
        "/projects/REAL/board",
        "document.querySelector('.filters [name=ready]').focus();",
        "document.activeElement.click();",
        "document.querySelector('.filter-chips')?.textContent.includes('Ready')",
    ),
    "filtering a list": (
        "/projects/REAL/tickets",
        "document.querySelector('.filters [name=ready]').focus();",
        "document.activeElement.click();",
        "document.querySelector('.filter-chips')?.textContent.includes('Ready')",
    ),
    "adding a ticket by its line": (
        "/projects/REAL/board",
        "document.querySelector('[data-add]').click();",
        "const line = document.querySelector('.quick-add [name=title]');"
        " window.before = document.querySelectorAll('.card').length;"
        " line.value = `Added ${Date.now()}`; line.form.requestSubmit();",
        "document.querySelectorAll('.card').length > window.before",
    ),
}


@pytest.mark.parametrize("name", INTERACTIONS)
def test_what_one_does_is_answered_at_once(screen, name):
    path, prepare, act, seen = INTERACTIONS[name]

    def once():
        screen.go(path)
        screen.page.evaluate(f"() => {{ {prepare} }}")
        return screen.page.evaluate(f"""() => new Promise(done => {{
            const began = performance.now();
            const look = () => ({seen}) || performance.now() - began > {GIVEN_UP_MS}
                ? requestAnimationFrame(() => done(performance.now() - began))
                : requestAnimationFrame(look);
            {act}
            look();
        }})""")

    best_of(6, once, FILTERED_MS if name.startswith("filtering") else ANSWER_MS)
