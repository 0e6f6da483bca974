"""Shapes of tickets and what hangs on them, in requests and answers."""

from marshmallow import Schema

from app.accounts.schemas import UserSummaryOut
from app.projects.models import StateCategory
from app.projects.schemas import LabelSummaryOut, StateSummaryOut
from app.rest.fields import (
    Choice,
    CreateSchema,
    Day,
    DeletedPageQuery,
    DeletedQuery,
    Identifier,
    Items,
    QueryFlag,
    StrictSchema,
    Text,
    Whole,
)
from app.rest.shapes import Nested, Stamp
from app.tickets.models import Priority, RelationType, TicketType

TITLE = {"minLength": 1, "maxLength": 200}
BODY = {"maxLength": 65536, "description": "Markdown, kept exactly as sent."}
EXPECTED_ASSIGNEE = {
    "description": "Refuse with 409 `assignee_mismatch` if the ticket is assigned to anyone else."
}


class TicketSummaryOut(Schema):
    """A ticket where another resource names one."""

    id = Identifier(required=True)
    display_id = Text(required=True)
    title = Text(required=True)
    type = Choice(TicketType, required=True)
    state = Nested(StateSummaryOut, required=True, allow_none=True)


class TicketOut(Schema):
    """A ticket."""

    id = Identifier(required=True)
    display_id = Text(required=True, metadata={"example": "OPS-12"})
    ticket_number = Whole(required=True)
    project_id = Identifier(required=True)
    type = Choice(TicketType, required=True)
    title = Text(required=True)
    body = Text(required=True)
    state_id = Identifier(required=True, allow_none=True)
    state = Nested(StateSummaryOut, required=True, allow_none=True)
    priority = Choice(Priority, required=True)
    assignee_user_id = Identifier(required=True, allow_none=True)
    assignee = Nested(UserSummaryOut, required=True, allow_none=True)
    reporter_user_id = Identifier(required=True)
    reporter = Nested(UserSummaryOut, required=True)
    parent_ticket_id = Identifier(required=True, allow_none=True)
    parent = Nested(TicketSummaryOut, required=True, allow_none=True)
    labels = Items(Nested(LabelSummaryOut), required=True)
    due_date = Day(required=True, allow_none=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)
    deleted_at = Stamp(required=True, allow_none=True)


class TicketCreate(CreateSchema):
    """A new ticket."""

    title = Text(required=True, metadata=TITLE)
    type = Choice(TicketType, metadata={"default": "story"})
    body = Text(metadata=BODY)
    priority = Choice(Priority, metadata={"default": "medium"})
    state_id = Identifier(metadata={"description": "The project's first state if absent."})
    assignee_user_id = Identifier(allow_none=True)
    parent_ticket_id = Identifier(allow_none=True)
    label_ids = Items(Identifier())
    due_date = Day(allow_none=True)


class TicketPatch(StrictSchema):
    """Changes to a ticket; states change by transition."""

    immutable = (
        "id",
        "display_id",
        "ticket_number",
        "project_id",
        "type",
        "state_id",
        "state",
        "assignee",
        "reporter",
        "parent",
        "labels",
        "created_at",
        "updated_at",
        "deleted_at",
    )

    title = Text(metadata=TITLE)
    body = Text(metadata=BODY)
    priority = Choice(Priority)
    assignee_user_id = Identifier(allow_none=True)
    reporter_user_id = Identifier(metadata={"description": "Humans only."})
    parent_ticket_id = Identifier(allow_none=True)
    label_ids = Items(Identifier())
    due_date = Day(allow_none=True)
    expected_assignee_user_id = Identifier(allow_none=True, metadata=EXPECTED_ASSIGNEE)


class Transition(StrictSchema):
    """A move to another workflow state."""

    state_id = Identifier(required=True)
    comment = Text(metadata={"maxLength": 65536, "description": "Markdown."})
    expected_assignee_user_id = Identifier(allow_none=True, metadata=EXPECTED_ASSIGNEE)


class TicketFilters(DeletedPageQuery):
    """The single-value filters of ticket lists."""

    state_id = Identifier()
    state_category = Choice(StateCategory)
    ticket_type = Choice(TicketType)
    assignee_user_id = Identifier()
    reporter_user_id = Identifier()
    label_id = Identifier()
    priority = Choice(Priority)
    parent_ticket_id = Identifier()
    ready = QueryFlag(
        metadata={
            "description": "Only live stories and subtasks that are not done, have no assignee "
            "and no open ticket that blocks them."
        }
    )


class AllTicketFilters(TicketFilters):
    """The cross-project list may be narrowed to a project."""

    project_id = Identifier()


class TicketQuery(DeletedQuery):
    """Reading one ticket."""


class RelationOut(Schema):
    """A relation, seen from the ticket in the path."""

    id = Identifier(required=True)
    type = Choice(RelationType, required=True)
    direction = Text(required=True, metadata={"enum": ["outgoing", "incoming"]})
    ticket = Nested(TicketSummaryOut, required=True)
    source_ticket_id = Identifier(required=True)
    target_ticket_id = Identifier(required=True)
    created_by_user_id = Identifier(required=True)
    created_at = Stamp(required=True)


class RelationCreate(CreateSchema):
    """A new relation from the ticket in the path."""

    type = Choice(RelationType, required=True)
    target_ticket_id = Text(required=True, metadata={"description": "A UUID or a display id."})


class WatcherOut(Schema):
    """A user who follows a ticket."""

    user_id = Identifier(required=True)
    user = Nested(UserSummaryOut, required=True)
    created_at = Stamp(required=True)


class WatcherCreate(CreateSchema):
    """A new watcher: the caller, unless a human names another."""

    user_id = Identifier()


class EditOut(Schema):
    """A body that a comment had before."""

    body = Text(required=True)
    edited_at = Stamp(required=True)


class CommentOut(Schema):
    """A comment."""

    id = Identifier(required=True)
    ticket_id = Identifier(required=True)
    author_user_id = Identifier(required=True)
    author = Nested(UserSummaryOut, required=True)
    body = Text(required=True)
    edit_history = Items(Nested(EditOut), required=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)
    deleted_at = Stamp(required=True, allow_none=True)


class CommentCreate(CreateSchema):
    """A new comment."""

    body = Text(required=True, metadata={**BODY, "minLength": 1})


class CommentPatch(StrictSchema):
    """A new body for one's own comment."""

    immutable = (
        "id",
        "ticket_id",
        "author_user_id",
        "author",
        "edit_history",
        "created_at",
        "updated_at",
        "deleted_at",
    )

    body = Text(metadata={**BODY, "minLength": 1})
