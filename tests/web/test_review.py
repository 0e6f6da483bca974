"""The review of a bot: what it did since the last look, undo of it, and the marker that moves."""

import re

import pytest
from sqlalchemy import insert

from app.accounts.personal import marker, move_marker
from app.activity import bot_review
from app.audit.models import AuditEvent
from app.core.actor import Actor, ActorKind
from app.core.clock import DAY_MS
from app.database.session import db
from tests.support.cast import in_app
from tests.support.story import urgent

HERE = "/bots/smith/review"


@pytest.fixture
def path(ticket):
    return f"/tickets/{ticket['id']}"


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def good(ada):
    """Press "Looks good" as the page offers it."""
    last = re.search(r'name="event_id" value="([^"]+)"', ada.get(HERE).text)[1]
    return ada.post(HERE, event_id=last)


def test_what_a_bot_did_is_grouped_by_request_with_its_texts(ada, cast, path):
    cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    cast.smith.post(f"{path}/comments", {"body": "Said by <b>the bot</b>."})
    cast.smith.patch(path, {"body": "Old words here."})
    cast.smith.patch(path, {"body": "New words here."})
    body = {"title": "A page", "body": "Before.", "project_id": cast.open_project}
    page_id = cast.smith.post("/wiki/pages", body).json["id"]
    cast.smith.patch(f"/wiki/pages/{page_id}", {"body": "After."})
    # The changes of others, and what the bot only read, are not part of the review.
    cast.ada.patch(path, {"title": "By Ada"})
    cast.smith.get(path)
    page = ada.get(HERE)
    text = text_of(page)
    assert page.text.count('class="panel call"') == 6
    assert "Assigned it to Smith" in text
    assert "Lowered the priority to low" in text
    assert "Said by &lt;b&gt;the bot&lt;/b&gt;." in text
    assert "<del>Old</del>" in page.text
    assert "<ins>New</ins>" in page.text
    assert 'href="/projects/OPEN/wiki/a-page"' in page.text
    assert "<del>Before.</del>" in page.text
    assert "hanged the title" not in text
    assert "7 changes in 6 requests" in text
    assert page.text.count("Undo all") == 1


def test_what_commits_late_is_reviewed_after_looks_good(ada, app, database, cast, ticket):
    if database.kind != "postgresql":
        # It has one writer at a time.
        return
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "First"})
    with app.app_context(), db.engine.begin() as slow:
        slow.execute(insert(AuditEvent).values(urgent(ticket, actor_user_id=cast.smith.user_id)))
        cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "Second"})
        good(ada)
    text = text_of(ada.get(HERE))
    assert "Second" in text
    assert "urgent" in text
    assert "First" not in text


def test_looks_good_moves_the_readers_own_marker(ada, cast, path):
    cast.smith.patch(path, {"priority": "low"})
    assert good(ada).location == HERE
    assert "Nothing new" in text_of(ada.get(HERE))
    cast.smith.patch(path, {"priority": "high"})
    text = text_of(ada.get(HERE))
    assert "Raised the priority to high" in text
    assert "from medium to low" not in text
    # Bo has not reviewed the bot.
    bo = cast.bo.client.get(HERE, headers={"Accept": "text/html"})
    assert "Lowered the priority to low" in text_of(bo)


def test_the_marker_never_moves_back(app, cast):
    ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    for event_id in (cast.bo.user_id, cast.smith.user_id, cast.bo.user_id):
        in_app(app, lambda event_id=event_id: move_marker(ada, "bot:x", event_id))
    found = in_app(app, lambda: marker(ada, "bot:x").event_id)
    assert found == max(cast.bo.user_id, cast.smith.user_id)


def test_undo_of_one_and_of_a_whole_request(ada, cast, path):
    answer = cast.smith.patch(path, {"priority": "low", "assignee_user_id": cast.smith.user_id})
    request = answer.headers["X-Request-Id"]
    page = ada.get(HERE).text
    assert f'action="/audit/requests/{request}/undo"' in page
    (first, _) = re.findall(r'action="/audit/events/([^"]+)/undo"', page)
    assert ada.post(f"/audit/events/{first}/undo", back=HERE).location == HERE
    page = ada.get(HERE).text
    assert page.count('class="change undone"') == 1
    # A single undo is left, which has its own button.
    assert "Undo all" not in page
    done = ada.post(f"/audit/requests/{request}/undo", back=HERE)
    assert "1 undone, 1 not undone" in done.text
    assert "Nothing left to undo." in done.text
    ticket = cast.ada.get(path).json
    assert (ticket["priority"], ticket["assignee"]) == ("medium", None)
    assert ada.get(HERE).text.count('class="change undone"') == 2


def test_a_page_that_was_undone_shows_it(ada, cast):
    body = {"title": "A page", "body": "Before.", "project_id": cast.open_project}
    page_id = cast.smith.post("/wiki/pages", body).json["id"]
    cast.smith.patch(f"/wiki/pages/{page_id}", {"body": "After."})
    events = re.findall(r'action="/audit/events/([^"]+)/undo"', ada.get(HERE).text)
    ada.post(f"/audit/events/{events[-1]}/undo", back=HERE)
    assert ada.get(HERE).text.count('class="change undone"') == 1
    assert cast.ada.get(f"/wiki/pages/{page_id}").json["body"] == "Before."


def test_long_work_comes_in_parts(ada, cast, path, monkeypatch):
    monkeypatch.setattr(bot_review, "EVENTS_SHOWN", 3)
    for priority in ("low", "high", "urgent", "low", "high"):
        cast.smith.patch(path, {"priority": priority})
    text = text_of(ada.get(HERE))
    assert "These look good 3 changes in 3 requests; 2 more after these" in text
    good(ada)
    text = text_of(ada.get(HERE))
    assert "2 changes in 2 requests" in text
    assert "more after these" not in text


def test_without_a_marker_the_review_goes_back_a_week(ada, cast, path, monkeypatch):
    cast.smith.patch(path, {"priority": "low"})
    real = bot_review.now_ms
    monkeypatch.setattr(bot_review, "now_ms", lambda: real() + 8 * DAY_MS)
    text = text_of(ada.get(HERE))
    assert "not reviewed yet" in text
    assert "Nothing new" in text


@pytest.mark.parametrize("name", ["nobody-here", "ada"])
def test_only_bots_are_reviewed(ada, cast, name):
    assert ada.get(f"/bots/{name}/review").status_code == 404
    assert ada.post(f"/bots/{name}/review", event_id="x").status_code == 404


def test_a_marker_is_an_event_of_that_bot(ada, cast, path):
    cast.ada.patch(path, {"priority": "low"})
    of_ada = cast.ada.get("/audit").json["data"][0]["id"]
    for event_id in ("", "x", of_ada):
        assert ada.post(HERE, event_id=event_id).status_code == 422
    assert "Nothing new" in text_of(ada.get(HERE))


def test_bots_have_no_pages(cast):
    answer = cast.smith.call("GET", f"/{HERE}")
    assert answer.status_code in (303, 401)


def test_the_review_takes_few_statements_however_much_was_done(ada, cast, path):
    counts = []
    for _ in range(2):
        label = cast.ada.post(
            f"/projects/{cast.open_project}/labels", {"name": f"l{len(counts)}"}
        ).json["id"]
        cast.smith.patch(path, {"label_ids": [label], "assignee_user_id": cast.bo.user_id})
        cast.smith.patch(path, {"assignee_user_id": cast.smith.user_id})
        body = {"title": f"P{len(counts)}", "body": "x", "project_id": cast.open_project}
        page_id = cast.smith.post("/wiki/pages", body).json["id"]
        cast.smith.patch(f"/wiki/pages/{page_id}", {"body": "y"})
        with ada.statements() as seen:
            assert ada.get(HERE).status_code == 200
        counts.append(len([one for one in seen if one.lstrip().upper().startswith("SELECT")]))
    assert counts[0] == counts[1] <= 12
