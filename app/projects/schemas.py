"""Shapes of projects, workflow states and labels in requests and answers."""

from marshmallow import Schema

from app.projects.models import StateCategory
from app.rest.fields import Choice, CreateSchema, Identifier, Items, StrictSchema, Text, Whole
from app.rest.shapes import Stamp

KEY = {"pattern": "^[A-Z][A-Z0-9]{1,9}$", "example": "OPS"}
NAME = {"minLength": 1, "maxLength": 200}
DESCRIPTION = {"maxLength": 16384}
COLOR = {"pattern": "^#[0-9A-Fa-f]{6}$", "default": "#64748b"}


class ProjectOut(Schema):
    """A project."""

    id = Identifier(required=True)
    key = Text(required=True, metadata=KEY)
    name = Text(required=True)
    description = Text(required=True)
    owner_user_id = Identifier(required=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)
    deleted_at = Stamp(required=True, allow_none=True)


class ProjectCreate(CreateSchema):
    """A new project."""

    key = Text(required=True, metadata=KEY)
    name = Text(required=True, metadata=NAME)
    description = Text(metadata=DESCRIPTION)
    owner_user_id = Identifier()


class ProjectPatch(StrictSchema):
    """Changes to a project; its key is fixed."""

    immutable = ("id", "key", "created_at", "updated_at", "deleted_at")

    name = Text(metadata=NAME)
    description = Text(metadata=DESCRIPTION)
    owner_user_id = Identifier()


class StateOut(Schema):
    """A workflow state."""

    id = Identifier(required=True)
    project_id = Identifier(required=True)
    name = Text(required=True)
    position = Whole(required=True)
    category = Choice(StateCategory, required=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class StateSummaryOut(Schema):
    """A workflow state where another resource names one."""

    id = Identifier(required=True)
    name = Text(required=True)
    category = Choice(StateCategory, required=True)


class StateCreate(CreateSchema):
    """A new workflow state, put at the end."""

    name = Text(required=True, metadata=NAME)
    category = Choice(StateCategory, required=True)


class StatePatch(StrictSchema):
    """Changes to a workflow state; positions change by reordering."""

    immutable = ("id", "project_id", "position", "created_at", "updated_at")

    name = Text(metadata=NAME)
    category = Choice(StateCategory)


class StateOrder(StrictSchema):
    """All states of the project, in their new order."""

    state_ids = Items(Identifier(), required=True)


class LabelOut(Schema):
    """A label."""

    id = Identifier(required=True)
    project_id = Identifier(required=True)
    name = Text(required=True)
    color = Text(required=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class LabelSummaryOut(Schema):
    """A label where another resource names one."""

    id = Identifier(required=True)
    name = Text(required=True)
    color = Text(required=True)


class LabelCreate(CreateSchema):
    """A new label."""

    name = Text(required=True, metadata=NAME)
    color = Text(metadata=COLOR)


class LabelPatch(StrictSchema):
    """Changes to a label."""

    immutable = ("id", "project_id", "created_at", "updated_at")

    name = Text(metadata=NAME)
    color = Text(metadata=COLOR)
