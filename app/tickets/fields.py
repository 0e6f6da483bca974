"""The fields of a ticket that can be changed.

Editors, activity sentences, live updates, duplicates and undo use this table.
"""

from dataclasses import dataclass

from app.tickets import messages


@dataclass(frozen=True, slots=True)
class Field:
    # The name in requests, and in the changes of events.
    name: str
    # The name in addresses and templates of pages; empty if no page shows the field separately.
    page_name: str
    label: str
    # The value is the id of a user or a ticket.
    is_reference: bool = False
    # A duplicate of the ticket gets the same value.
    is_copied: bool = False


FIELDS = (
    Field("title", "title", messages.TITLE, is_copied=True),
    Field("body", "body", messages.DESCRIPTION, is_copied=True),
    # Changed only by transition.
    Field("state_id", "state", messages.STATE),
    Field(
        "assignee_user_id",
        "assignee",
        messages.ASSIGNEE,
        is_reference=True,
        is_copied=True,
    ),
    Field("priority", "priority", messages.PRIORITY, is_copied=True),
    Field("label_ids", "labels", messages.LABELS),
    Field("due_date", "due_date", messages.DUE_DATE, is_copied=True),
    Field("parent_ticket_id", "parent", messages.PARENT, is_reference=True),
    Field("rank", "", messages.POSITION),
    Field("reporter_user_id", "reporter", messages.REPORTER, is_reference=True),
)
BY_PAGE_NAME = {field.page_name: field for field in FIELDS if field.page_name}
# The fields of ``update_ticket``.
UPDATED = tuple(field for field in FIELDS if field.name != "state_id")
