"""Take a screenshot of every page, wide and on a phone, in light and dark.

Starts a server on a temporary instance and fills it; the screenshots go to screenshots/, one folder
per look, and replace earlier ones. Those used in README.md also go to docs/pictures/.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from playwright.sync_api import Browser, Page, sync_playwright

from tests.browser.conftest import chromium_path
from tests.browser.seed import Seeded
from tests.conftest import REAL_DATA
from tests.screenshots.sample import DOORS, fill, run_flask
from tests.screenshots.staged import STAGED, resume
from tests.support.serving import ROOT, Served, serving

FOLDER = ROOT / "screenshots"
LOOKS: dict[str, dict[str, Any]] = {
    "wide-light": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "light"},
    "wide-dark": {"viewport": {"width": 1280, "height": 800}, "color_scheme": "dark"},
    "phone-light": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
    "phone-dark": {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"},
}
STRANGERS = {
    "login": "/login",
    "forgot": "/forgot-password",
    "password": "{invite}",
    "password-over": "/password/used",
    "setup": "{new}/setup",
}
# Sample project pages that README.md shows.
IN_README = {"board": "/projects/SAMPLE/board", "bot-review": "/bots/sample-writer/review"}
# Pages that the guides show in both themes, like the README.
IN_BOTH = {"sign-off": "/", "audit-event": "/audit/events/{overtaken}"}
# Elements to click first.
CLICKED = {"sign-off": "#need-DEMO-9 [hx-get]"}
# Pages that the guides show in light.
IN_GUIDES = {
    "receipts": "/bots/bot-dev-1/review",
    "rewind": "/rewind?bot=bot-dev-1&since=7d",
}
README_FOLDER = ROOT / "docs" / "pictures"
README_SIZE = {"width": 1280, "height": 640}
# Longer pages are cropped to this height.
TALLEST = 2600
PAGES = {
    "home": "/",
    "inbox": "/inbox",
    "projects": "/projects",
    "project": "/projects/DEMO",
    "project-activity": "/projects/DEMO/activity",
    "project-new": "/projects/new",
    "start": "/start",
    "start-people": "/start/people",
    "start-bot": "/start/bot",
    "board": "/projects/DEMO/board",
    "board-swimlanes": "/projects/DEMO/board?group=assignee",
    "board-filtered": "/projects/DEMO/board?priority=urgent",
    "board-all": "/board",
    "list": "/projects/DEMO/tickets",
    "list-groups": "/projects/DEMO/tickets?group=state&show=all",
    "list-tree": "/projects/DEMO/tickets?view=tree",
    "list-empty": "/projects/DEMO/tickets?q=nowhere",
    "list-all": "/tickets",
    "ticket": "/tickets/DEMO-2",
    "ticket-plain": "/tickets/DEMO-6",
    "ticket-epic": "/tickets/DEMO-1",
    "ticket-past": "/tickets/DEMO-2?change=1",
    "ticket-edit-body": "/tickets/DEMO-2/fields/body",
    "ticket-move": "/tickets/DEMO-2/move",
    "ticket-delete": "/tickets/DEMO-2/delete",
    "ticket-new": "/tickets/new?project=DEMO",
    "ticket-deleted": "/tickets/{gone}",
    "ticket-parts": "/tickets/DEMO-2/parts",
    "ticket-older-comments": "/tickets/DEMO-2/comments",
    "ticket-pick": "/tickets/DEMO-2/pick/assignee",
    "ticket-labels": "/tickets/DEMO-2/fields/labels",
    "ticket-watcher": "/tickets/DEMO-2/watchers/new",
    "sign-off": "/tickets/DEMO-9/sign-off",
    "ticket-files": "/tickets/DEMO-2/files",
    "file-delete": "/files/{file}/delete",
    "ticket-change": "/tickets/DEMO-2/changes/{event}",
    "comment-edit": "/comments/{own}/edit",
    "comment-history": "/comments/{comment}/history",
    "comment-delete": "/comments/{comment}/delete",
    "epics": "/projects/DEMO/epics",
    "wiki": "/projects/DEMO/wiki",
    "wiki-all": "/wiki",
    "wiki-page": "/projects/DEMO/wiki/agents",
    "wiki-edit": "/projects/DEMO/wiki/agents/edit",
    "wiki-new": "/projects/DEMO/wiki/new",
    "wiki-missing": "/projects/DEMO/wiki/missing-page",
    "wiki-revision": "/projects/DEMO/wiki/release-notes/history/1",
    "wiki-delete": "/projects/DEMO/wiki/agents/delete",
    "wiki-history": "/projects/DEMO/wiki/release-notes/history",
    "wiki-diff": "/projects/DEMO/wiki/release-notes/diff?from=1&to=2",
    "wiki-diff-split": "/projects/DEMO/wiki/release-notes/diff?from=1&to=2&view=split",
    "wiki-files": "/wiki/pages/{page}/files",
    "wiki-broken": "/wiki/broken-links",
    "notes": "/projects/DEMO/sticky-notes",
    "notes-mine": "/sticky-notes",
    "note-edit": "/sticky-notes/{note}/edit",
    "note-convert": "/sticky-notes/{note}/convert",
    "note-delete": "/sticky-notes/{note}/delete",
    "search": "/search?q=board",
    "search-nothing": "/search?q=zzzzqq",
    "bots": "/bots",
    "new-bot": "/new-bot",
    "bot": "/bots/bot-dev-1",
    "bot-review": "/bots/bot-dev-1/review",
    "bot-rewind": "/rewind?bot=bot-dev-1&since=7d",
    "webhooks": "/webhooks",
    "webhook-edit": "/webhooks/{webhook}/edit",
    "webhook-delete": "/webhooks/{webhook}/delete",
    "webhook-new": "/webhooks/new",
    "webhook": "/webhooks/{webhook}",
    "integrations": "/integrations",
    "integration-new": "/integrations/new",
    "integration": "/integrations/{integration}",
    "integration-delete": "/integrations/{integration}/delete",
    "audit": "/audit",
    "audit-event": "/audit/events/{event}",
    "audit-tools": "/audit/tools",
    "people": "/people",
    "profile": "/profile",
    "sessions": "/profile/sessions",
    "feeds": "/profile/feeds",
    "mail": "/mail",
    "two-factor": "/profile/two-factor",
    "passkeys": "/profile/passkeys",
    "sign-on": "/profile/sign-on",
    "notices": "/profile/mail",
    "settings": "/projects/DEMO/settings/general",
    "settings-states": "/projects/DEMO/settings/states",
    "settings-labels": "/projects/DEMO/settings/labels",
    "settings-states-edit": "/projects/DEMO/settings/states?edit={To do}",
    "settings-templates": "/projects/DEMO/settings/templates",
    "settings-template-new": "/projects/DEMO/settings/templates/new",
    "settings-bots": "/projects/DEMO/settings/bots",
    "empty-board": "/projects/EMPTY/board",
    "empty-list": "/projects/EMPTY/tickets",
    "empty-epics": "/projects/EMPTY/epics",
    "empty-wiki": "/projects/EMPTY/wiki",
    "empty-notes": "/projects/EMPTY/sticky-notes",
    "empty-labels": "/projects/EMPTY/settings/labels",
    "import": "/import?project=DEMO",
    "export": "/export",
    "help": "/help",
    "help-keys": "/help/shortcuts",
    "help-agents": "/help/agents",
    "design": "/design",
    "error": "/nowhere",
}
REAL = {
    "real-board": "/projects/REAL/board",
    "real-list": "/projects/REAL/tickets",
    "real-epics": "/projects/REAL/epics",
    "real-wiki": "/projects/REAL/wiki",
    "real-search": "/search?q=agent",
}
# Things that open on a page: the address, then the element to click.
OPENED = {
    "open-palette": ("/projects/DEMO/board", "[data-palette]:visible"),
    "open-menu": ("/projects", ".header .face"),
    "open-switch": ("/projects/DEMO/board", ".switcher summary"),
    "open-filters": ("/projects/DEMO/board", ".filter-menu summary"),
    "open-quick-add": ("/projects/DEMO/board", "[data-add] >> nth=1"),
    "open-move": ("/projects/DEMO/board", ".card-more >> nth=0"),
    "open-state": ("/tickets/DEMO-2", "#edit-state"),
    "open-title": ("/tickets/DEMO-2", "#edit-title"),
    "open-columns": ("/projects/DEMO/tickets", ".column-menu summary"),
    "open-bulk": ("/projects/DEMO/tickets", "tbody [name=id] >> nth=0"),
    "open-labels": ("/tickets/DEMO-2", "#edit-labels"),
    "open-due": ("/tickets/DEMO-2", "#edit-due_date"),
    "open-admin": ("/projects/DEMO/board", ":is(.admin-menu, .bottom-bar .menu) > summary:visible"),
    "open-views": ("/projects/DEMO/board", ".view-menu summary"),
    "open-sign-off": ("/", CLICKED["sign-off"]),
    "open-replace": ("/projects/DEMO/settings/states", ".state-row summary >> nth=0"),
}


@contextmanager
def looking(browser: Browser, made: Seeded, look: str) -> Iterator[Page]:
    """Provide a page with this look, logged in as Ada."""
    phone = {"has_touch": True, "is_mobile": True} if look.startswith("phone") else {}
    context = browser.new_context(**LOOKS[look], **phone, reduced_motion="reduce")
    name, _, value = made.cookie.partition("=")
    context.add_cookies([{"name": name, "value": value, "url": made.url}])
    yield context.new_page()
    context.close()


def keep(page: Page, path: Path, *, whole: bool = True) -> None:
    """Save a screenshot of the page, and report if the page is wider than the screen."""
    page.wait_for_load_state("networkidle")
    width, height, inner = page.evaluate(
        "(({scrollWidth, scrollHeight, clientWidth}) => [scrollWidth, scrollHeight, clientWidth])"
        "(document.documentElement)"
    )
    if width > inner:
        print(f"{path.parent.name}/{path.name}: {width - inner} px too wide", file=sys.stderr)
    if whole and height > page.viewport_size["height"]:
        clip = {"x": 0, "y": 0, "width": inner, "height": min(height, TALLEST)}
        page.screenshot(path=path, full_page=True, clip=clip)
    else:
        page.screenshot(path=path)


def _for_readme(browser: Browser, made: Seeded, served: Served, instance: Path) -> None:
    run_flask(instance, served, "sample-project", "--as", "ada")
    for theme in ("light", "dark"):
        with looking(browser, made, f"wide-{theme}") as page:
            page.set_viewport_size(README_SIZE)
            shown = IN_README | IN_BOTH | (IN_GUIDES if theme == "light" else {})
            for name, path in shown.items():
                page.goto(made.url + path.format(**made.ids))
                if name in CLICKED:
                    page.click(CLICKED[name])
                keep(page, README_FOLDER / f"{name}-{theme}.png", whole=False)


def main() -> None:
    """Take the screenshots whose names contain one of the given words, or all."""
    parser = argparse.ArgumentParser(prog="make screenshots", description=__doc__)
    parser.add_argument("words", nargs="*", help="only pages whose names contain one of these")
    parser.add_argument("--look", choices=LOOKS, action="append", help="only these (all)")
    asked = parser.parse_args()
    found = chromium_path()
    if found is None:
        sys.exit("No Chromium is installed.")
    pages = PAGES | (REAL if REAL_DATA.exists() else {})

    def wanted(name: str) -> bool:
        return not asked.words or any(word in name for word in asked.words)

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        instance = Path(folder) / "instance"
        # The design system page requires debug mode.
        with (
            serving(instance, FLASK_DEBUG="1", **DOORS) as served,
            serving(Path(folder) / "new") as new,
        ):
            made = fill(served, instance)
            # No invitation can be opened until its screenshot has been taken.
            made.ids |= {"new": new.url, "invite": "/password/none"}
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            for look in asked.look or LOOKS:
                target = FOLDER / look
                target.mkdir(parents=True, exist_ok=True)
                with looking(browser, made, look) as page:
                    for name, path in pages.items():
                        if wanted(name):
                            page.goto(made.url + path.format(**made.ids))
                            keep(page, target / f"{name}.png", whole="board" not in name)
                    for name, (path, click) in OPENED.items():
                        if wanted(name):
                            page.goto(made.url + path)
                            page.click(click)
                            keep(page, target / f"{name}.png", whole=False)
                    for name, stage in STAGED.items():
                        if wanted(name):
                            stage(page, made)
                            whole = not {"peek", "open"} & set(name.split("-"))
                            keep(page, target / f"{name}.png", whole=whole)
                            if name.startswith("paused"):
                                resume(page, made)
                    page.context.clear_cookies()
                    for name, path in STRANGERS.items():
                        if wanted(name):
                            page.goto(urljoin(made.url, path.format(**made.ids)))
                            keep(page, target / f"{name}.png", whole=False)
            if wanted("readme"):
                _for_readme(browser, made, served, instance)
            browser.close()
    print(f"{FOLDER}")


if __name__ == "__main__":
    main()
