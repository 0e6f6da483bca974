"""A ticket with children and relations over REST: all of it is created, or nothing."""

import pytest

from tests.support.story import invalid, make_label, make_ticket, malformed, ok, refused

NO_LABEL = "01a1fa6a-612b-78ee-801b-9fcda94c56b9"


@pytest.fixture
def ada(cast):
    return cast.ada


@pytest.fixture(name="path")
def _path(cast):
    return f"/projects/{cast.open_project}/tickets"


def test_an_epic_with_its_stories(ada, cast, path):
    other = make_ticket(ada, cast.fenced_project)
    label = make_label(ada, cast.open_project, "gates")
    body = {
        "title": "Gates",
        "type": "epic",
        "relations": [{"type": "relates_to", "target": other["display_id"]}],
        "children": [
            {
                "title": "Order",
                "body": "Two.",
                "priority": "high",
                "assignee_user_id": cast.smith.user_id,
                "label_ids": [label["id"]],
                "due_date": "2026-12-24",
                "relations": [{"type": "blocks", "target": "children[1]"}],
            },
            {"title": "Hang"},
        ],
    }
    epic = ok(ada.post(path, body), 201)
    assert "children" not in epic
    found = ok(ada.get(f"/tickets?parent_ticket_id={epic['id']}&sort=rank"))["data"]
    order, hang = found
    assert [row["display_id"] for row in found] == ["OPEN-2", "OPEN-3"]
    assert (order["type"], order["priority"], order["body"]) == ("story", "high", "Two.")
    assert order["labels"][0]["name"] == "gates"
    assert (order["assignee_user_id"], order["due_date"]) == (cast.smith.user_id, "2026-12-24")
    (blocking,) = ok(ada.get(f"/tickets/{hang['id']}/relations"))["data"]
    assert (blocking["type"], blocking["direction"]) == ("blocks", "incoming")
    (related,) = ok(ada.get(f"/tickets/{epic['id']}/relations"))["data"]
    assert related["target_ticket_id"] == other["id"]


def test_a_key_creates_them_once(ada, path):
    body = {"title": "Gates", "type": "epic", "children": [{"title": "Order"}]}
    headers = {"Idempotency-Key": "k"}
    first = ok(ada.post(path, body, headers=headers), 201)
    assert ok(ada.post(path, body, headers=headers), 201) == first
    assert len(ok(ada.get("/tickets"))["data"]) == 2


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"children": [{"title": "A"}, {"title": " "}]}, "children[1].title"),
        ({"children": [{"title": "A", "label_ids": [NO_LABEL]}]}, "children[0].label_ids"),
        ({"children": [{"title": "A"}] * 21}, "children"),
        ({"relations": [{"type": "blocks", "target": "OPEN-9"}]}, "relations[0].target"),
        ({"relations": [{"type": "blocks", "target": "children[0]"}]}, "relations[0].target"),
        ({"relations": [{"type": "blocks", "target": "children[9999]"}]}, "relations[0].target"),
        ({"type": "subtask", "children": [{"title": "A"}]}, None),
    ],
)
def test_nothing_is_created_if_a_part_is_wrong(ada, path, fields, field):
    answer = ada.post(path, {"title": "Gates", **fields})
    if field is not None:
        invalid(answer, field)
    assert answer.status_code == 422
    assert ok(ada.get("/tickets"))["data"] == []
    assert ok(ada.post(path, {"title": "First"}), 201)["ticket_number"] == 1


def test_a_cycle_is_a_conflict(ada, path):
    children = [
        {"title": "A", "relations": [{"type": "blocks", "target": "children[1]"}]},
        {"title": "B", "relations": [{"type": "blocks", "target": "children[0]"}]},
    ]
    refused(ada.post(path, {"title": "Gates", "children": children}), 409, "resource.conflict")
    assert ok(ada.get("/tickets"))["data"] == []


@pytest.mark.parametrize(
    ("fields", "loc", "kind"),
    [
        ({"children": "A"}, ["children"], "invalid_type"),
        ({"children": [1]}, ["children", 0], "invalid_type"),
        ({"children": [{"body": "A"}]}, ["children", 0, "title"], "missing"),
        (
            {"children": [{"title": "A", "children": []}]},
            ["children", 0, "children"],
            "unknown_field",
        ),
        (
            {"children": [{"title": "A", "type": "epic"}]},
            ["children", 0, "type"],
            "unknown_field",
        ),
        ({"relations": [{"type": "blocks"}]}, ["relations", 0, "target"], "missing"),
        (
            {"relations": [{"type": "likes", "target": "x"}]},
            ["relations", 0, "type"],
            "invalid_value",
        ),
        ({"relations": None}, ["relations"], "invalid_type"),
    ],
)
def test_the_form_of_a_part(ada, path, fields, loc, kind):
    malformed(ada.post(path, {"title": "Gates", **fields}), ["body", *loc], kind)


def test_a_bot_relates_only_what_it_sees(cast, ada):
    make_ticket(ada, cast.open_project)
    body = {"title": "A", "relations": [{"type": "blocks", "target": "OPEN-1"}]}
    path = f"/projects/{cast.fenced_project}/tickets"
    invalid(cast.fenced.post(path, body), "relations[0].target")
