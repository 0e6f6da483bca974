"""A real browser against a real server: what people see and do.

Chromium is found by name. Its headless shell is the same engine without desktop windows, and
takes half the CPU time. If neither is installed, these tests are skipped, or fail with CI=true:
a release must not be made without opening its pages.
"""

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from playwright.sync_api import Browser, sync_playwright

from app.serving.parent import CRASH_SECONDS
from tests.browser.browser_page import BrowserPage, Contexts, borrow_page, open_page
from tests.browser.seed import Seeded, seed
from tests.screenshots.sample import fill
from tests.support.databases import empty_sqlite
from tests.support.forking import FORKED
from tests.support.serving import Served, is_healthy, serving, until

SHELL = "chromium-headless-shell"
# A page is too short-lived for optimizing its scripts to pay off. The pages of a context share a
# process: starting one for each takes a quarter of a page's CPU time.
ARGUMENTS = [
    "--no-sandbox",
    "--js-flags=--max-optimized-bytecode-size=0",
    "--renderer-process-limit=1",
]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", SHELL)
MISSING = f"neither {SHELL} nor Chromium is installed"

PHONE: dict[str, Any] = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
}


def chromium_path() -> str | None:
    """The installed Chromium, if there is one."""
    return next(filter(None, map(shutil.which, NAMES)), None)


def tested_browser() -> str | None:
    """The browser of these tests."""
    return shutil.which(SHELL) or chromium_path()


def pytest_report_header() -> str:
    """Say which browser is used."""
    return f"browser: {tested_browser() or MISSING}"


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    found = tested_browser()
    if found is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{MISSING}; `apt-get install chromium` brings one")
        pytest.skip(MISSING)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=found, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture(scope="session")
def contexts(browser) -> Contexts:
    """Contexts that tests use one after the other."""
    return Contexts(browser)


@pytest.fixture(scope="session")
def filled(tmp_path_factory) -> Callable[..., AbstractContextManager[Seeded]]:
    """Serve copies of an instance that is filled like the one of the screenshots.

    Filling takes many seconds: the first process that needs it fills it for all.
    """
    base = tmp_path_factory.getbasetemp()
    shared = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "filled"
    instance, notes = shared / "instance", shared / "made.json"
    shared.mkdir(exist_ok=True)
    with (shared / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not notes.exists():
            with serving(instance, command=FORKED) as served:
                made = fill(served, instance)
            found = {"cookie": made.cookie, "ids": made.ids, "bot_token": made.bot_token}
            notes.write_text(json.dumps(found))

    @contextmanager
    def run(**settings: str) -> Iterator[Seeded]:
        copy = tmp_path_factory.mktemp("filled") / "instance"
        shutil.copytree(instance, copy)
        with serving(copy, command=FORKED, **settings) as served:
            yield Seeded(served, **json.loads(notes.read_text()))

    return run


@pytest.fixture(scope="session")
def anew(tmp_path_factory) -> Iterator[Callable[[], Served]]:
    """Empty the server that all modules share, which is faster than starting another.

    Its worker is replaced, so that nothing of the old data stays in memory.
    """
    instance = tmp_path_factory.mktemp("browser") / "instance"
    with serving(instance, command=FORKED) as served:
        replaced_at = -CRASH_SECONDS

        def run() -> Served:
            nonlocal replaced_at
            # A server whose workers die more often than this shuts down.
            until(lambda: time.monotonic() - replaced_at > CRASH_SECONDS)
            empty_sqlite(instance / "docket.db")
            (worker,) = served.workers()
            os.kill(worker, signal.SIGKILL)
            until(lambda: served.workers() not in ([], [worker]) and is_healthy(served))
            replaced_at = time.monotonic()
            return served

        yield run


@pytest.fixture(scope="module")
def served(anew) -> Served:
    """A server on SQLite that has not been set up."""
    return anew()


@pytest.fixture
def wide(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada on a wide screen: logged in, light theme. No errors may reach the console."""
    yield from borrow_page(contexts, seeded)


@pytest.fixture
def wide_apart(browser, seeded) -> Iterator[BrowserPage]:
    """Ada on a wide screen in a context that is not used again: its clock may be changed."""
    yield from open_page(browser, seeded)


@pytest.fixture(scope="module")
def visiting(contexts, seeded) -> Iterator[BrowserPage]:
    """One page for all read-only tests of a module: opening one costs more than a visit."""
    yield from borrow_page(contexts, seeded)


@pytest.fixture(scope="module")
def visiting_by_phone(contexts, seeded) -> Iterator[BrowserPage]:
    """One phone for all read-only tests of a module."""
    yield from borrow_page(contexts, seeded, **PHONE)


@pytest.fixture
def visitor(visiting) -> Iterator[BrowserPage]:
    """Ada, who only opens pages."""
    yield from on_one_page(visiting)


@pytest.fixture
def phone_visitor(visiting_by_phone) -> Iterator[BrowserPage]:
    """Ada, who only opens pages, on her phone."""
    visiting_by_phone.page.set_viewport_size(PHONE["viewport"])
    yield from on_one_page(visiting_by_phone)


def on_one_page(shared: BrowserPage) -> Iterator[BrowserPage]:
    """Share a page; whatever reaches the console fails the test in which it does."""
    yield shared
    found = shared.problems.copy()
    shared.problems.clear()
    assert found == []


@pytest.fixture
def phone(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada on a phone."""
    yield from borrow_page(contexts, seeded, **PHONE)


@pytest.fixture
def plain(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada with JavaScript switched off."""
    yield from borrow_page(contexts, seeded, java_script_enabled=False)


@pytest.fixture(scope="module")
def seeded(served):
    """A server with a project in use."""
    return seed(served)
