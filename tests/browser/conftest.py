"""A real browser against a real server: what people see and do.

Chromium is found by name. Its headless shell is the same engine without the windows of a desktop,
and takes half the CPU time. Where there is neither, these tests are skipped, and fail where
CI=true: a release whose pages nobody opened is not tested.
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
# A page is too short-lived for its scripts to be optimized, which takes more than it saves. The
# pages of a context share a process: to start one for each takes a quarter of a page's CPU time.
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
    """Contexts that tests have one after the other."""
    return Contexts(browser)


@pytest.fixture(scope="session")
def filled(tmp_path_factory) -> Callable[..., AbstractContextManager[Seeded]]:
    """Serves an instance filled as for the pictures, a copy each time.

    Filling takes many seconds: the first process that asks does it for all.
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
    """Empties the one server of all modules, which takes less than to start another.

    Its worker is replaced, so that nothing is kept in memory of what was there.
    """
    instance = tmp_path_factory.mktemp("browser") / "instance"
    with serving(instance, command=FORKED) as served:
        replaced_at = -CRASH_SECONDS

        def run() -> Served:
            nonlocal replaced_at
            # A server whose workers die faster ends.
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
    """A server on SQLite, which nobody has set up."""
    return anew()


@pytest.fixture
def wide(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada on a wide screen: logged in, light theme. No errors may reach the console."""
    yield from borrow_page(contexts, seeded)


@pytest.fixture
def wide_apart(browser, seeded) -> Iterator[BrowserPage]:
    """Ada on a wide screen in a context that nobody has after her: the clock may be turned."""
    yield from open_page(browser, seeded)


@pytest.fixture(scope="module")
def visiting(contexts, seeded) -> Iterator[BrowserPage]:
    """One page for all tests of a module that only look: opening one costs more than a visit."""
    yield from borrow_page(contexts, seeded)


@pytest.fixture(scope="module")
def visiting_by_phone(contexts, seeded) -> Iterator[BrowserPage]:
    """One phone for all tests of a module that only look."""
    yield from borrow_page(contexts, seeded, **PHONE)


@pytest.fixture
def visitor(visiting) -> Iterator[BrowserPage]:
    """Ada, who opens pages and changes nothing."""
    yield from on_one_page(visiting)


@pytest.fixture
def phone_visitor(visiting_by_phone) -> Iterator[BrowserPage]:
    """Ada, who looks at pages on her phone."""
    visiting_by_phone.page.set_viewport_size(PHONE["viewport"])
    yield from on_one_page(visiting_by_phone)


def on_one_page(shared: BrowserPage) -> Iterator[BrowserPage]:
    """A page that others had before; what reaches the console fails the test it does so in."""
    yield shared
    found = shared.problems.copy()
    shared.problems.clear()
    assert found == []


@pytest.fixture
def phone(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada with a phone in her hand."""
    yield from borrow_page(contexts, seeded, **PHONE)


@pytest.fixture
def plain(contexts, seeded) -> Iterator[BrowserPage]:
    """Ada with JavaScript switched off."""
    yield from borrow_page(contexts, seeded, java_script_enabled=False)


@pytest.fixture(scope="module")
def seeded(served):
    """A set-up server with a project in which work goes on."""
    return seed(served)
