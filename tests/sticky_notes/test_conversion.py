"""POST /sticky-notes/{id}/convert-to-ticket."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from app.sticky_notes.conversion import default_title
from tests.sticky_notes.test_notes import NOWHERE, personal_note, project_note
from tests.support.cast import Cast
from tests.support.story import events, invalid, make_ticket, ok, refused


@pytest.mark.parametrize(
    ("body", "title"),
    [
        ("Buy milk", "Buy milk"),
        ("\n  \n# Heading\nrest", "Heading"),
        ("###### Deep", "Deep"),
        ("#hashtag", "#hashtag"),
        ("- [ ] a task", "a task"),
        ("* [x] done", "done"),
        ("12. twelfth", "twelfth"),
        ("> quoted **bold** text", "quoted bold text"),
        ("> - # **_all_** of `it`", "all of it"),
        ("~~gone~~ `code`", "gone code"),
        ("`a*b*c` and *d*", "a*b*c and d"),
        ("**what `` x`*y* `` says**", "what x`*y* says"),
        (r"\*two\* \`signs\`", "*two* `signs`"),
        ("a ` alone", "a ` alone"),
        ("###### six ######", "six"),
        ("> ## quoted ##", "quoted"),
        ("# in C#", "in C#"),
        ("no heading ##", "no heading ##"),
        ("- ## in a list ##", "in a list"),
        (r"\``a*b*` x", "`a*b* x"),
        ("```python\nprint()\n```", "print()"),
        ("snake_case_name stays", "snake_case_name stays"),
        ("2 * 3 * 4", "2 * 3 * 4"),
        ("-5 degrees", "-5 degrees"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 199 + "…"),
        ("---\n", "---"),
    ],
)
def test_the_default_title(body: str, title: str) -> None:
    assert default_title(body) == title


def convert(cast: Cast, note, caller=None, status=201, **fields):
    answer = (caller or cast.ada).post(f"/sticky-notes/{note['id']}/convert-to-ticket", fields)
    return ok(answer, status)


def test_a_project_note_becomes_a_ticket_and_stays(cast: Cast, app) -> None:
    note = project_note(cast, body="# Fix **it**\nsoon")
    ticket = convert(cast, note, cast.smith)
    assert (ticket["title"], ticket["body"]) == ("Fix it", "# Fix **it**\nsoon")
    assert (ticket["type"], ticket["priority"]) == ("story", "medium")
    (shown,) = ok(cast.ada.get(f"/projects/{cast.open_project}/sticky-notes"))["data"]
    assert shown["converted_to_ticket_id"] == ticket["id"]
    (event,) = events(app, event_type="sticky_note.converted")
    assert (event.category, event.target_id) == ("activity", note["id"])
    assert event.payload == {
        "sticky_note_id": note["id"],
        "ticket_id": ticket["id"],
        "display_id": "OPEN-1",
    }
    assert len(events(app, event_type="ticket.created", request_id=event.request_id)) == 1


def test_everything_can_be_given(cast: Cast) -> None:
    story = make_ticket(cast.ada, cast.open_project)
    ticket = convert(
        cast,
        personal_note(cast),
        project_id=cast.open_project,
        type="subtask",
        parent_ticket_id=story["id"],
        assignee_user_id=cast.bo.user_id,
        priority="urgent",
        title=" Given ",
    )
    assert (ticket["type"], ticket["priority"], ticket["title"]) == ("subtask", "urgent", "Given")
    assert ticket["assignee"]["username"] == "bo"


def test_once_only(cast: Cast) -> None:
    note = project_note(cast)
    ticket = convert(cast, note)
    answer = cast.ada.post(f"/sticky-notes/{note['id']}/convert-to-ticket")
    error = refused(answer, 409, "resource.conflict", reason="already_converted")
    assert error["details"]["ticket_id"] == ticket["id"]


def test_which_project(cast: Cast) -> None:
    mine = personal_note(cast)
    path = f"/sticky-notes/{mine['id']}/convert-to-ticket"
    invalid(cast.ada.post(path), "project_id")
    invalid(cast.ada.post(path, {"project_id": NOWHERE}), "project_id")
    note = project_note(cast)
    other = {"project_id": cast.fenced_project}
    invalid(cast.ada.post(f"/sticky-notes/{note['id']}/convert-to-ticket", other), "project_id")
    convert(cast, note, project_id=cast.open_project)


def test_a_refused_conversion_leaves_the_note(cast: Cast, app) -> None:
    note = project_note(cast)
    answer = cast.ada.post(f"/sticky-notes/{note['id']}/convert-to-ticket", {"type": "subtask"})
    invalid(answer, "parent_ticket_id")
    assert events(app, target_kind="ticket") == []
    assert convert(cast, note)["display_id"] == "OPEN-1"


def test_32_conversions_at_once_make_one_ticket(cast: Cast, app) -> None:
    note = project_note(cast)
    path = f"/sticky-notes/{note['id']}/convert-to-ticket"
    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(lambda _: cast.smith.post(path), range(32)))
    assert Counter(answer.status_code for answer in answers) == {201: 1, 409: 31}
    assert len(events(app, event_type="ticket.created")) == 1


def test_with_an_idempotency_key(cast: Cast) -> None:
    note = project_note(cast)
    path = f"/sticky-notes/{note['id']}/convert-to-ticket"
    first, second = (cast.ada.post(path, headers={"Idempotency-Key": "k"}) for _ in range(2))
    assert (first.status_code, first.data) == (second.status_code, second.data)
    assert second.headers["Idempotency-Replayed"] == "true"
