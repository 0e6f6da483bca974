"""Shapes of projects, workflow states and labels in requests and answers."""

from marshmallow import Schema

from app.projects.models import StateCategory
from app.rest import examples
from app.rest.examples import TimestampOut, like
from app.rest.fields import Choice, CreateSchema, Flag, Identifier, Items, StrictSchema, Text, Whole

KEY = like("OPS", "The prefix of display ids, such as OPS-12.", pattern="^[A-Z][A-Z0-9]{1,9}$")
NAME = like("Operations", "On one line.", minLength=1, maxLength=200)
DESCRIPTION = like("What keeps the lights on.", "What the project is about.", maxLength=16384)
STATE_NAME = like("In progress", "On one line; unique in the project.", minLength=1, maxLength=200)
CATEGORY = like(StateCategory.ACTIVE, "What the state means. Only `done` closes a ticket.")
WIP_LIMIT = like(3, "The most tickets it should hold; null: no limit.", minimum=1, maximum=999)
SIGN_OFF = like(
    False, "Only people move tickets into a state of category `done`: a bot's move is refused."
)
REVIEW_STATE = like(examples.STATE, "Where bots leave tickets for people to sign off.")
CREATION_LIMIT = like(
    100,
    "A bot that creates more tickets, comments and files than this in 10 minutes is paused; 0: off",
    minimum=0,
    maximum=10_000,
)
LABEL_NAME = like("security", "On one line; unique in the project.", minLength=1, maxLength=200)
COLOR = like(
    "#64748b",
    "`#` and six hexadecimal digits.",
    pattern="^#[0-9A-Fa-f]{6}$",
    default="#64748b",
)


class ProjectOut(Schema):
    """A project."""

    id = Identifier(required=True, metadata=like(examples.PROJECT))
    key = Text(required=True, metadata=KEY)
    name = Text(required=True, metadata=like("Operations"))
    description = Text(required=True, metadata=like("What keeps the lights on."))
    owner_user_id = Identifier(required=True, metadata=like(examples.ADA))
    sign_off = Flag(required=True, metadata=SIGN_OFF)
    review_state_id = Identifier(required=True, allow_none=True, metadata=REVIEW_STATE)
    bot_creation_limit = Whole(required=True, metadata=CREATION_LIMIT)
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)
    deleted_at = TimestampOut(required=True, allow_none=True)


class ProjectCreate(CreateSchema):
    """A new project."""

    key = Text(required=True, metadata=KEY)
    name = Text(required=True, metadata=NAME)
    description = Text(metadata=DESCRIPTION)
    owner_user_id = Identifier(metadata={"description": "A human. Default: the caller."})


class ProjectPatch(StrictSchema):
    """Changes to a project; its key is fixed."""

    immutable = ("id", "key", "created_at", "updated_at", "deleted_at")

    name = Text(metadata=NAME)
    description = Text(metadata=DESCRIPTION)
    owner_user_id = Identifier(metadata=like(examples.ADA, "A human."))
    sign_off = Flag(metadata=SIGN_OFF)
    review_state_id = Identifier(
        allow_none=True,
        metadata=like(
            examples.STATE, "A state of this project, not of category `done`; null: none."
        ),
    )
    bot_creation_limit = Whole(metadata=CREATION_LIMIT)


class StateOut(Schema):
    """A workflow state."""

    id = Identifier(required=True, metadata=like(examples.STATE))
    project_id = Identifier(required=True, metadata=like(examples.PROJECT))
    name = Text(required=True, metadata=like("In progress"))
    position = Whole(required=True, metadata=like(2))
    category = Choice(StateCategory, required=True, metadata=like(StateCategory.ACTIVE))
    wip_limit = Whole(required=True, allow_none=True, metadata=like(3))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class StateSummaryOut(Schema):
    """A workflow state where another resource names one."""

    id = Identifier(required=True, metadata=like(examples.STATE))
    name = Text(required=True, metadata=like("In progress"))
    category = Choice(StateCategory, required=True, metadata=like(StateCategory.ACTIVE))


class StateCreate(CreateSchema):
    """A new workflow state, put at the end."""

    name = Text(required=True, metadata=STATE_NAME)
    category = Choice(StateCategory, required=True, metadata=CATEGORY)
    wip_limit = Whole(allow_none=True, metadata=WIP_LIMIT)


class StatePatch(StrictSchema):
    """Changes to a workflow state; positions change by reordering."""

    immutable = ("id", "project_id", "position", "created_at", "updated_at")

    name = Text(metadata=STATE_NAME)
    category = Choice(StateCategory, metadata=CATEGORY)
    wip_limit = Whole(allow_none=True, metadata=WIP_LIMIT)


class StateOrder(StrictSchema):
    """All states of the project, in their new order."""

    state_ids = Items(
        Identifier(),
        required=True,
        metadata=like([examples.NEXT_STATE, examples.STATE], "All states, in the new order."),
    )


class LabelOut(Schema):
    """A label."""

    id = Identifier(required=True, metadata=like(examples.LABEL))
    project_id = Identifier(required=True, metadata=like(examples.PROJECT))
    name = Text(required=True, metadata=like("security"))
    color = Text(required=True, metadata=like("#64748b"))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class LabelSummaryOut(Schema):
    """A label where another resource names one."""

    id = Identifier(required=True, metadata=like(examples.LABEL))
    name = Text(required=True, metadata=like("security"))
    color = Text(required=True, metadata=like("#64748b"))


class LabelCreate(CreateSchema):
    """A new label."""

    name = Text(required=True, metadata=LABEL_NAME)
    color = Text(metadata=COLOR)


class LabelPatch(StrictSchema):
    """Changes to a label."""

    immutable = ("id", "project_id", "created_at", "updated_at")

    name = Text(metadata=LABEL_NAME)
    color = Text(metadata=COLOR)
