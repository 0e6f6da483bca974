"""A real browser against a real server: what people see and do.

Chromium is found by name. Where there is none, these tests are skipped, and fail where CI=true: a
release whose pages nobody opened is not tested.
"""

import os
import shutil
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.browser.desk import Desk, open_desk
from tests.browser.furniture import furnish
from tests.support.serving import Served, serving

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def chromium_path() -> str | None:
    """The installed Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    found = chromium_path()
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail("no Chromium is installed; `apt-get install chromium` brings one")
        pytest.skip("no Chromium is installed")
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def served(tmp_path_factory) -> Iterator[Served]:
    """A server of this module's own, on SQLite."""
    with serving(tmp_path_factory.mktemp("browser") / "instance") as running:
        yield running


@pytest.fixture
def desk(browser, furnished) -> Iterator[Desk]:
    """Ada at her desk: logged in, light theme, a wide screen. No errors may reach the console."""
    yield from open_desk(browser, furnished)


@pytest.fixture
def phone(browser, furnished) -> Iterator[Desk]:
    """Ada with a phone in her hand."""
    yield from open_desk(
        browser,
        furnished,
        viewport={"width": 390, "height": 844},
        has_touch=True,
        is_mobile=True,
    )


@pytest.fixture
def plain(browser, furnished) -> Iterator[Desk]:
    """Ada with JavaScript switched off."""
    yield from open_desk(browser, furnished, java_script_enabled=False)


@pytest.fixture(scope="module")
def furnished(served):
    """A set-up server with a project in which work goes on."""
    return furnish(served)
