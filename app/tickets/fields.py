"""The fields of a ticket that can be changed: what each is called, and what is done with it.

Editors, sentences, live updates, duplicates and undoing go by this table.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Field:
    """A field that can be changed."""

    # Of requests, and of the changes in events.
    name: str
    # As pages name its part of a ticket.
    part: str
    label: str
    # In a line of several changes.
    short: str
    # Whether it may be emptied.
    is_optional: bool = False
    # Whether its value is the id of a user or a ticket.
    is_reference: bool = False
    # Whether a duplicate of the ticket has the same.
    is_copied: bool = False


FIELDS = (
    Field("title", "title", "Title", "title", is_copied=True),
    Field("body", "body", "Description", "description", is_copied=True),
    # It changes by transition alone.
    Field("state_id", "state", "State", "state"),
    Field(
        "assignee_user_id",
        "assignee",
        "Assignee",
        "assignee",
        is_optional=True,
        is_reference=True,
        is_copied=True,
    ),
    Field("priority", "priority", "Priority", "priority", is_copied=True),
    Field("label_ids", "labels", "Labels", "labels", is_optional=True),
    Field("due_date", "due_date", "Due date", "due date", is_optional=True, is_copied=True),
    Field("parent_ticket_id", "parent", "Parent", "parent", is_optional=True, is_reference=True),
    Field("reporter_user_id", "reporter", "Reporter", "reporter", is_reference=True),
)
BY_PART = {one.part: one for one in FIELDS}
# The fields of ``update_ticket``.
UPDATED = tuple(one for one in FIELDS if one.name != "state_id")
