"""Texts of tickets, comments and pages: rendered, with all their links looked up at once."""

import re

import pytest
from sqlalchemy import select

from app.audit.models import AuditEvent
from app.database.session import session
from app.markdown import rendering
from tests.support.cast import in_app
from tests.web.test_statements import LIMIT

TICKETS = "/tickets/OPEN-1"


@pytest.fixture
def home(cast):
    """A wiki page of OPEN."""
    return cast.ada.post(
        "/wiki/pages", {"title": "Home", "body": "# Top\n\nText", "project_id": cast.open_project}
    ).json


def say(cast, body: str) -> str:
    cast.ada.patch(TICKETS, {"body": body})
    return cast.ada.get(TICKETS).json["id"]


def test_a_ticket_is_laid_out_with_its_links(ada, cast, ticket, home):
    states = cast.ada.get(f"/projects/{cast.open_project}/workflow-states").json["data"]
    cast.ada.post("/tickets/OPEN-2/transition", {"state_id": states[-1]["id"]})
    say(cast, "## Why\n\n**Bold** [[home]], [[missing]], OPEN-2, [[ticket:OPEN-77]], UTF-8")
    text = ada.get(TICKETS).text
    assert "<strong>Bold</strong>" in text
    assert '<h2 id="h-why">Why</h2>' in text
    assert '<a class="wikilink" href="/projects/OPEN/wiki/home" title="Home">Home</a>' in text
    assert 'class="wikilink is-broken" href="/projects/OPEN/wiki/missing/edit"' in text
    done = 'class="ticket-link is-done" href="/tickets/OPEN-2" title="A part · Done"'
    assert done in text
    assert "OPEN-77" in text
    assert 'href="/tickets/OPEN-77"' not in text
    assert "UTF-8" in text


def test_comments_are_laid_out_and_what_they_said_before_is_compared(ada, cast, ticket):
    made = cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": "# A\n\n_First_"}).json
    cast.ada.patch(f"/comments/{made['id']}", {"body": "# A\n\n_Second_ OPEN-2"})
    cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": "# A"})
    text = ada.get(TICKETS).text
    assert "<em>Second</em>" in text
    anchors = re.findall(r'<h2 id="([^"]*)">A</h2>', text)
    assert len(anchors) == len(set(anchors)) == 2
    # The text before the edit is loaded only when the history is opened.
    assert "First" not in text
    history = ada.get(f"/comments/{made['id']}/history", htmx=True).text
    assert "<del>_First_</del>" in history
    assert "<ins>_Second_ OPEN-2</ins>" in history
    fragment = ada.get(f"/comments/{made['id']}", htmx=True).text
    assert "<em>Second</em>" in fragment
    assert 'href="/tickets/OPEN-2"' in fragment


def test_a_new_comment_and_a_saved_description_come_laid_out(ada, ticket):
    answer = ada.post(f"{TICKETS}/comments", htmx=True, body="*Fresh*")
    assert "<em>Fresh</em>" in answer.text
    seen = {"seen": "", "value": "*New* OPEN-2"}
    answer = ada.post(f"{TICKETS}/fields/body", htmx=True, **seen)
    assert "<em>New</em>" in answer.text
    assert 'href="/tickets/OPEN-2"' in answer.text
    assert "<em>New</em>" in ada.get(f"{TICKETS}/fields/body?view=1", htmx=True).text


def test_people_and_bots_that_are_named_are_pills(ada, cast, ticket):
    say(cast, "@ada and @SMITH, not @nobody")
    text = ada.get(TICKETS).text
    assert '<span class="mention" title="Ada">@ada</span>' in text
    assert '<span class="mention is-bot" title="Smith (bot)">@SMITH</span>' in text
    assert ", not @nobody" in text
    page = cast.ada.post("/wiki/pages", {"title": "Who", "body": "Ask @ada"}).json
    shown = ada.get(f"/wiki/{page['slug']}").text
    assert 'title="Ada">@ada</span>' in shown
    # A changed name is shown at once.
    cast.ada.patch(f"/users/{cast.ada.user_id}", {"display_name": "Ada Berg"})
    assert 'title="Ada Berg">@ada</span>' in ada.get(TICKETS).text
    assert 'title="Ada Berg">@ada</span>' in ada.get(f"/wiki/{page['slug']}").text


def test_a_ticket_full_of_links_takes_few_statements(ada, cast, ticket, home):
    say(cast, "[[home]] [[missing]] OPEN-1 OPEN-2")
    with ada.statements() as before:
        ada.get(TICKETS)
    for number in range(8):
        body = f"[[home]] [[none-{number}]] OPEN-{number} [[ticket:OPEN-2]]"
        cast.ada.post(f"/tickets/{ticket['id']}/comments", {"body": body})
    with ada.statements() as after:
        ada.get(TICKETS)
    assert len(after) == len(before)
    assert len([one for one in after if one.startswith("SELECT")]) <= LIMIT


def test_a_page_of_the_project_comes_before_the_global_one(ada, cast, ticket, home):
    cast.ada.post("/wiki/pages", {"title": "Home"})
    cast.ada.post("/wiki/pages", {"title": "Common"})
    say(cast, "[[home]] [[common]]")
    text = ada.get(TICKETS).text
    assert 'href="/projects/OPEN/wiki/home"' in text
    assert 'href="/wiki/common"' in text
    cast.ada.delete(f"/wiki/pages/{home['id']}")
    assert 'class="wikilink" href="/wiki/home"' in ada.get(TICKETS).text


def test_links_heal_and_break_with_their_pages(ada, cast, home):
    cast.ada.post("/wiki/pages", {"title": "A", "body": "[[later]]"})
    assert 'class="wikilink is-broken" href="/wiki/later/edit"' in ada.get("/wiki/a").text
    made = cast.ada.post("/wiki/pages", {"title": "Later"}).json
    assert '<a class="wikilink" href="/wiki/later"' in ada.get("/wiki/a").text
    cast.ada.delete(f"/wiki/pages/{made['id']}")
    assert "is-broken" in ada.get("/wiki/a").text


def test_a_deleted_ticket_and_one_of_a_deleted_project_are_not_linked(ada, cast, ticket):
    cast.ada.post("/wiki/pages", {"title": "A", "body": "OPEN-2 [[ticket:OPEN-1]]"})
    assert ada.get("/wiki/a").text.count('<a class="ticket-link') == 2
    cast.ada.delete("/tickets/OPEN-2")
    assert ada.get("/wiki/a").text.count('<a class="ticket-link') == 1
    cast.ada.delete(f"/projects/{cast.open_project}")
    assert '<a class="ticket-link' not in ada.get("/wiki/a").text


def test_the_contents_come_from_three_headings_on(ada, cast):
    cast.ada.post("/wiki/pages", {"title": "Short", "body": "## One\n\n## Two"})
    cast.ada.post(
        "/wiki/pages", {"title": "Long", "body": "## One\n\n### Two\n\n#### Deep\n\n## Four"}
    )
    assert "On this page" not in ada.get("/wiki/short").text
    text = ada.get("/wiki/long").text
    assert re.findall(r'<li class="toc-(\d)"><a href="#(h-[\w-]+)">', text) == [
        ("2", "h-one"),
        ("3", "h-two"),
        ("2", "h-four"),
    ]
    assert 'id="h-two"' in text


def test_a_text_that_cannot_be_laid_out_is_shown_and_recorded_once(
    ada, cast, ticket, app, monkeypatch
):
    made = cast.ada.post("/wiki/pages", {"title": "Odd", "body": "Unlucky <b>words</b>"}).json
    say(cast, "Unlucky <b>words</b>")

    def fail(*_args, **_more):
        raise RecursionError("too deep")

    monkeypatch.setattr(rendering, "_rendered", fail)
    for _ in range(2):
        answer = ada.get("/wiki/odd")
        assert answer.status_code == 200
        assert "Unlucky &lt;b&gt;words&lt;/b&gt;" in answer.text
        assert "could not be rendered" in answer.text
    assert "Unlucky &lt;b&gt;words" in ada.get(TICKETS).text
    assert recorded(app) == [(made["id"], {"revision_number": 1, "error": "RecursionError"})]
    # A text of its own for each database: a rendered text is cached for the whole process.
    cast.ada.patch(f"/wiki/pages/{made['id']}", {"body": f"Unlucky again {made['id']}"})
    monkeypatch.setattr("app.wiki.pages.show._recorded", {})
    ada.get("/wiki/odd")
    ada.get("/wiki/odd")
    assert [payload["revision_number"] for _, payload in recorded(app)] == [1, 2]
    monkeypatch.undo()
    assert "could not be rendered" not in ada.get("/wiki/odd").text


def recorded(app) -> list[tuple[str, dict]]:
    """Rendering failures in the audit log, oldest first."""
    found = select(AuditEvent.target_id, AuditEvent.payload).where(
        AuditEvent.event_type == "wiki.render_failed"
    )
    rows = in_app(app, lambda: session.execute(found.order_by(AuditEvent.created_at)).all())
    return [(row.target_id, row.payload) for row in rows]
