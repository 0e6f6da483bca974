"""Hostile texts in a real browser: nothing runs, and the content policy has nothing to refuse."""

import pytest

from tests.markdown.hostile import corpus

PER_PAGE = 220
EVERYWHERE = [
    "onclick",
    "onload",
    "onerror",
    "onfocus",
    "ontoggle",
    "onmouseover",
    "style",
    "srcdoc",
    "formaction",
]


def parts():
    texts = [text.replace("\x00", " ") for text in corpus()]
    return ["\n\n---\n\n".join(texts[at : at + PER_PAGE]) for at in range(0, len(texts), PER_PAGE)]


def judge(desk):
    """No dialog opened, no script came in, no element has what only a script would set."""
    page = desk.page
    page.wait_for_load_state("networkidle")
    inside = page.locator(".markdown")
    assert inside.count()
    for tag in (
        "script",
        "iframe",
        "object",
        "embed",
        "form",
        "svg",
        "math",
        "style",
        "base",
        "img",
    ):
        assert page.locator(f".markdown {tag}").count() == 0, tag
    found = page.evaluate(
        "names => [...document.querySelectorAll('.markdown *')].filter("
        "e => names.some(name => e.hasAttribute(name))).map(e => e.outerHTML.slice(0, 200))",
        EVERYWHERE,
    )
    assert found == []
    schemes = page.evaluate(
        "[...new Set([...document.querySelectorAll('.markdown a[href]')].map(a => a.protocol))]"
    )
    assert set(schemes) <= {"http:", "https:", "mailto:"}


@pytest.fixture
def watched(desk):
    """The desk; an opened dialog fails the test."""
    opened = []
    desk.page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    yield desk
    assert opened == []


def test_hostile_wiki_pages(watched, furnished):
    for number, body in enumerate(parts()):
        title = f"Hostile {number}"
        furnished.call("POST", "/wiki/pages", {"title": title, "body": body})
        watched.go(f"/wiki/hostile-{number}")
        judge(watched)


def test_hostile_tickets_and_comments(watched, furnished):
    body = parts()[0][:60_000]
    name = furnished.ticket("<script>alert(1)</script>", body=body)
    for text in parts()[1:3]:
        furnished.call("POST", f"/tickets/{name}/comments", {"body": text[:60_000]}, as_bot=True)
    watched.go(f"/tickets/{name}")
    judge(watched)


def test_hostile_notes(watched, furnished):
    for text in parts():
        furnished.call("POST", "/sticky-notes", {"body": text[:60_000]})
    watched.go("/sticky-notes")
    judge(watched)
