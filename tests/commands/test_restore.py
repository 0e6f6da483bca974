"""Restoring things, which only commands do: audited, indexed, refused on a conflict."""

from tests.support.story import events, make_ticket, ok, refused, state_ids


def test_a_ticket_comes_back_whole(app, cast, flask):
    ada = cast.ada
    ticket = make_ticket(ada, cast.open_project, "Lantern")
    ok(ada.post(f"/tickets/{ticket['id']}/comments", {"body": "Words"}), 201)
    ok(ada.delete(f"/tickets/{ticket['id']}"), 204)
    assert flask("restore", "ticket", "OPEN-1") == "Restored OPEN-1.\n"
    shown = ok(ada.get("/tickets/OPEN-1"))
    assert shown["deleted_at"] is None
    assert shown["updated_at"] > ticket["updated_at"]
    assert len(ok(ada.get("/tickets/OPEN-1/comments"))["data"]) == 1
    assert [hit["id"] for hit in ok(ada.get("/search?q=lantern"))["data"]] == [ticket["id"]]
    (event,) = events(app, event_type="ticket.restored")
    assert (event.actor_kind, event.category) == ("system", "activity")
    assert "is not deleted" in flask("restore", "ticket", "OPEN-1", code=1)
    assert "Ticket not found" in flask("restore", "ticket", "OPEN-9", code=1)


def test_a_ticket_whose_state_is_gone_goes_into_the_first(cast, flask):
    ada, project = cast.ada, cast.open_project
    third = state_ids(ada, project)[2]
    ticket = make_ticket(ada, project, state_id=third)
    ok(ada.delete(f"/tickets/{ticket['id']}"), 204)
    ok(ada.delete(f"/projects/{project}/workflow-states/{third}"), 204)
    flask("restore", "ticket", ticket["id"], "--as", "ada")
    assert ok(ada.get("/tickets/OPEN-1"))["state"]["name"] == "Backlog"


def test_who_restores_is_named(app, cast, flask):
    make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)
    flask("restore", "ticket", "OPEN-1", "--as", "bo")
    (event,) = events(app, event_type="ticket.restored")
    assert event.actor_user_id == cast.bo.user_id
    assert "No active person named x." in flask("restore", "ticket", "OPEN-1", "--as", "x", code=1)


def test_comments_pages_and_projects(app, cast, flask):
    ada, project = cast.ada, cast.open_project
    make_ticket(ada, project)
    comment = ok(ada.post("/tickets/OPEN-1/comments", {"body": "Words"}), 201)
    ok(ada.delete(f"/comments/{comment['id']}"), 204)
    flask("restore", "comment", comment["id"])
    assert [row["id"] for row in ok(ada.get("/tickets/OPEN-1/comments"))["data"]] == [comment["id"]]

    page = ok(ada.post("/wiki/pages", {"title": "Lantern", "project_id": project}), 201)
    ok(ada.delete(f"/wiki/pages/{page['id']}"), 204)
    flask("restore", "wiki-page", "lantern", code=1)
    flask("restore", "wiki-page", "lantern", "--project", "OPEN")
    assert ok(ada.get(f"/wiki/pages/{page['id']}"))["slug"] == "lantern"

    ok(ada.delete(f"/projects/{project}"), 204)
    refused(ada.get("/tickets/OPEN-1"), 410, "resource.gone", resource="project")
    assert "was deleted" in flask("restore", "ticket", "OPEN-1", code=1)
    flask("restore", "project", "OPEN")
    assert ok(ada.get("/tickets/OPEN-1"))["display_id"] == "OPEN-1"
    for name in ("comment.restored", "wiki.restored", "project.restored"):
        assert len(events(app, event_type=name)) == 1


def test_a_slug_in_the_way(cast, flask):
    ada = cast.ada
    old = ok(ada.post("/wiki/pages", {"title": "Rules"}), 201)
    ok(ada.delete(f"/wiki/pages/{old['id']}"), 204)
    new = ok(ada.post("/wiki/pages", {"title": "Rules"}), 201)
    assert new["slug"] == "rules"
    for reference in ("rules", old["id"]):
        assert "Another page has the slug rules" in flask("restore", "wiki-page", reference, code=1)
    ok(ada.delete(f"/wiki/pages/{new['id']}"), 204)
    flask("restore", "wiki-page", old["id"])
    assert ok(ada.get("/wiki/pages/rules"))["id"] == old["id"]
