"""A page in a browser, with methods for what people do on it; it watches the console."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, BrowserContext, Locator, Page, Route, expect

from tests.browser.seed import Seeded
from tests.support.serving import until

# The browser and htmx report every response of 400 and more; some tests cause them.
REPORTED = ("Failed to load resource", "Response Status Error Code")
# Leaving a page cancels its pending requests, and htmx reports it.
CUT_OFF = ("htmx:sendAbort", "htmx:afterRequest")
# The browser skips the fade between two pages when the machine is slow or the next page does not
# come, and reports it. No script of the app requests the fade.
NO_FADING = ("Transition was aborted because of invalid state", "Transition was skipped")

WIDE = {"width": 1440, "height": 900}


@dataclass
class BrowserPage:
    """A page and the problems it reported."""

    page: Page
    base: str
    problems: list[str] = field(default_factory=list)

    def go(self, path: str, status: int = 200) -> None:
        """Open an address of this server."""
        answer = self.page.goto(self.base + path)
        assert answer is not None
        assert answer.status == status, f"{path}: {answer.status}"

    def arrived(self) -> None:
        """Wait for the parts that a page requests after it has loaded."""
        self.page.evaluate(
            "() => new Promise(drawn => requestAnimationFrame(() => requestAnimationFrame(drawn)))"
        )
        self.page.wait_for_function("() => !document.querySelector('.htmx-request')")

    def intercept(
        self, path: str, handler: Callable[[Route], Any], times: int | None = None
    ) -> None:
        """Let ``handler`` answer the requests to ``path``, a glob pattern."""
        self.page.route(path, handler, times=times)
        if self.page.url == "about:blank":
            return
        # An open page may still send one request past a new rule: wait until a probe is caught.
        held = []

        def hold(route: Route) -> None:
            held.append(route)
            route.fulfill()

        self.page.route("**/healthz", hold)
        until(lambda: self.page.evaluate("fetch('/healthz').then(() => true)") and held)
        self.page.unroute("**/healthz")

    def ask_for_news(self) -> None:
        """Poll for news at once, as a page does when it is back online."""
        self.page.evaluate("() => { dispatchEvent(new Event('online')); }")

    def column(self, name: str) -> Locator:
        """A column of the board."""
        return self.page.locator(f'.column[data-name="{name}"]')

    def card(self, reference: str) -> Locator:
        """A card on the board, wherever it is."""
        return self.page.locator(f'.card[data-ref="{reference}"]:not(.ghost)')

    def card_in(self, name: str, title: str) -> Locator:
        """A card in a column, by its title."""
        return self.column(name).locator(".card", has_text=title)

    def card_at(self, name: str, reference: str) -> Locator:
        """A card in a column, by its display id."""
        return self.column(name).locator(f'.card[data-ref="{reference}"]')

    def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            self.page.keyboard.press(key)

    def focused(self) -> str:
        """Return the accessible name of the focused element, or else its text."""
        return self.page.evaluate(
            "document.activeElement.getAttribute('aria-label') ?? document.activeElement.innerText"
        )

    def card_in_focus(self) -> str:
        """The display id of the card that has the focus."""
        return self.page.evaluate("document.activeElement.closest('[data-ref]').dataset.ref")

    def toast(self) -> Locator:
        """The toast messages at the edge of the page."""
        return self.page.locator("#toasts .toast")

    def overflow(self) -> int:
        """By how many pixels the page is wider than the screen."""
        return self.page.evaluate(
            "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        )


def watch(page: Page, problems: list[str]) -> None:
    """Record script errors and violations of the content policy."""

    def on_error(error: Any) -> None:
        if not str(error).startswith(NO_FADING):
            problems.append(f"{page.url}: {error}")

    page.on("pageerror", on_error)

    def on_console(message: Any) -> None:
        known = message.text.startswith((*REPORTED, *CUT_OFF, *NO_FADING))
        if message.type in ("error", "warning") and not known:
            problems.append(f"{page.url}: {message.text}")

    page.on("console", on_console)


def _login(context: BrowserContext, seeded: Seeded) -> None:
    name, _, value = seeded.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": seeded.url}])


def _watched_page(context: BrowserContext, seeded: Seeded) -> BrowserPage:
    context.set_default_timeout(10_000)
    expect.set_options(timeout=10_000)
    page = context.new_page()
    wide = BrowserPage(page, seeded.url)
    watch(page, wide.problems)
    return wide


def open_page(browser: Browser, seeded: Seeded, **options: Any) -> Iterator[BrowserPage]:
    """Open a page in a new context, logged in as Ada; fail if anything reached the console."""
    options.setdefault("viewport", WIDE)
    context = browser.new_context(**options)
    _login(context, seeded)
    wide = _watched_page(context, seeded)
    yield wide
    context.close()
    assert wide.problems == [], wide.problems


@dataclass
class Contexts:
    """Idle browser contexts, by the options of their pages."""

    browser: Browser
    idle: dict[str, list[BrowserContext]] = field(default_factory=dict)


def borrow_page(contexts: Contexts, seeded: Seeded, **options: Any) -> Iterator[BrowserPage]:
    """Like ``open_page``, in a context that other tests used: only their cached files remain.

    Reloading all scripts and styles takes three quarters of the time of a short test. The first
    page of a context stays open and empty: Chromium ends the process of a context without pages.
    Tests whose effects cannot be reset, such as a fake clock, need ``open_page``.
    """
    options.setdefault("viewport", WIDE)
    idle = contexts.idle.setdefault(repr(sorted(options.items())), [])
    if idle:
        context = idle.pop()
    else:
        context = contexts.browser.new_context(**options)
        context.new_page()
    context.clear_cookies()
    context.clear_permissions()
    context.set_offline(False)
    wide = _watched_page(context, seeded)
    storage = context.new_cdp_session(wide.page)
    storage.send("Storage.clearDataForOrigin", {"origin": seeded.url, "storageTypes": "all"})
    _login(context, seeded)
    storage.detach()
    yield wide
    for page in context.pages[1:]:
        page.close()
    idle.append(context)
    assert wide.problems == [], wide.problems
