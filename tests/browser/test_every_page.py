"""Every page that has a picture, with data of all kinds: axe in both themes, and a phone."""

import pytest

from tests.browser.axe import AXE, findings_in_both
from tests.screenshots.__main__ import OPENED, PAGES
from tests.screenshots.sample import DOORS
from tests.screenshots.staged import STAGED

# Regions that scroll only on a narrow screen can be reached by keyboard.
NARROW = """() => axe.run(document, {
    runOnly: { type: "rule", values: ["landmark-unique", "scrollable-region-focusable"] },
    resultTypes: ["violations"],
}).then(({ violations }) => violations.flatMap(one => one.nodes.map(node => one.id + node.html)))"""
# Controls and headings that are cut off on the right.
CUT_OFF = """() => [...document.querySelectorAll(
        "main :is(a, button, input, select, textarea, h1)")]
    .filter(one => !one.closest(".board, .filters, .side-nav") && one.checkVisibility())
    .filter(one => one.getBoundingClientRect().right > document.body.clientWidth + 1)
    .map(one => one.outerHTML.slice(0, 120))"""
STATUS = {"error": 404, "ticket-deleted": 410, "wiki-missing": 404, "ticket-missing": 404}
# Pages that differ only in part from a page with a picture.
MORE = {
    "board-by-epic": "/projects/DEMO/board?group=epic",
    "board-by-label": "/projects/DEMO/board?group=label",
    "board-by-priority": "/projects/DEMO/board?group=priority&priority=low",
    "list-filtered": "/projects/DEMO/tickets?priority=low",
    "ticket-new-anywhere": "/tickets/new",
    "ticket-missing": "/tickets/DEMO-99",
    "ticket-edit-title": "/tickets/DEMO-2/fields/title",
    "ticket-edit-parent": "/tickets/DEMO-2/fields/parent",
    "ticket-pick-due": "/tickets/DEMO-2/pick/due_date",
    "bot-of-a-ticket": "/bots/bot-dev-1?reference=DEMO-2",
    "search-empty": "/search",
    "wiki-recent": "/projects/DEMO/wiki?view=recent",
    "wiki-source": "/projects/DEMO/wiki/release-notes/history/1?as=source",
}
MORE_OPENED = {
    "open-body": ("/tickets/DEMO-2", "#edit-body"),
    "open-parent": ("/tickets/DEMO-2", "#edit-parent"),
    "open-relations": ("/tickets/DEMO-2", "#relations summary"),
    "open-watchers": ("/tickets/DEMO-2", "#watchers summary"),
    "open-dialog": ("/tickets/DEMO-2", "a[data-dialog] >> nth=0"),
    "open-sample": ("/design", "[data-open='#sample-dialog']"),
}


@pytest.fixture(scope="module")
def seeded(filled):
    """A server in development, with mail and single sign-on."""
    with filled(FLASK_DEBUG="1", **DOORS) as made:
        yield made


@pytest.fixture(scope="module")
def visiting(visiting):
    """A page with axe as an init script, which is faster than sending it to each page."""
    visiting.page.add_init_script(AXE)
    return visiting


@pytest.fixture(scope="module")
def device(visiting):
    """A function that shows the same page on another screen."""
    session = visiting.page.context.new_cdp_session(visiting.page)

    def show(width, height, *, is_phone):
        touch = {"enabled": is_phone, "maxTouchPoints": 1}
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": is_phone}
        session.send("Emulation.setTouchEmulationEnabled", touch)
        session.send("Emulation.setDeviceMetricsOverride", size)

    return show


def open_page(visitor, seeded, name):
    if name in STAGED:
        STAGED[name](visitor.page, seeded)
    elif name in OPENED | MORE_OPENED:
        path, click = (OPENED | MORE_OPENED)[name]
        visitor.go(path)
        visitor.page.click(click)
    else:
        visitor.go((PAGES | MORE)[name].format(**seeded.ids), STATUS.get(name, 200))
    visitor.arrived()


@pytest.mark.parametrize("name", [*OPENED, *MORE_OPENED, *STAGED])
def test_what_opens_is_accessible_in_both_themes(visitor, seeded, name):
    open_page(visitor, seeded, name)
    # Where a popup ends depends on its content, and Escape closes it.
    assert findings_in_both(visitor.page, below_popups=False) == []


@pytest.mark.parametrize("name", [*PAGES, *MORE])
def test_a_page_is_accessible_in_both_themes_and_fits_a_phone(visitor, seeded, device, name):
    open_page(visitor, seeded, name)
    assert findings_in_both(visitor.page) == []
    assert visitor.page.locator("h1").count() == 1
    assert visitor.overflow() <= 0
    wide = visitor.page.viewport_size
    try:
        for width in (390, 320):
            device(width, 844, is_phone=True)
            assert visitor.overflow() <= 0
            assert visitor.page.evaluate(CUT_OFF) == []
        assert visitor.page.evaluate(NARROW) == []
    finally:
        device(**wide, is_phone=False)
