"""``create_ticket`` with children and relations: all of it is created, or nothing."""

import pytest

from tests.support.cases import cases
from tests.support.story import event_types, make_label, make_ticket, ok


def test_an_epic_with_four_stories_and_three_blocks_is_one_call(app, smith, cast, ada):
    make_ticket(ada, cast.fenced_project)
    make_label(ada, cast.open_project, "ui")
    story = {"title": "Story", "labels": ["ui"], "assignee": "me", "priority": "high"}
    made = smith.call(
        "create_ticket",
        project="OPEN",
        type="epic",
        title="Epic",
        relations=[{"type": "relates_to", "target": "FENCED-1"}],
        children=[
            {**story, "relations": [{"type": "blocks", "target": "children[1]"}]},
            {"title": "Two", "relations": [{"type": "blocks", "target": "children[2]"}]},
            {"title": "Three", "state": "To do"},
            {"title": "Four", "relations": [{"type": "blocks", "target": "children[0]"}]},
        ],
        idempotency_key="plan-1",
    )
    assert made["display_id"] == "OPEN-1"
    assert [child["display_id"] for child in made["children"]] == [
        f"OPEN-{number}" for number in (2, 3, 4, 5)
    ]
    (relation,) = made["relations"]
    assert (relation["type"], relation["ticket"]["display_id"]) == ("relates_to", "FENCED-1")
    first = ok(ada.get("/tickets/OPEN-2"))
    assert (first["type"], first["parent"]["display_id"]) == ("story", "OPEN-1")
    assert (first["assignee"]["username"], first["priority"]) == ("smith", "high")
    blocked = ok(ada.get("/tickets/OPEN-3/relations"))["data"]
    assert {(one["direction"], one["ticket"]["display_id"]) for one in blocked} == {
        ("incoming", "OPEN-2"),
        ("outgoing", "OPEN-4"),
    }
    types = event_types(app, actor_user_id=cast.smith.user_id)
    assert types.count("ticket.created") == 5
    assert types.count("ticket.relation_added") == 4


def test_the_same_key_creates_nothing_again(smith, cast, ada):
    plan = {"project": "OPEN", "title": "S", "children": [{"title": "A"}], "idempotency_key": "k"}
    first, again = smith.call("create_ticket", **plan), smith.call("create_ticket", **plan)
    assert first == again
    assert [row["type"] for row in ok(ada.get("/tickets"))["data"]] == ["subtask", "story"]


@pytest.fixture
def fenced_ticket(ada, cast):
    return make_ticket(ada, cast.fenced_project)


@cases(
    "parts, field",
    [
        ({"children": [{"title": "A"}, {"title": " "}]}, "children[1].title"),
        ({"children": [{"title": "A", "labels": ["no"]}]}, "children[0].labels"),
        ({"children": [{"title": "A", "state": "no"}]}, "children[0].state"),
        ({"children": [{"title": "A"}] * 21}, "children"),
        ({"relations": [{"type": "blocks", "target": "OPEN-9"}]}, "relations[0].target"),
        ({"relations": [{"type": "blocks", "target": "children[0]"}]}, "relations[0].target"),
        ({"relations": [{"type": "blocks", "target": "FENCED-1"}] * 2}, "relations[1].target"),
        ({"relations": [{"type": "blocks", "target": "FENCED-1"}] * 21}, "relations"),
        (
            {
                "children": [
                    {"title": "A"},
                    {"title": "B", "relations": [{"type": "blocks", "target": "children[1]"}]},
                ]
            },
            "children[1].relations[0].target",
        ),
        (
            {
                "children": [
                    {"title": "A", "relations": [{"type": "blocks", "target": "children[1]"}]},
                    {"title": "B", "relations": [{"type": "blocks", "target": "children[0]"}]},
                ]
            },
            "children[1].relations[0]",
        ),
    ],
)
def test_an_error_names_its_place_and_nothing_is_half_done(
    smith, cast, ada, app, fenced_ticket, parts, field
):
    error = smith.refused("create_ticket", project="OPEN", title="Story", **parts)
    assert error["details"]["field"] == field
    assert ok(ada.get(f"/projects/{cast.open_project}/tickets"))["data"] == []
    assert "ticket.created" not in event_types(app, actor_user_id=cast.smith.user_id)


def test_a_create_that_fails_takes_no_number(smith):
    smith.refused("create_ticket", project="OPEN", title="Story", children=[{"title": " "}])
    assert smith.call("create_ticket", project="OPEN", title="Next")["display_id"] == "OPEN-1"


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("parts", "named"),
    [
        ({"children": "A"}, "children"),
        ({"children": [1]}, "children[0]"),
        ({"children": [{"title": "A"}, {"body": "B"}]}, "children[1].title"),
        ({"children": [{"title": "A", "children": []}]}, "children[0].children"),
        ({"relations": [{"type": "likes", "target": "OPEN-1"}]}, "relations[0].type"),
        (
            {"children": [{"title": "A", "relations": [{"type": "blocks"}]}]},
            "children[0].relations[0].target",
        ),
    ],
)
def test_a_form_that_does_not_fit_is_refused_by_place(smith, parts, named):
    error = smith.refused("create_ticket", project="OPEN", title="Story", **parts)
    assert error["code"] == "request.validation_error"
    assert [problem["loc"][-1] for problem in error["details"]["errors"]] == [named]


def test_many_problems_are_bounded(smith):
    error = smith.refused("create_ticket", project="OPEN", title="S", children=[1] * 5000)
    assert len(error["details"]["errors"]) <= 50


def test_a_subtask_has_no_children(smith, cast, ada):
    make_ticket(ada, cast.open_project)
    error = smith.refused(
        "create_ticket",
        project="OPEN",
        title="T",
        type="subtask",
        parent="OPEN-1",
        children=[{"title": "A"}],
    )
    assert error["details"] == {"field": "children", "reason": "wrong_type"}
