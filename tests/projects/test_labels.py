"""/projects/{id}/labels."""

import pytest

from app.core.actor import SYSTEM
from app.database.session import run_write
from app.projects import labels
from tests.support.cast import Cast
from tests.support.story import event_types, events, invalid, make_ticket, ok, refused, walk


def test_creating_and_listing(cast: Cast) -> None:
    path = f"/projects/{cast.open_project}/labels"
    first = ok(cast.ada.post(path, {"name": " ui "}), 201)
    assert (first["name"], first["color"]) == ("ui", "#64748b")
    ok(cast.ada.post(path, {"name": "api", "color": "#A0b1C2"}), 201)
    refused(cast.ada.post(path, {"name": "UI"}), 409, "resource.conflict", reason="duplicate_key")
    assert [row["name"] for row in walk(cast.scout, path, 1)] == ["api", "ui"]
    other = f"/projects/{cast.fenced_project}/labels"
    ok(cast.ada.post(other, {"name": "ui"}), 201)


@pytest.mark.parametrize("color", ["red", "#fff", "#12345g", "64748b", "#64748b ", "#64748b\n", ""])
def test_what_is_no_color(cast: Cast, color: str) -> None:
    body = {"name": "x", "color": color}
    invalid(cast.ada.post(f"/projects/{cast.open_project}/labels", body), "color")


def test_changing(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}/labels"
    label = ok(cast.ada.post(path, {"name": "ui"}), 201)
    changed = ok(cast.ada.patch(f"{path}/{label['id']}", {"name": "UI", "color": "#000000"}))
    assert (changed["name"], changed["color"]) == ("UI", "#000000")
    ok(cast.ada.post(path, {"name": "api"}), 201)
    answer = cast.ada.patch(f"{path}/{label['id']}", {"name": "API"})
    refused(answer, 409, "resource.conflict", reason="duplicate_key")
    (event,) = events(app, event_type="label.updated")
    assert event.payload["changes"]["color"] == {"from": "#64748b", "to": "#000000"}


def test_deleting_takes_it_off_every_ticket(cast: Cast, app) -> None:
    path = f"/projects/{cast.open_project}/labels"
    label = ok(cast.ada.post(path, {"name": "ui"}), 201)["id"]
    make_ticket(cast.ada, cast.open_project, label_ids=[label])
    ok(cast.ada.delete(f"{path}/{label}"), 204)
    assert ok(cast.ada.get("/tickets/OPEN-1"))["labels"] == []
    refused(cast.ada.delete(f"{path}/{label}"), 404, "resource.not_found", resource="label")
    assert event_types(app, event_type="label.deleted") == ["label.deleted"]


def test_a_label_that_was_given_no_color_has_one_of_eight_by_its_name(cast: Cast, app) -> None:
    with app.app_context():
        made = [
            run_write(lambda name=name: labels.create_label(SYSTEM, cast.open_project, name=name))
            for name in ("bug", "docs")
        ]
        colors = [one.color for one in made]
    assert set(colors) <= set(labels.PALETTE)
    assert colors[0] != colors[1]
    assert labels.color_of("BUG") == labels.color_of("bug") == colors[0]
    # Over REST the default stays.
    plain = cast.ada.post(f"/projects/{cast.open_project}/labels", {"name": "plain"})
    assert plain.json["color"] == labels.DEFAULT_COLOR
