"""ETag, If-None-Match and If-Match on tickets."""

import re

import pytest

from app.core.clock import now_ms
from tests.support.serving import until
from tests.support.story import events, make_label, make_ticket, ok, refused


@pytest.fixture(name="ticket")
def _ticket(cast):
    return make_ticket(cast.ada, cast.open_project)


@pytest.fixture(name="path")
def _path(ticket):
    return f"/tickets/{ticket['id']}"


def tag_of(cast, path):
    return cast.ada.get(path).headers["ETag"]


def test_the_tag_is_the_version_and_the_short_id(cast, ticket, path):
    response = cast.ada.get(path)
    found = re.fullmatch(r'W/"([0-9]+)-([0-9a-f]{8})"', response.headers["ETag"])
    assert found[2] == ticket["id"][-8:]
    assert response.headers["Cache-Control"] == "private, no-cache"
    assert tag_of(cast, f"/tickets/{ticket['display_id']}") == response.headers["ETag"]


def test_every_change_has_a_tag_of_its_own(cast, path):
    tags = [tag_of(cast, path)]
    for number in range(5):
        response = cast.ada.patch(path, {"title": str(number)})
        tags.append(response.headers["ETag"])
        assert tag_of(cast, path) == tags[-1]
    assert len(set(tags)) == 6
    versions = [int(tag[3:].split("-")[0]) for tag in tags]
    assert versions == sorted(versions)


def test_what_hangs_on_a_ticket_changes_its_tag_only_where_it_shows(cast, ticket, path):
    tag = tag_of(cast, path)
    other = make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.post(f"{path}/comments", {"body": "Words"}), 201)
    ok(cast.ada.post(f"{path}/watchers"), 201)
    body = {"type": "blocks", "target_ticket_id": other["id"]}
    ok(cast.ada.post(f"{path}/relations", body), 201)
    assert tag_of(cast, path) == tag
    label = make_label(cast.ada, cast.open_project, "odd")
    ok(cast.ada.patch(path, {"label_ids": [label["id"]]}))
    assert tag_of(cast, path) != tag


def variants(tag):
    """Headers that name this tag."""
    bare = tag.removeprefix("W/")
    return [tag, bare, "*", f'"x", {tag}', f'{bare},W/"y"', f" {tag} "]


def strangers(tag):
    """Headers that do not name it."""
    return [
        'W/"1-00000000"',
        '"x", "y"',
        tag[:-2] + '0"' if tag[-2] != "0" else tag[:-2] + '1"',
        '""',
    ]


def test_if_none_match_answers_304(cast, path):
    tag = tag_of(cast, path)
    for header in variants(tag):
        response = cast.ada.get(path, headers={"If-None-Match": header})
        assert (response.status_code, response.data) == (304, b""), header
        assert response.headers["ETag"] == tag
        assert response.headers["Cache-Control"] == "private, no-cache"
    for header in strangers(tag):
        assert cast.ada.get(path, headers={"If-None-Match": header}).status_code == 200, header


def later():
    """Wait for the next millisecond, so that times differ from those of earlier changes."""
    moment = now_ms()
    until(lambda: now_ms() > moment)


@pytest.mark.parametrize("renamed", ["state", "label", "parent", "its state", "assignee"])
def test_no_304_hides_what_was_renamed(cast, renamed):
    epic = make_ticket(cast.ada, cast.open_project, type="epic")
    label = make_label(cast.ada, cast.open_project, "odd")
    ticket = make_ticket(
        cast.ada,
        cast.open_project,
        type="story",
        parent_ticket_id=epic["id"],
        label_ids=[label["id"]],
        assignee_user_id=cast.smith.user_id,
    )
    states = ok(cast.ada.get(f"/projects/{cast.open_project}/workflow-states"))["data"]
    moved = next(one for one in states if one["id"] != ticket["state"]["id"])
    ok(cast.ada.post(f"/tickets/{epic['id']}/transition", {"state_id": moved["id"]}))
    later()
    path = f"/tickets/{ticket['id']}"
    ok(cast.ada.patch(path, {"title": "Anew"}))
    before = cast.ada.get(path)
    header = {"If-None-Match": before.headers["ETag"]}
    assert cast.ada.get(path, headers=header).status_code == 304
    later()
    workflow = f"/projects/{cast.open_project}/workflow-states"
    change, body = {
        "state": (
            f"{workflow}/{ticket['state']['id']}",
            {"name": "N"},
        ),
        "label": (f"/projects/{cast.open_project}/labels/{label['id']}", {"name": "N"}),
        "parent": (f"/tickets/{epic['id']}", {"title": "N"}),
        "its state": (
            f"{workflow}/{moved['id']}",
            {"name": "N"},
        ),
        "assignee": (f"/bots/{cast.smith.user_id}", {"display_name": "N"}),
    }[renamed]
    ok(cast.ada.patch(change, body))
    after = cast.ada.get(path, headers=header)
    assert after.status_code == 200
    assert after.json != before.json
    # The version is that of the row alone, so a change based on the earlier read is accepted.
    assert after.headers["ETag"] == before.headers["ETag"]
    ok(cast.ada.patch(path, {"title": "Last"}, headers={"If-Match": before.headers["ETag"]}))


def test_if_none_match_hides_nothing_from_the_checks(cast, path):
    header = {"If-None-Match": "*"}
    refused(cast.fenced.get(path, headers=header), 404, "resource.not_found")
    refused(cast.nobody.get(path, headers=header), 401, "auth.unauthenticated")
    ok(cast.ada.delete(path), 204)
    refused(cast.ada.get(path, headers=header), 410, "resource.gone")


def test_if_match_goes_on_where_a_tag_matches(cast, path):
    for number in range(6):
        tag = tag_of(cast, path)
        header = variants(tag)[number]
        response = cast.ada.patch(path, {"title": str(number)}, headers={"If-Match": header})
        assert ok(response)["title"] == str(number), header


def test_if_match_refuses_where_none_does(app, cast, path):
    tag = tag_of(cast, path)
    for header in strangers(tag):
        for response in (
            cast.ada.patch(path, {"title": "Changed"}, headers={"If-Match": header}),
            cast.ada.delete(path, headers={"If-Match": header}),
        ):
            refused(response, 409, "resource.conflict", reason="etag_mismatch")
    assert tag_of(cast, path) == tag
    assert events(app, event_type="ticket.updated") == []


def test_if_match_star_matches_live_versions_only(cast, path):
    ok(cast.ada.delete(path, headers={"If-Match": "*"}), 204)
    response = cast.ada.patch(path, {"title": "x"}, headers={"If-Match": "*"})
    refused(response, 410, "resource.gone")


def test_of_two_who_saw_the_same_version_one_wins(cast, path):
    tag = {"If-Match": tag_of(cast, path)}
    ok(cast.ada.patch(path, {"title": "First"}, headers=tag))
    refused(cast.bo.patch(path, {"title": "Second"}, headers=tag), 409, "resource.conflict")
    assert ok(cast.ada.get(path))["title"] == "First"
