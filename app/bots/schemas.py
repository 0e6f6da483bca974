"""Shapes of bots in requests and answers."""

from marshmallow import Schema

from app.accounts.models import BotMode
from app.accounts.schemas import BotOut
from app.bots.rules import HIGHEST_RATE, LOWEST_RATE
from app.rest.fields import Choice, CreateSchema, Flag, Identifier, Items, StrictSchema, Text, Whole
from app.rest.shapes import Nested

USERNAME = {"pattern": "^[a-z0-9][a-z0-9._-]{1,63}$", "example": "bot-triage-1"}
NAME = {"minLength": 1, "maxLength": 200}
PROJECT_IDS = {"description": "The projects it may see and write in; empty: all."}
RATE = {
    "description": "Stored, not enforced in v1.",
    "minimum": LOWEST_RATE,
    "maximum": HIGHEST_RATE,
}
TOKEN = {"pattern": "^app_[a-z2-7]{32}$", "description": "Shown only this once."}


class BotCreate(CreateSchema):
    """A new bot."""

    username = Text(required=True, metadata=USERNAME)
    mode = Choice(BotMode, required=True)
    display_name = Text(metadata=NAME)
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    can_edit_global_wiki = Flag()
    rate_limit_per_minute = Whole(metadata=RATE)


class BotPatch(StrictSchema):
    """Changes to a bot; its username and type are fixed, its token has its own endpoints."""

    immutable = (
        "id",
        "type",
        "username",
        "active_token",
        "created_by_user_id",
        "created_at",
        "updated_at",
    )

    display_name = Text(metadata=NAME)
    mode = Choice(BotMode)
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    can_edit_global_wiki = Flag()
    rate_limit_per_minute = Whole(metadata=RATE)
    is_active = Flag()


class BotWithTokenOut(Schema):
    """A bot with the plaintext of a token just issued, which is shown only this once."""

    bot = Nested(BotOut, required=True)
    plaintext_token = Text(required=True, metadata=TOKEN)
