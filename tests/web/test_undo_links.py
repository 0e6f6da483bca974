"""A page on which something is deleted offers an undo that leads back to it."""

import re

import pytest

from app.web.filters import parted

HX = {"HX-Request": "true", "X-Requested-By": "web"}


def things(cast):
    project = f"/projects/{cast.open_project}"
    label = cast.ada.post(f"{project}/labels", {"name": "bug"}).json
    state = cast.ada.post(
        f"{project}/workflow-states", {"name": "Blocked", "category": "active"}
    ).json
    note = cast.ada.post(f"{project}/sticky-notes", {"body": "On the wall"}).json
    settings = "/projects/OPEN/settings"
    return {
        "label": (f"{settings}/labels/{label['id']}/delete", f"{settings}/labels"),
        "state": (f"{settings}/states/{state['id']}/delete", f"{settings}/states"),
        "note": (f"/sticky-notes/{note['id']}/delete", "/projects/OPEN/sticky-notes"),
    }


@pytest.mark.parametrize(
    ("kind", "mark"),
    [
        ("label", 'title="Edit bug"'),
        ("state", "Move Blocked up"),
        ("note", "On the wall"),
    ],
)
def test_a_deletion_is_undone_from_its_message(ada, cast, kind, mark):
    path, place = things(cast)[kind]
    assert mark in ada.get(place).text
    answer = ada.client.post(path, headers=HX)
    assert answer.status_code == 200
    undo = re.search(r'action="(/audit/requests/[0-9a-f-]+/undo)"', answer.text).group(1)
    assert mark not in ada.get(place).text
    form = {"back": place, "straight": "yes"}
    answer = ada.client.post(undo, data=form)
    assert (answer.status_code, answer.headers["Location"]) == (303, place)
    assert mark in ada.get(place).text


def test_an_event_is_undone_from_the_audit_log_and_says_so(ada, cast):
    path, place = things(cast)["label"]
    ada.client.post(path, headers=HX)
    (event,) = cast.ada.get("/audit?event_type=label.deleted").json["data"]
    page = f"/audit/events/{event['id']}"
    assert f'action="{page}/undo"' in ada.get(page).text
    answer = ada.client.post(f"{page}/undo", data={"back": page})
    assert (answer.status_code, answer.headers["Location"]) == (303, page)
    assert "bug" in ada.get(place).text
    shown = ada.get(page).text
    assert 'badge">undone' in shown
    assert f'action="{page}/undo"' not in shown
    # An event that cannot be undone has no undo button.
    (made, *_) = cast.ada.get("/audit?event_type=project.created").json["data"]
    assert "/undo" not in ada.get(f"/audit/events/{made['id']}").text


def event_of(cast, kind):
    found = cast.ada.get("/audit?limit=200").json["data"]
    return next(one["id"] for one in found if one["event_type"] == kind)


def test_what_cannot_be_undone_is_said_where_it_was_asked_for(ada, cast):
    project = f"/projects/{cast.open_project}"
    label = cast.ada.post(f"{project}/labels", {"name": "bug"}).json
    cast.ada.patch(f"{project}/labels/{label['id']}", {"name": "fault"})
    cast.ada.delete(f"{project}/labels/{label['id']}")
    path = f"/audit/events/{event_of(cast, 'label.updated')}/undo"
    answer = ada.client.post(path, headers=HX)
    assert answer.status_code == 409
    assert "Could not undo. Label not found." in answer.text
    assert ada.client.post("/audit/events/unknown/undo", headers=HX).status_code == 404


def test_a_personal_note_that_was_taken_down_again_is_shown_as_undone(ada, cast):
    cast.ada.post("/sticky-notes", {"body": "Mine"})
    path = f"/audit/events/{event_of(cast, 'sticky_note.created')}"
    assert 'action="' + path in ada.get(path).text
    ada.client.post(f"{path}/undo", headers=HX)
    assert 'action="' + path not in ada.get(path).text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("took OPS-12 and OPS-1 apart", ("took OPS-12 and ", " apart")),
        ("OPS-1", ("", "")),
        ("took XOPS-1", None),
    ],
)
def test_a_display_id_in_a_sentence_is_a_word(said, expected):
    assert parted(said, "OPS-1") == expected
    assert parted(said, None) is None
