"""What is read from the JSON columns of an export: each of these values broke a page or a verb."""

import pytest
from sqlalchemy import JSON

from app.audit.event_types import EVENTS
from app.core import ids
from app.exporting import column_values, layout
from tests.support.cases import cases

AN_ID = ids.new_id()
EVENT = {"receipt": None, "event_type": "ticket.updated", "payload": {"changes": {}}}


def problem(table, **row):
    """What is said of a row; empty if it is fine."""
    try:
        column_values.check(table, row)
    except ValueError as error:
        return str(error)
    return ""


def of_event(event_type, **payload):
    return problem("audit_events", receipt=None, event_type=event_type, payload=payload)


def of_change(name, before, after):
    return of_event("ticket.updated", changes={name: {"from": before, "to": after}})


def test_every_json_column_is_checked():
    columns = {
        (table.name, column.name)
        for table in layout.exported()
        for column in table.columns
        if isinstance(column.type, JSON)
    }
    texts = {("tickets", "due_date"), ("webhooks", "form")}
    assert columns | texts == column_values.CHECKS.keys() | {("audit_events", "payload")}


def test_fields_that_are_needed_are_those_of_the_event_types():
    for event_type, names in column_values.NEEDED.items():
        assert set(names.split()) <= set(EVENTS[event_type].payload), event_type


@cases(
    "table, name, value, said",
    [
        ("users", "project_ids", 5, "project_ids must be an array"),
        ("users", "project_ids", [[]], "project_ids[0] must be a UUID"),
        ("users", "project_ids", ["OPS"], "project_ids[0] must be a UUID"),
        ("preferences", "choices", [], "choices must be an object"),
        ("preferences", "choices", {"theme": []}, "choices.theme must be a string, true or false"),
        ("webhooks", "event_types", [7], "event_types[0] must be a string"),
        ("webhooks", "project_ids", None, "project_ids must be an array"),
        ("ticket_templates", "label_ids", ["bug"], "label_ids[0] must be a UUID"),
        ("comments", "edit_history", {}, "edit_history must be an array"),
        ("comments", "edit_history", [{"body": "x"}], "it has no edit_history[0].edited_at"),
        (
            "comments",
            "edit_history",
            [{"body": "x", "edited_at": 1 << 62}],
            "edit_history[0].edited_at must be milliseconds since 1970",
        ),
        ("imported_issues", "gone_files", [1], "gone_files[0] must be a string"),
        ("code_connections", "on_merge", {AN_ID: 5}, f"on_merge.{AN_ID} must be a UUID"),
        (
            "code_connections",
            "on_merge",
            {"OPS": AN_ID},
            "on_merge.OPS must be named by the UUID of a project",
        ),
        ("code_changes", "ticket_ids", "x", "ticket_ids must be an array"),
        ("tickets", "due_date", "soon", "due_date must be a day such as 2026-11-20"),
        ("webhooks", "form", "fax", "form must be one of json, slack, "),
        ("tool_invocations", "usage", {"input_tokens": 1}, "it has no usage.output_tokens"),
        ("receipt_answers", "answer", {"ticket": "x"}, "answer.ticket must be an integer"),
    ],
)
def test_a_value_of_another_form(table, name, value, said):
    assert problem(table, **{name: value}).startswith(said)


@cases(
    "receipt, said",
    [
        ([], "receipt must be an object"),
        ({"ticket": {"version": 1}}, "it has no receipt.ticket.read"),
        (
            {"ticket": {"version": 1, "read": "x"}},
            "receipt.ticket.read must be milliseconds since 1970",
        ),
        (
            {"comments": {"count": 1, "read": 0, "unread": [[AN_ID]]}},
            "receipt.comments.unread[0] must be an array of two values",
        ),
        (
            {"comments": {"count": 1, "read": 0, "unread": [["x", 1]]}},
            "receipt.comments.unread[0][0] must be a UUID",
        ),
        ({"house_rules": {}}, "it has no receipt.house_rules.page_id"),
    ],
)
def test_a_receipt_of_another_form(receipt, said):
    assert problem("audit_events", **EVENT | {"receipt": receipt}) == said


def test_a_payload_of_another_form():
    assert problem("audit_events", **EVENT | {"payload": 5}) == "payload must be an object"
    assert of_event("ticket.updated") == "it has no payload.changes"
    assert of_event("ticket.updated", changes=[]) == "payload.changes must be an object"
    said = of_event("ticket.assigned", assignee_user_id=[], from_user_id=None)
    assert said == "payload.assignee_user_id must be a UUID"
    said = of_event("comment.created", comment_id=AN_ID, body=5)
    assert said == "payload.body must be a string"
    ends = {f"{end}_{name}": AN_ID for end in ("source", "target") for name in ("ticket_id",)}
    ends |= {"source_display_id": "OPS-1", "target_display_id": "OPS-2"}
    said = of_event("ticket.relation_added", type="follows", **ends)
    assert said.startswith("payload.type must be one of epic, story, subtask, blocks, ")
    assert of_event("ticket.relation_added", type="blocks", **ends) == ""


@cases(
    "name, before, after, said",
    [
        ("due_date", None, "soon", "to must be a day such as 2026-11-20"),
        ("due_date", "2026-02-30", None, "from must be a day such as 2026-11-20"),
        ("label_ids", [], 5, "to must be an array"),
        ("label_ids", [[]], [], "from[0] must be a UUID"),
        ("title", "a", [], "to must be a string"),
        ("priority", "low", "now", "to must be one of low, medium, high, urgent"),
    ],
)
def test_a_change_of_another_form(name, before, after, said):
    assert of_change(name, before, after) == f"payload.changes.{name}.{said}"


@pytest.mark.parametrize("change", [None, 5, "x", [], {"from": "a"}, {"to": "a"}])
def test_a_change_that_is_no_change(change):
    said = of_event("ticket.updated", changes={"title": change})
    assert said.split()[-1].startswith(("object", "payload.changes.title")), said


def test_what_other_releases_write_is_kept():
    changes = {"estimate": {"from": None, "to": [1]}, "due_date": {"from": None, "to": None}}
    assert of_event("ticket.updated", changes=changes, later={"a": 1}) == ""
    assert of_event("ticket.voted", votes=[1]) == ""
    receipt = {"ticket": {"version": 2, "read": 1}, "later": 5}
    assert problem("audit_events", **EVENT | {"receipt": receipt}) == ""
