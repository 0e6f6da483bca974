"""What is deleted on a page comes with the way back to where it was."""

import re

import pytest

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
        ("label", 'Save<span class="said"> bug'),
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
    # What cannot be undone offers nothing.
    (login, *_) = cast.ada.get("/audit?event_type=project.created").json["data"]
    assert "/undo" not in ada.get(f"/audit/events/{login['id']}").text
