"""/tickets/{id}/relations."""

from tests.support.cast import Caller, Cast
from tests.support.story import events, invalid, make_ticket, malformed, ok, refused


def relate(caller: Caller, source: str, target: str, kind: str = "blocks", status: int = 201):
    body = {"type": kind, "target_ticket_id": target}
    answer = caller.post(f"/tickets/{source}/relations", body)
    return ok(answer, status)


def test_a_relation_is_seen_from_both_ends(cast: Cast, app) -> None:
    one = make_ticket(cast.ada, cast.open_project, "One")
    two = make_ticket(cast.ada, cast.fenced_project, "Two")
    made = relate(cast.smith, "OPEN-1", "FENCED-1")
    assert made == {
        "id": made["id"],
        "type": "blocks",
        "direction": "outgoing",
        "ticket": {
            "id": two["id"],
            "display_id": "FENCED-1",
            "title": "Two",
            "type": "story",
            "state": two["state"],
        },
        "source_ticket_id": one["id"],
        "target_ticket_id": two["id"],
        "created_by_user_id": cast.smith.user_id,
        "created_at": made["created_at"],
    }
    assert ok(cast.scout.get("/tickets/OPEN-1/relations"))["data"] == [made]
    (incoming,) = ok(cast.scout.get("/tickets/FENCED-1/relations"))["data"]
    assert incoming["direction"] == "incoming"
    assert incoming["ticket"]["display_id"] == "OPEN-1"
    (event,) = events(app, event_type="ticket.relation_added")
    assert event.target_id == one["id"]
    assert event.payload["target_display_id"] == "FENCED-1"


def test_what_is_no_relation(cast: Cast) -> None:
    for _ in range(3):
        make_ticket(cast.ada, cast.open_project)
    path = "/tickets/OPEN-1/relations"
    for target in ("OPEN-1", "OPEN-9", "nonsense", "", "01900000-0000-7000-8000-000000000000"):
        body = {"type": "blocks", "target_ticket_id": target}
        invalid(cast.ada.post(path, body), "target_ticket_id")
    malformed(
        cast.ada.post(path, {"type": "likes", "target_ticket_id": "OPEN-2"}),
        ["body", "type"],
        "invalid_value",
    )
    malformed(cast.ada.post(path, {}), ["body", "target_ticket_id"], "missing")
    ok(cast.ada.delete("/tickets/OPEN-3"), 204)
    invalid(
        cast.ada.post(path, {"type": "blocks", "target_ticket_id": "OPEN-3"}), "target_ticket_id"
    )


def test_duplicates_and_cycles(cast: Cast) -> None:
    for _ in range(3):
        make_ticket(cast.ada, cast.open_project)
    relate(cast.ada, "OPEN-1", "OPEN-2")
    relate(cast.ada, "OPEN-2", "OPEN-3")
    relate(cast.ada, "OPEN-1", "OPEN-2", "relates_to")
    path = "/tickets/OPEN-{}/relations"
    cases = [
        (1, "OPEN-2", "blocks", "duplicate_key"),
        (2, "OPEN-1", "relates_to", "duplicate_key"),
        (2, "OPEN-1", "blocks", "invariant_violation"),
        (3, "OPEN-1", "blocks", "invariant_violation"),
    ]
    for source, target, kind, reason in cases:
        body = {"type": kind, "target_ticket_id": target}
        answer = cast.ada.post(path.format(source), body)
        refused(answer, 409, "resource.conflict", reason=reason)
    relate(cast.ada, "OPEN-2", "OPEN-1", "duplicates")


def test_either_end_removes_it(cast: Cast, app) -> None:
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project)
    made = relate(cast.ada, "OPEN-1", "OPEN-2")
    ok(cast.smith.delete(f"/tickets/OPEN-2/relations/{made['id']}"), 204)
    assert ok(cast.ada.get("/tickets/OPEN-1/relations"))["data"] == []
    answer = cast.smith.delete(f"/tickets/OPEN-2/relations/{made['id']}")
    refused(answer, 404, "resource.not_found", resource="relation", id=made["id"])
    assert len(events(app, event_type="ticket.relation_removed")) == 1


def test_an_invisible_end_hides_the_relation(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.fenced_project)
    made = relate(cast.ada, "FENCED-1", "OPEN-1")
    assert ok(cast.fenced.get("/tickets/FENCED-1/relations"))["data"] == []
    refused(
        cast.fenced.delete(f"/tickets/FENCED-1/relations/{made['id']}"), 404, "resource.not_found"
    )
    body = {"type": "relates_to", "target_ticket_id": "OPEN-1"}
    invalid(cast.fenced.post("/tickets/FENCED-1/relations", body), "target_ticket_id")
    ok(cast.ada.delete("/tickets/OPEN-1"), 204)
    assert ok(cast.ada.get("/tickets/FENCED-1/relations"))["data"] == []


def test_who_may_relate(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    make_ticket(cast.ada, cast.open_project)
    body = {"type": "blocks", "target_ticket_id": "OPEN-2"}
    refused(cast.scout.post("/tickets/OPEN-1/relations", body), 403, "auth.read_only_bot")
    refused(cast.fenced.post("/tickets/OPEN-1/relations", body), 403, "auth.forbidden")
    refused(cast.nobody.get("/tickets/OPEN-1/relations"), 401, "auth.unauthenticated")
