"""Shapes of bots in requests and answers."""

from marshmallow import Schema

from app.accounts.models import BotMode
from app.accounts.schemas import BotOut
from app.bots.rules import MAX_RATE, MIN_RATE
from app.rest import examples
from app.rest.examples import Nested, like
from app.rest.fields import Choice, CreateSchema, Flag, Identifier, Items, StrictSchema, Text, Whole

USERNAME = like(
    "bot-ops-1", "The username. It cannot change.", pattern="^[a-z0-9][a-z0-9._-]{1,63}$"
)
NAME = like("bot-ops-1", "The display name.", minLength=1, maxLength=200)
MODE = like(BotMode.WRITE, "Whether it can write or only read.")
PROJECT_IDS = like([examples.PROJECT], "The projects it can access; empty: all.")
GLOBAL_WIKI = like(False, "Whether it can write wiki pages that belong to no project.")
RATE = like(60, "Stored, not enforced in v1.", minimum=MIN_RATE, maximum=MAX_RATE)
TOKEN = like(
    "app_k3v7q2xwb5n4d6f2h3j7l5m4p6r2s3t7",
    "Shown only once.",
    pattern="^app_[a-z2-7]{32}$",
)


class BotCreate(CreateSchema):
    """A new bot."""

    username = Text(required=True, metadata=USERNAME)
    mode = Choice(BotMode, required=True, metadata=MODE)
    display_name = Text(metadata={**NAME, "description": "Default: the username."})
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    can_edit_global_wiki = Flag(metadata=GLOBAL_WIKI)
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
    mode = Choice(BotMode, metadata=MODE)
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    can_edit_global_wiki = Flag(metadata=GLOBAL_WIKI)
    rate_limit_per_minute = Whole(metadata=RATE)
    is_active = Flag(metadata=like(True, "Whether its token is accepted."))
    is_paused = Flag(
        metadata=like(
            False, "Whether it can only read. A bot that creates too much is paused by the system."
        )
    )


class BotWithTokenOut(Schema):
    """A bot with the plaintext of a token just issued, which is shown only this once."""

    bot = Nested(BotOut, required=True)
    plaintext_token = Text(required=True, metadata=TOKEN)
