"""Shapes of users, sessions and setup in requests and answers."""

from marshmallow import Schema

from app.accounts.models import BotMode, UserType
from app.rest.fields import Choice, CreateSchema, Flag, Identifier, Items, StrictSchema, Text, Whole
from app.rest.shapes import Nested, Stamp, Union


class UserSummaryOut(Schema):
    """A user where another resource names one."""

    id = Identifier(required=True)
    type = Choice(UserType, required=True)
    username = Text(required=True)
    display_name = Text(required=True)


class HumanOut(Schema):
    """A human user."""

    id = Identifier(required=True)
    type = Choice(UserType, required=True)
    username = Text(required=True)
    display_name = Text(required=True)
    is_active = Flag(required=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class BotTokenOut(Schema):
    """Metadata of a bot's active token."""

    id = Identifier(required=True)
    prefix = Text(required=True)
    issued_at = Stamp(required=True)
    rotated_at = Stamp(required=True, allow_none=True)
    revoked_at = Stamp(required=True, allow_none=True)
    last_used_at = Stamp(required=True, allow_none=True)


class BotOut(Schema):
    """A bot."""

    id = Identifier(required=True)
    type = Choice(UserType, required=True)
    username = Text(required=True)
    display_name = Text(required=True)
    mode = Choice(BotMode, required=True)
    project_ids = Items(Identifier(), required=True)
    can_edit_global_wiki = Flag(required=True)
    rate_limit_per_minute = Whole(required=True)
    is_active = Flag(required=True)
    active_token = Nested(BotTokenOut, required=True, allow_none=True)
    created_by_user_id = Identifier(required=True, allow_none=True)
    created_at = Stamp(required=True)
    updated_at = Stamp(required=True)


class UserOut(Union):
    """A user: human or bot."""

    discriminator = "type"
    members = {UserType.HUMAN: HumanOut, UserType.BOT: BotOut}


class SessionOut(Schema):
    """When the session of a login ends at the latest."""

    expires_at = Stamp(required=True)


class LoginOut(Schema):
    """The answer of login and setup."""

    user = Nested(HumanOut, required=True)
    session = Nested(SessionOut, required=True)


class LoginBody(StrictSchema):
    """Credentials of a human."""

    username = Text(required=True)
    password = Text(required=True)


class SetupBody(CreateSchema):
    """The first admin."""

    username = Text(required=True, metadata={"pattern": "^[a-z0-9][a-z0-9._-]{1,63}$"})
    password = Text(required=True, metadata={"minLength": 12, "maxLength": 1024})
    display_name = Text(metadata={"maxLength": 200})
    setup_code = Text(
        metadata={
            "description": "What the server printed at its start; needed from another machine."
        }
    )


class SetupStatusOut(Schema):
    """Whether the first admin is still to be made, and whether this takes the setup code."""

    needs_setup = Flag(required=True)
    needs_code = Flag(required=True)


class ChangePasswordBody(StrictSchema):
    """The current password and the one to replace it."""

    current_password = Text(required=True)
    new_password = Text(required=True, metadata={"minLength": 12, "maxLength": 1024})


class UserCreate(CreateSchema):
    """A new human."""

    username = Text(required=True, metadata={"pattern": "^[a-z0-9][a-z0-9._-]{1,63}$"})
    display_name = Text(metadata={"maxLength": 200})
    password = Text(required=True, metadata={"minLength": 12, "maxLength": 1024})


class UserPatch(StrictSchema):
    """Changes to a human; a new password ends all of that person's sessions."""

    immutable = ("id", "type", "username", "created_at", "updated_at")

    display_name = Text(metadata={"maxLength": 200})
    is_active = Flag()
    password = Text(metadata={"minLength": 12, "maxLength": 1024})
