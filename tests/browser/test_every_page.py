"""Every page of which there is a picture, with data of all kinds: axe in both themes, a phone."""

import pytest

from tests.browser.conftest import PHONE
from tests.browser.test_accessibility import JUDGE, findings_in_both
from tests.screenshots.__main__ import OPENED, PAGES
from tests.screenshots.sample import DOORS
from tests.screenshots.staged import STAGED

# What a narrow screen makes scroll.
NARROW = {
    "runOnly": {"type": "rule", "values": ["landmark-unique", "scrollable-region-focusable"]},
    "resultTypes": ["violations"],
}
STATUS = {"error": 404, "ticket-deleted": 410, "wiki-missing": 404}


@pytest.fixture(scope="module")
def seeded(filled):
    """A server in development, with mail and single sign-on."""
    with filled(FLASK_DEBUG="1", **DOORS) as made:
        yield made


def narrow_findings(page):
    found = page.evaluate(JUDGE, NARROW)
    return [f"{one['id']}: {node['html'][:160]}" for one in found for node in one["nodes"]]


def open_page(visitor, seeded, name):
    if name in STAGED:
        STAGED[name](visitor.page, seeded)
    elif name in OPENED:
        path, click = OPENED[name]
        visitor.go(path)
        visitor.page.click(click)
    else:
        visitor.go(PAGES[name].format(**seeded.ids), STATUS.get(name, 200))
    visitor.arrived()


@pytest.mark.parametrize("name", [*OPENED, *STAGED])
def test_what_opens_is_accessible_in_both_themes(visitor, seeded, name):
    open_page(visitor, seeded, name)
    assert findings_in_both(visitor.page) == []


@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_accessible_in_both_themes_and_fits_a_phone(visitor, seeded, name):
    open_page(visitor, seeded, name)
    assert findings_in_both(visitor.page) == []
    assert visitor.page.locator("h1").count() == 1
    assert visitor.overflow() <= 0
    wide = visitor.page.viewport_size
    visitor.page.set_viewport_size(PHONE["viewport"])
    try:
        # What scrolls on a narrow screen is reached by key.
        assert narrow_findings(visitor.page) == []
        assert visitor.overflow() == 0
    finally:
        visitor.page.set_viewport_size(wide)
