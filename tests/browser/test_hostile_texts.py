"""Hostile texts in a real browser: nothing runs, and nothing violates the content policy."""

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


def judge(wide):
    """Check that no script came in, and that no element has what only a script would set."""
    page = wide.page
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
def watched(wide):
    """A wide screen; an opened dialog fails the test."""
    opened = []
    wide.page.on("dialog", lambda dialog: (opened.append(dialog.message), dialog.dismiss()))
    yield wide
    assert opened == []


def test_hostile_wiki_pages(watched, seeded):
    for number, body in enumerate(parts()):
        title = f"Hostile {number}"
        seeded.call("POST", "/wiki/pages", {"title": title, "body": body})
        watched.go(f"/wiki/hostile-{number}")
        judge(watched)


def test_hostile_tickets_and_comments(watched, seeded):
    body = parts()[0][:60_000]
    name = seeded.ticket("<script>alert(1)</script>", body=body)
    for text in parts()[1:3]:
        seeded.call("POST", f"/tickets/{name}/comments", {"body": text[:60_000]}, as_bot=True)
    watched.go(f"/tickets/{name}")
    judge(watched)


def test_hostile_notes(watched, seeded):
    for text in parts():
        seeded.call("POST", "/sticky-notes", {"body": text[:60_000]})
    watched.go("/sticky-notes")
    judge(watched)
