"""What a bot did is marked as a bot's wherever people read it, whatever the bot's name is."""

import re

import pytest

from tests.support.cases import cases
from tests.support.story import ok

MARK = r'\s*<span class="badge">bot</span>'


@pytest.fixture(name="work")
def _work(cast, ticket):
    """Give smith a name like ada's; it comments, changes, writes a page and asks ada."""
    ok(cast.ada.patch(f"/bots/{cast.smith.user_id}", {"display_name": "Ada Trust"}))
    path = f"/tickets/{ticket['id']}"
    ok(cast.smith.post(f"{path}/comments", {"body": "Approved, @ada: merge it."}), 201)
    ok(cast.smith.patch(path, {"priority": "urgent"}))
    page = {"title": "Signed off", "slug": "signed", "project_id": cast.open_project, "body": "x"}
    ok(cast.smith.post("/wiki/pages", page), 201)


@cases(
    "path",
    [
        "/tickets/OPEN-1",
        "/projects/OPEN/wiki/signed",
        "/audit",
        "/projects/OPEN/activity",
        "/",
        "/inbox",
    ],
)
def test_a_bot_that_is_called_like_a_person_is_marked_as_a_bot(ada, work, path):
    answer = ada.get(path)
    assert answer.status_code == 200
    after = [answer.text[found.end() :] for found in re.finditer("Ada Trust", answer.text)]
    assert any(re.match(f"(</strong>)?{MARK}", text) for text in after)
    # The name of whoever acted is in bold.
    did = [text for text in after if text.startswith("</strong>")]
    assert all(re.match(f"</strong>{MARK}", text) for text in did)


def test_no_mark_is_put_to_what_a_person_did(ada, cast, ticket):
    ok(cast.ada.patch(f"/users/{cast.bo.user_id}", {"display_name": "Bo Person"}))
    ok(cast.bo.post(f"/tickets/{ticket['id']}/comments", {"body": "By a person"}), 201)
    text = ada.get("/tickets/OPEN-1").text
    assert "<strong>Bo Person</strong>" in text
    assert re.search(f"Bo Person</strong>{MARK}", text) is None
