"""Screenshots that need more than a click."""

from uuid import uuid4

from playwright.sync_api import Page

from tests.browser.seed import PASSWORD, Seeded

ISSUES = """\
Title,Status,Priority,Assignee,Labels,Due date
The lamp on floor two is dark,Doing,High,ada,bug,2026-12-01
Write down how to restore a backup,To do,Highest,Jane Roe,docs,soon
Rotate the certificates,Done,Low,,,
"""


def _preview(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/import?project=DEMO")
    file = {"name": "issues.csv", "mimeType": "text/csv", "buffer": ISSUES.encode()}
    page.set_input_files("#files", [file])
    page.click("[name=do][value=try]")
    page.wait_for_selector("#report-title")


def _token(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/bots")
    page.click("#bot-bot-dev-1 .menu summary")
    page.click("#bot-bot-dev-1 [value=rotate]")
    page.wait_for_selector("#reveal-title")


def _delivery(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/webhooks/{made.ids['webhook']}")
    page.click(".delivery-row a >> nth=0")
    page.wait_for_selector("#request-title")


def _conflict(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/projects/DEMO/wiki/agents/edit")
    mine = page.input_value("[name=body]").replace("whoever has the ticket", "whoever took it")
    slug = "/wiki/pages/agents?project_id=" + made.ids["project"]
    there = made.call("GET", slug)
    theirs = there["body"].replace("whoever has the ticket", "the assignee")
    made.call("PATCH", f"/wiki/pages/{there['id']}", {"body": theirs})
    page.fill("[name=body]", mine)
    page.click("[data-save]")
    page.wait_for_selector("[name=take]")
    # Restore the page for the next look.
    made.call("PATCH", f"/wiki/pages/{there['id']}", {"body": there["body"]})


def _peek(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/projects/DEMO/tickets")
    page.focus("tbody tr:nth-child(2) [data-row-link]")
    page.keyboard.press("Space")
    page.wait_for_selector("#peek-title")


def _keys(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/projects/DEMO/board")
    page.wait_for_load_state("networkidle")
    page.keyboard.press("?")
    page.wait_for_selector(".key-sheet[open], dialog[open]")


def _invite(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/people")
    page.fill("[name=display_name]", f"Eva {uuid4().hex[:4]}")
    page.click("text=Create invite link")
    page.wait_for_selector("#link-title")
    made.ids["invite"] = page.input_value("#password-link").removeprefix(made.url)


def _template(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/projects/DEMO/settings/templates/new")
    page.fill("[name=name]", f"Bug {uuid4().hex[:4]}")
    page.fill("[name=title]", "What is wrong, in a few words")
    page.click("text=Create template")
    page.wait_for_selector(".template-row")


def _undo(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/audit/events/{made.ids['overtaken']}")
    page.click("[data-undo], button:has-text('Undo')")
    page.wait_for_selector(":is(h1, h2):has-text('Undo anyway')")


def _bulk_more(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/projects/DEMO/tickets")
    page.click("tbody [name=id] >> nth=0")
    page.click(".bulk-bar .menu summary")


def _paused_bot(page: Page, made: Seeded) -> None:
    resume(page, made)
    page.goto(f"{made.url}/bots")
    page.click("#bot-bot-dev-1 .menu summary")
    with page.expect_navigation():
        page.click("#bot-bot-dev-1 [value=pause]")
    page.goto(f"{made.url}/bots/bot-dev-1")


def _paused_bots(page: Page, made: Seeded) -> None:
    _paused_bot(page, made)
    page.goto(f"{made.url}/bots")


def _paused_board(page: Page, made: Seeded) -> None:
    resume(page, made)
    page.goto(f"{made.url}/bots")
    with page.expect_navigation():
        page.click("[name=action][value=pause]:has-text('Pause all')")
    page.goto(f"{made.url}/projects/DEMO/board")


def _paused_all(page: Page, made: Seeded) -> None:
    _paused_board(page, made)
    page.goto(f"{made.url}/bots")


def _two_factor(page: Page, made: Seeded) -> None:
    page.goto(f"{made.url}/profile/two-factor")
    page.fill("[name=current_password]", PASSWORD)
    page.click("text=Continue")
    page.wait_for_selector("#secret")


def resume(page: Page, made: Seeded) -> None:
    """Restore the state for the next screenshot."""
    page.goto(f"{made.url}/projects/DEMO/board")
    while page.locator(".paused [value=resume]").count():
        with page.expect_navigation():
            page.locator(".paused [value=resume]").first.click()


# Screenshots that need more than a click.
STAGED = {
    "open-keys": _keys,
    "open-bulk-more": _bulk_more,
    "people-invite": _invite,
    "settings-templates-some": _template,
    "undo-conflict": _undo,
    "paused-bot": _paused_bot,
    "paused-bots": _paused_bots,
    "paused-board": _paused_board,
    "paused-all": _paused_all,
    "import-preview": _preview,
    "bot-token": _token,
    "webhook-delivery": _delivery,
    "wiki-conflict": _conflict,
    "two-factor-set-up": _two_factor,
    "list-peek": _peek,
}
