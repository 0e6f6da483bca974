"""Input with only one possible meaning is understood; ambiguous input lists the candidates."""

import pytest

from tests.support.story import make_ticket, ok


@pytest.mark.parametrize(
    "name",
    [
        "open-1",
        " OPEN-1 ",
        "ticket://OPEN-1",
        "ticket://open-1",
        "http://localhost/tickets/OPEN-1",
        "https://docket.example.org/base/tickets/OPEN-1?tab=activity#comment-2",
    ],
)
def test_a_ticket_by_any_of_its_names(smith, cast, ada, name):
    make_ticket(ada, cast.open_project)
    make_ticket(ada, cast.open_project, type="epic")
    assert smith.call("get_ticket", ticket=name)["display_id"] == "OPEN-1"
    smith.call("add_ticket_relation", ticket="OPEN-2", type="blocks", target=name)
    smith.call("update_ticket", ticket=name, parent=name.replace("1", "2", 1))
    rows = smith.call("list_tickets", parent="open-2")["data"]
    assert [row["display_id"] for row in rows] == ["OPEN-1"]


def test_a_number_with_a_project_is_its_ticket(smith, cast, ada):
    project = ok(ada.get(f"/projects/{cast.open_project}"))
    scope = {"project": "open"}
    epic = smith.call("create_ticket", **scope, title="Epic", type="epic")
    related = [{"type": "relates_to", "target": "1"}]
    child = {"title": "Child", "relations": [{"type": "blocks", "target": "1"}]}
    made = smith.call(
        "create_ticket", **scope, title="Story", parent="1", relations=related, children=[child]
    )
    assert made["parent"]["id"] == epic["id"]
    assert [one["ticket"]["display_id"] for one in made["relations"]] == ["OPEN-1"]
    rows = smith.call("list_tickets", **scope, parent="#1")["data"]
    assert [row["display_id"] for row in rows] == ["OPEN-2"]
    note = smith.call("create_sticky_note", **scope, body="A note")
    turned = smith.call("convert_sticky_note", **scope, sticky_note=note["id"], parent="1")
    assert turned["parent"]["id"] == epic["id"]
    two = {**scope, "ticket": "2"}
    smith.call("add_comment", **two, body="Here.")
    assert len(smith.call("list_comments", **two)["data"]) == 1
    smith.call("watch_ticket", **two)
    smith.call("unwatch_ticket", **two)
    relation = smith.call("add_ticket_relation", **two, type="blocks", target="4")
    assert relation["ticket"]["display_id"] == "OPEN-4"
    smith.call("remove_ticket_relation", **two, relation=relation["id"])
    smith.call("transition_ticket", **two, state="done")
    changed = smith.call("update_ticket", **two, title="Named by number")
    assert changed["display_id"] == "OPEN-2"
    for name in ("OPEN", project["id"], project["name"]):
        assert smith.call("get_ticket", project=name, ticket="2")["title"] == "Named by number"
    smith.call("delete_ticket", **two)
    smith.call("delete_ticket", **two, restore=True)
    assert smith.call("update_ticket", ticket="OPEN-4", parent="1")["parent"]["id"] == epic["id"]


def test_a_number_of_a_project_that_is_not_its(smith, fenced, cast, ada):
    make_ticket(ada, cast.open_project)
    make_ticket(ada, cast.fenced_project)
    assert smith.call("get_ticket", ticket="OPEN-1", project="OPEN")["display_id"] == "OPEN-1"
    for tool, more in (("get_ticket", {}), ("update_ticket", {"title": "T"})):
        error = smith.refused(tool, ticket="OPEN-1", project="FENCED", **more)
        assert error["details"] == {"field": "project", "reason": "mismatch"}
        assert smith.refused(tool, ticket="2", project="OPEN", **more)["code"] == (
            "resource.not_found"
        )
    assert fenced.refused("get_ticket", ticket="1", project="OPEN")["code"] == "resource.not_found"
    error = fenced.refused("update_ticket", ticket="1", project="OPEN", title="T")
    assert error["details"]["reason"] == "project_not_in_allowlist"


@pytest.mark.parametrize("name", ["OPEN-x", "ticket://", "http://localhost/wiki/OPEN-1", "1"])
def test_what_is_no_ticket_is_not_found(smith, cast, ada, name):
    make_ticket(ada, cast.open_project)
    assert smith.refused("get_ticket", ticket=name)["code"] == "resource.not_found"


def test_a_state_by_its_letters(smith, cast, ada):
    make_ticket(ada, cast.open_project)
    for name in ("todo", "to-do", "ToDo", "TO_DO"):
        smith.call("transition_ticket", ticket="OPEN-1", state=name)
        rows = smith.call("list_tickets", state=name)["data"]
        assert [row["display_id"] for row in rows] == ["OPEN-1"]
    path = f"/projects/{cast.open_project}/workflow-states"
    ok(cast.ada.post(path, {"name": "To-do", "category": "active"}), 201)
    error = smith.refused("transition_ticket", ticket="OPEN-1", state="todo")
    assert {"To do", "To-do"} <= set(error["details"]["valid"])
    assert smith.refused("list_tickets", state="todo")["details"]["field"] == "state"
    smith.call("transition_ticket", ticket="OPEN-1", state="to-do")


def test_a_project_by_its_name(smith, fenced, cast, ada):
    name = ok(ada.get(f"/projects/{cast.open_project}"))["name"]
    smith.call("create_ticket", project=f" {name.upper()} ", title="T")
    assert ok(ada.get("/tickets/OPEN-1"))["title"] == "T"
    assert fenced.refused("get_project", project=name)["details"]["valid"] == ["FENCED"]
    ok(ada.post("/projects", {"key": "TWIN", "name": name}), 201)
    error = smith.refused("get_project", project=name)
    assert {"OPEN", "TWIN"} <= set(error["details"]["valid"])


def test_a_page_by_its_title_address_or_resource(smith, cast, ada):
    ok(ada.post("/wiki/pages", {"title": "How we release", "slug": "release"}), 201)
    for name in (
        "how we release",
        "release",
        "wiki://page/release",
        "http://localhost/projects/OPEN/wiki/release#top",
    ):
        assert smith.call("get_wiki_page", page=name)["slug"] == "release", name
    ok(ada.post("/wiki/pages", {"title": "How we release"}), 201)
    error = smith.refused("get_wiki_page", page="How we release")
    assert error["details"]["valid"] == ["how-we-release", "release"]
    assert smith.refused("get_wiki_page", page="No such page")["code"] == "resource.not_found"
    ok(ada.post("/wiki/pages", {"title": "Übersicht", "slug": "overview"}), 201)
    assert smith.call("get_wiki_page", page="ÜBERSICHT")["slug"] == "overview"
    ok(ada.post("/wiki/pages", {"title": "ΟΔΟΣ in İstanbul", "slug": "street"}), 201)
    assert smith.call("get_wiki_page", page="ΟΔΟΣ in İstanbul")["slug"] == "street"


def test_a_date_is_a_moment_without_its_time(smith, cast, ada):
    make_ticket(ada, cast.open_project)
    assert len(smith.call("list_tickets", updated_since="2020-01-01")["data"]) == 1
    assert smith.call("list_tickets", updated_since="2199-01-01")["data"] == []
    for wrong in ("2020-13-01", "2020-01-01T10:00", "01.01.2020", "x" * 10):
        error = smith.refused("list_tickets", updated_since=wrong)
        assert error["code"] == "request.validation_error"
