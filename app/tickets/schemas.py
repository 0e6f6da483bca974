"""Shapes of tickets and what hangs on them, in requests and answers."""

from marshmallow import Schema

from app.accounts.schemas import UserSummaryOut
from app.projects.models import StateCategory
from app.projects.schemas import LabelSummaryOut, StateSummaryOut
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, like
from app.rest.fields import (
    Choice,
    CreateSchema,
    Day,
    DeletedPageQuery,
    DeletedQuery,
    Identifier,
    Items,
    QueryFlag,
    QuerySchema,
    StrictSchema,
    Text,
    Timestamp,
    Whole,
)
from app.tickets.creating import MAX_CHILDREN, MAX_RELATIONS
from app.tickets.filters import OPEN
from app.tickets.models import Priority, Reaction, RelationType, TicketType
from app.tickets.sorting import TicketSort

WORDS = "All certificates end on **30 November**."
TITLE = like("Rotate the certificates", "On one line.", minLength=1, maxLength=200)
BODY = like(WORDS, "Markdown, kept exactly as sent.", maxLength=65536)
COMMENT = like("Done, see the **log**.", "Markdown, kept exactly as sent.", maxLength=65536)
TYPE = like(TicketType.STORY, "Epics contain stories, and stories contain subtasks.")
PRIORITY = like(Priority.HIGH, "How urgent it is.")
ASSIGNEE = like(examples.ADA, "Who works on it, a human or a bot; null: nobody.")
PARENT = like(examples.EPIC, "The epic of a story, the story of a subtask; null: none.")
LABELS = like([examples.LABEL], "All its labels, from its project.")
DUE = like("2026-11-30", "The due date; null: none.")
RANK_AFTER = like(
    examples.EPIC, "Place it right below this ticket of its project; null: below all others."
)
RANK_BEFORE = like(
    examples.EPIC, "Place it right above this ticket of its project; null: above all others."
)
EXPECTED_ASSIGNEE = {
    "description": "Refuse with 409 `assignee_mismatch` if the ticket is assigned to anyone else."
}


class TicketSummaryOut(Schema):
    """A ticket where another resource names one."""

    id = Identifier(required=True, metadata=like(examples.EPIC))
    display_id = Text(required=True, metadata=like("OPS-3"))
    title = Text(required=True, metadata=like("Certificates"))
    type = Choice(TicketType, required=True, metadata=like(TicketType.EPIC))
    state = Nested(StateSummaryOut, required=True, allow_none=True)


class TicketOut(Schema):
    """A ticket."""

    id = Identifier(required=True, metadata=like(examples.TICKET))
    display_id = Text(required=True, metadata=like("OPS-12"))
    ticket_number = Whole(required=True, metadata=like(12))
    project_id = Identifier(required=True, metadata=like(examples.PROJECT))
    type = Choice(TicketType, required=True, metadata=like(TicketType.STORY))
    title = Text(required=True, metadata=like("Rotate the certificates"))
    body = Text(required=True, metadata=like(WORDS))
    state_id = Identifier(required=True, allow_none=True, metadata=like(examples.STATE))
    state = Nested(StateSummaryOut, required=True, allow_none=True)
    priority = Choice(Priority, required=True, metadata=like(Priority.HIGH))
    assignee_user_id = Identifier(required=True, allow_none=True, metadata=like(examples.ADA))
    assignee = Nested(UserSummaryOut, required=True, allow_none=True)
    reporter_user_id = Identifier(required=True, metadata=like(examples.ADA))
    reporter = Nested(UserSummaryOut, required=True)
    parent_ticket_id = Identifier(required=True, allow_none=True, metadata=like(examples.EPIC))
    parent = Nested(TicketSummaryOut, required=True, allow_none=True)
    labels = Items(Nested(LabelSummaryOut), required=True)
    due_date = Day(required=True, allow_none=True, metadata=like("2026-11-30"))
    rank = Text(required=True, metadata=like("60000000012V"))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)
    last_activity_at = TimestampOut(required=True)
    deleted_at = TimestampOut(required=True, allow_none=True)
    similar = Items(
        Nested(TicketSummaryOut),
        metadata={
            "description": "Only in the response to a create with `similar=true`: up to 3 open "
            "tickets with a similar title, the closest first."
        },
    )
    at = TimestampOut(
        metadata={"description": "In the answer to `at`: the time that was asked for."}
    )
    not_recorded = Items(
        Text(metadata=like("labels")),
        metadata={
            "description": "In the answer to `at`: the fields that the audit log does not hold for "
            "that time. They are null or empty, or have their present value (`rank`)."
        },
    )


class TicketCreateQuery(QuerySchema):
    """What else the response to a create has."""

    similar = QueryFlag(
        load_default=False,
        metadata={
            "description": "Answer `similar`: open tickets with a similar title.",
            "default": False,
        },
    )


class RelationOfNew(StrictSchema):
    """A relation from a ticket that is created."""

    type = Choice(
        RelationType,
        required=True,
        metadata=like(RelationType.BLOCKS, "How the new ticket relates to the other."),
    )
    target = Text(
        required=True,
        metadata=like(
            "OPS-3",
            "The other ticket: a UUID, a display id, or `children[0]` for the first child.",
        ),
    )


RELATIONS = {"description": "Its relations to other tickets.", "maxItems": MAX_RELATIONS}


class ChildCreate(StrictSchema):
    """A ticket below one that is created: a story of an epic, a subtask of a story."""

    title = Text(required=True, metadata=TITLE)
    body = Text(metadata=BODY)
    priority = Choice(Priority, metadata={**PRIORITY, "default": "medium"})
    state_id = Identifier(metadata={"description": "Default: the project's first state."})
    assignee_user_id = Identifier(allow_none=True, metadata=ASSIGNEE)
    label_ids = Items(Identifier(), metadata=LABELS)
    due_date = Day(allow_none=True, metadata=DUE)
    relations = Items(Nested(RelationOfNew), metadata=RELATIONS)


class TicketCreate(CreateSchema):
    """A new ticket."""

    title = Text(required=True, metadata=TITLE)
    type = Choice(TicketType, metadata={**TYPE, "default": "story"})
    body = Text(metadata=BODY)
    priority = Choice(Priority, metadata={**PRIORITY, "default": "medium"})
    state_id = Identifier(metadata={"description": "Default: the project's first state."})
    assignee_user_id = Identifier(allow_none=True, metadata=ASSIGNEE)
    parent_ticket_id = Identifier(allow_none=True, metadata=PARENT)
    label_ids = Items(Identifier(), metadata=LABELS)
    due_date = Day(allow_none=True, metadata=DUE)
    relations = Items(Nested(RelationOfNew), metadata=RELATIONS)
    children = Items(
        Nested(ChildCreate),
        metadata={"description": "Tickets to create below it.", "maxItems": MAX_CHILDREN},
    )


class TemplateForm(StrictSchema):
    """What the page of a template sends."""

    name = Text(required=True)
    title = Text()
    body = Text()
    type = Choice(TicketType)
    priority = Choice(Priority)
    label_ids = Items(Identifier())


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
        "rank",
        "created_at",
        "updated_at",
        "last_activity_at",
        "deleted_at",
    )

    title = Text(metadata=TITLE)
    body = Text(metadata=BODY)
    priority = Choice(Priority, metadata=PRIORITY)
    assignee_user_id = Identifier(allow_none=True, metadata=ASSIGNEE)
    reporter_user_id = Identifier(metadata={"description": "Who reported it. Humans only."})
    parent_ticket_id = Identifier(allow_none=True, metadata=PARENT)
    label_ids = Items(Identifier(), metadata=LABELS)
    add_label_ids = Items(
        Identifier(), metadata=like([examples.LABEL], "Labels to add; the others stay.")
    )
    remove_label_ids = Items(Identifier(), metadata=like([], "Labels to remove; the others stay."))
    due_date = Day(allow_none=True, metadata=DUE)
    rank_after = Identifier(allow_none=True, metadata=RANK_AFTER)
    rank_before = Identifier(allow_none=True, metadata=RANK_BEFORE)
    expected_assignee_user_id = Identifier(
        allow_none=True, metadata={**EXPECTED_ASSIGNEE, "examples": [None]}
    )


class Transition(StrictSchema):
    """A move to another workflow state."""

    state_id = Identifier(
        required=True, metadata=like(examples.NEXT_STATE, "A state of the ticket's project.")
    )
    comment = Text(metadata=COMMENT)
    expected_assignee_user_id = Identifier(allow_none=True, metadata=EXPECTED_ASSIGNEE)


class TicketFilters(DeletedPageQuery):
    """The single-value filters of ticket lists."""

    state_id = Identifier(metadata={"description": "Only tickets in this state."})
    state_category = Choice(
        (*StateCategory, OPEN),
        metadata={"description": "Only tickets in states of this category; `open`: all but done."},
    )
    sort = Choice(
        TicketSort,
        metadata={
            "description": "`created`: newest first. `updated`: latest change first. `active`: "
            "latest change, comment or relation first. `rank`: manual order. `due`: earliest "
            "first, then those without a date. `priority`: most urgent first.",
            "default": "created",
        },
    )
    ticket_type = Choice(TicketType, metadata={"description": "Only tickets of this type."})
    assignee_user_id = Identifier(metadata={"description": "Only tickets assigned to this user."})
    reporter_user_id = Identifier(metadata={"description": "Only tickets reported by this user."})
    label_id = Identifier(metadata={"description": "Only tickets with this label."})
    priority = Choice(Priority, metadata={"description": "Only tickets with this priority."})
    parent_ticket_id = Identifier(
        metadata={"description": "Only children of this ticket, named by its UUID."}
    )
    ready = QueryFlag(
        metadata={
            "description": "Only live stories and subtasks that are not done, have no assignee "
            "and no open ticket that blocks them."
        }
    )
    stalled = QueryFlag(
        metadata={
            "description": "Only open tickets held by a bot that has done nothing to them for "
            "`STALLED_MINUTES` (30)."
        }
    )


class AllTicketFilters(TicketFilters):
    """The cross-project list may be narrowed to a project."""

    project_id = Identifier(metadata={"description": "Only tickets of this project."})


class TicketQuery(DeletedQuery):
    """Reading one ticket."""

    at = Timestamp(
        metadata=like(
            "2026-11-20T19:23:58Z",
            "Answer the ticket as it was at this time, from the audit log: no ETag, and the fields "
            "`at` and `not_recorded`.",
        )
    )


class RelationOut(Schema):
    """A relation, seen from the ticket in the path."""

    id = Identifier(required=True, metadata=like(examples.RELATION))
    type = Choice(RelationType, required=True, metadata=like(RelationType.RELATES_TO))
    direction = Text(required=True, metadata=like("outgoing", enum=["outgoing", "incoming"]))
    ticket = Nested(TicketSummaryOut, required=True)
    source_ticket_id = Identifier(required=True, metadata=like(examples.TICKET))
    target_ticket_id = Identifier(required=True, metadata=like(examples.EPIC))
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    created_at = TimestampOut(required=True)


class RelationCreate(CreateSchema):
    """A new relation from the ticket in the path."""

    type = Choice(
        RelationType,
        required=True,
        metadata=like(RelationType.RELATES_TO, "How the ticket in the path relates to the other."),
    )
    target_ticket_id = Text(
        required=True, metadata=like("OPS-3", "The other ticket: a UUID or a display id.")
    )


class WatcherOut(Schema):
    """A user who follows a ticket."""

    user_id = Identifier(required=True, metadata=like(examples.ADA))
    user = Nested(UserSummaryOut, required=True)
    created_at = TimestampOut(required=True)


class WatcherCreate(CreateSchema):
    """A new watcher: the caller, unless a human names another."""

    user_id = Identifier(metadata=like(examples.ADA, "The watcher. Default: the caller."))


class EditOut(Schema):
    """A body that a comment had before."""

    body = Text(required=True, metadata=like("Done."))
    edited_at = TimestampOut(required=True)


class ReactionOut(Schema):
    """A reaction to a comment, with everyone who reacted so, in the order in which they did."""

    reaction = Choice(Reaction, required=True, metadata=like(Reaction.THUMBS_UP))
    emoji = Text(required=True, metadata=like("\N{THUMBS UP SIGN}"))
    count = Whole(required=True, metadata=like(1))
    users = Items(Nested(UserSummaryOut), required=True)


class CommentOut(Schema):
    """A comment."""

    id = Identifier(required=True, metadata=like(examples.COMMENT))
    ticket_id = Identifier(required=True, metadata=like(examples.TICKET))
    author_user_id = Identifier(required=True, metadata=like(examples.ADA))
    author = Nested(UserSummaryOut, required=True)
    body = Text(required=True, metadata=like("Done, see the **log**."))
    edit_history = Items(Nested(EditOut), required=True)
    reactions = Items(Nested(ReactionOut), required=True)
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)
    deleted_at = TimestampOut(required=True, allow_none=True)


class CommentCreate(CreateSchema):
    """A new comment."""

    body = Text(required=True, metadata={**COMMENT, "minLength": 1})


class CommentPatch(StrictSchema):
    """A new body for one's own comment."""

    immutable = (
        "id",
        "ticket_id",
        "author_user_id",
        "author",
        "edit_history",
        "reactions",
        "created_at",
        "updated_at",
        "deleted_at",
    )

    body = Text(metadata={**COMMENT, "minLength": 1})
