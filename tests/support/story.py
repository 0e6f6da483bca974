"""Short helpers for tests: create this, expect that, read the events."""

from io import BytesIO
from typing import Any

from flask import Flask
from sqlalchemy import select
from werkzeug.test import TestResponse

from app.audit.models import AuditEvent
from app.audit.service import WORKSPACE_ID
from app.core import ids
from app.database.session import reading, session
from tests.support.cast import Caller


def ok(response: TestResponse, status: int = 200) -> Any:
    """Return the JSON of a response, which must have this status."""
    assert response.status_code == status, (response.status_code, response.get_data(as_text=True))
    return response.get_json() if response.data else None


def refused(response: TestResponse, status: int, code: str, **details: Any) -> dict[str, Any]:
    """Return the error of a refusal with this status and code, and at least these details."""
    error = ok(response, status)["error"]
    assert error["code"] == code, error
    found = error.get("details") or {}
    assert {key: found.get(key) for key in details} == details, error
    return error


def invalid(response: TestResponse, field: str, reason: str | None = None) -> None:
    """Expect a 422 from the domain about this field."""
    error = refused(response, 422, "validation.invalid_field", field=field)
    assert reason is None or error["details"]["reason"] == reason, error


def malformed(response: TestResponse, loc: list[Any], kind: str) -> None:
    """Expect a 422 from request validation that contains this location and error type."""
    error = refused(response, 422, "request.validation_error")
    found = [(entry["loc"], entry["type"]) for entry in error["details"]["errors"]]
    assert (loc, kind) in found, found


def make_ticket(caller: Caller, project_id: str, title: str = "A ticket", **fields: Any) -> Any:
    """Create a ticket."""
    body = {"title": title, **fields}
    return ok(caller.post(f"/projects/{project_id}/tickets", body), 201)


def form_of(content: bytes, name: str = "notes.txt", **texts: str) -> dict[str, Any]:
    """Return a multipart form with one file, as the test client sends it."""
    return {"file": (BytesIO(content), name), **texts}


def add_file(
    caller: Caller, path: str, content: bytes = b"Words", name: str = "notes.txt", **options: Any
) -> Any:
    """Add a file to a ticket, a comment or a page."""
    return ok(caller.call("POST", f"{path}/files", data=form_of(content, name), **options), 201)


def state_ids(caller: Caller, project_id: str) -> list[str]:
    """Return the ids of a project's states, by position."""
    found = ok(caller.get(f"/projects/{project_id}/workflow-states"))
    return [state["id"] for state in found["data"]]


def make_label(caller: Caller, project_id: str, name: str) -> Any:
    """Create a label."""
    return ok(caller.post(f"/projects/{project_id}/labels", {"name": name}), 201)


def walk(caller: Caller, path: str, limit: int) -> list[Any]:
    """Return all rows of a list, page by page."""
    rows: list[Any] = []
    joint = "&" if "?" in path else "?"
    cursor = ""
    while True:
        found = ok(caller.get(f"{path}{joint}limit={limit}{cursor}"))
        rows += found["data"]
        assert found["page"]["has_more"] == (found["page"]["next_cursor"] is not None)
        if not found["page"]["has_more"]:
            return rows
        assert len(found["data"]) == limit
        cursor = f"&cursor={found['page']['next_cursor']}"


def events(app: Flask, **equal: Any) -> list[AuditEvent]:
    """Return the audit events with these column values, oldest first."""
    with app.app_context(), reading():
        statement = select(AuditEvent).filter_by(**equal)
        return list(session.scalars(statement.order_by(AuditEvent.id)))


def event_types(app: Flask, **equal: Any) -> list[str]:
    """Return the types of the audit events with these column values, oldest first."""
    return [event.event_type for event in events(app, **equal)]


def urgent(ticket: dict[str, Any], actor_user_id: str | None = None) -> dict[str, Any]:
    """Return the row of a new event by which a bot raised the priority of a ticket."""
    event_id = ids.new_id()
    return {
        "id": event_id,
        "workspace_id": WORKSPACE_ID,
        "category": "activity",
        "event_type": "ticket.updated",
        "actor_user_id": actor_user_id,
        "actor_kind": "bot",
        "target_kind": "ticket",
        "target_id": ticket["id"],
        "project_id": ticket["project_id"],
        "ticket_id": ticket["id"],
        "payload": {"changes": {"priority": {"from": "none", "to": "urgent"}}},
        "created_at": ids.created_ms(event_id),
    }
