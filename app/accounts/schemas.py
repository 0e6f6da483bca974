"""Shapes of users, sessions and setup in requests and answers."""

from marshmallow import Schema

from app.accounts.models import BotMode, UserType
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, Union, like
from app.rest.fields import Choice, CreateSchema, Flag, Identifier, Items, StrictSchema, Text, Whole

USERNAME = like("ada", "The login name. It cannot change.", pattern="^[a-z0-9][a-z0-9._-]{1,63}$")
DISPLAY_NAME = like("Ada", "The display name. Default: the username.", maxLength=200)
EMAIL = like("ada@example.org", "The email address. No two users share one.", maxLength=254)
PASSWORD = like("correct horse battery", "12 characters or more.", minLength=12, maxLength=1024)

CODE = like("287082", "A code of the authenticator app, or a recovery code.", maxLength=64)


class UserSummaryOut(Schema):
    """A user where another resource names one."""

    id = Identifier(required=True, metadata=like(examples.ADA))
    type = Choice(UserType, required=True, metadata=like(UserType.HUMAN))
    username = Text(required=True, metadata=like("ada"))
    display_name = Text(required=True, metadata=like("Ada"))


class HumanOut(UserSummaryOut):
    """A human user."""

    email = Text(required=True, allow_none=True, metadata=like("ada@example.org"))
    email_confirmed = Flag(required=True, metadata=like(True))
    is_active = Flag(required=True, metadata=like(True))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class BotTokenOut(Schema):
    """Metadata of a bot's active token."""

    id = Identifier(required=True, metadata=like(examples.CREDENTIAL))
    prefix = Text(required=True, metadata=like("k3v7q2xw"))
    issued_at = TimestampOut(required=True)
    rotated_at = TimestampOut(required=True, allow_none=True)
    revoked_at = TimestampOut(required=True, allow_none=True)
    last_used_at = TimestampOut(required=True, allow_none=True)


class BotOut(Schema):
    """A bot."""

    id = Identifier(required=True, metadata=like(examples.BOT))
    type = Choice(UserType, required=True, metadata=like(UserType.BOT))
    username = Text(required=True, metadata=like("bot-ops-1"))
    display_name = Text(required=True, metadata=like("bot-ops-1"))
    mode = Choice(BotMode, required=True, metadata=like(BotMode.WRITE))
    project_ids = Items(Identifier(), required=True, metadata=like([examples.PROJECT]))
    can_edit_global_wiki = Flag(required=True, metadata=like(False))
    rate_limit_per_minute = Whole(required=True, metadata=like(60))
    is_active = Flag(required=True, metadata=like(True))
    is_paused = Flag(required=True, metadata=like(False))
    active_token = Nested(BotTokenOut, required=True, allow_none=True)
    created_by_user_id = Identifier(required=True, allow_none=True, metadata=like(examples.ADA))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class UserOut(Union):
    """A user: human or bot."""

    discriminator = "type"
    members = {UserType.HUMAN: HumanOut, UserType.BOT: BotOut}


class SessionOut(Schema):
    """When the session of a login ends at the latest."""

    expires_at = TimestampOut(required=True, metadata=like("2026-12-20T19:23:58.123Z"))


class LoginOut(Schema):
    """The answer of login and setup."""

    user = Nested(HumanOut, required=True)
    session = Nested(SessionOut, required=True)


class LoginBody(StrictSchema):
    """Credentials of a human."""

    username = Text(required=True, metadata=like("ada", "The name to log in with."))
    password = Text(required=True, metadata=like("correct horse battery", "The password."))
    code = Text(metadata=CODE)


class SetupBody(CreateSchema):
    """The first admin."""

    username = Text(required=True, metadata=USERNAME)
    password = Text(required=True, metadata=PASSWORD)
    display_name = Text(metadata=DISPLAY_NAME)
    setup_code = Text(
        metadata=like(
            "k3tq-7xya-m2pd-w5lf",
            description="The code printed when the server started. Required from another machine.",
        )
    )


class SetupStatusOut(Schema):
    """Whether the first admin is still to be made, and whether this takes the setup code."""

    needs_setup = Flag(required=True, metadata=like(False))
    needs_code = Flag(required=True, metadata=like(False))


class ChangePasswordBody(StrictSchema):
    """The current password and the one to replace it."""

    current_password = Text(
        required=True, metadata=like("correct horse battery", "The current password.")
    )
    new_password = Text(
        required=True,
        metadata=PASSWORD | like("staple the battery, horse", "12 characters or more."),
    )


class SecondFactorStatusOut(Schema):
    """Whether logins with a password ask for a code."""

    is_enabled = Flag(required=True, metadata=like(True))
    recovery_codes_left = Whole(required=True, metadata=like(10))


class NewSecondFactorOut(Schema):
    """The secret for an authenticator app, as text and as the address of a QR code."""

    secret = Text(required=True, metadata=like("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"))
    otpauth_uri = Text(
        required=True,
        metadata=like("otpauth://totp/Docket:ada?secret=GEZDGNBVGY3TQOJQ&issuer=Docket"),
    )


class RecoveryCodesOut(Schema):
    """The recovery codes, which are shown only once; each works once."""

    recovery_codes = Items(
        Text(), required=True, metadata=like(["k3tq-7xya-m2pd-w5lf", "h4xs-2mqa-7zkc-v6pn"])
    )


class CurrentPasswordBody(StrictSchema):
    """The current password."""

    current_password = Text(
        required=True, metadata=like("correct horse battery", "The current password.")
    )


class CodeBody(StrictSchema):
    """The first code of an authenticator app."""

    code = Text(required=True, metadata=like("287082", "The code.", maxLength=64))


class PasswordAndCodeBody(CurrentPasswordBody):
    """The current password and a code."""

    code = Text(required=True, metadata=CODE)


class ConfirmationBody(StrictSchema):
    """The current password and a code, of people who have them."""

    current_password = Text(metadata=like("correct horse battery", "The current password."))
    code = Text(metadata=CODE)


class UserCreate(CreateSchema):
    """A new human."""

    username = Text(required=True, metadata=USERNAME)
    display_name = Text(metadata=DISPLAY_NAME)
    email = Text(allow_none=True, metadata=EMAIL)
    password = Text(required=True, metadata=PASSWORD)


class InvitationBody(StrictSchema):
    """A person to invite; the username is made of the name if absent."""

    display_name = Text(required=True, metadata=DISPLAY_NAME)
    username = Text(metadata=USERNAME)
    email = Text(metadata=EMAIL)
    by_mail = Flag()


class ForgotPasswordBody(StrictSchema):
    """The address of whoever forgot a password."""

    email = Text(required=True, metadata=EMAIL)


class ChoosePasswordBody(StrictSchema):
    """The password that the holder of a link chooses."""

    password = Text(required=True, metadata=PASSWORD)


class UserPatch(StrictSchema):
    """Changes to a human; a new password ends all of that person's sessions."""

    immutable = ("id", "type", "username", "created_at", "updated_at")

    display_name = Text(metadata=like("Ada", "The display name.", maxLength=200))
    is_active = Flag(
        metadata={"description": "Whether they can log in. At least one human must stay active."}
    )
    email = Text(allow_none=True, metadata=EMAIL)
    password = Text(
        metadata={"description": "12 characters or more.", "minLength": 12, "maxLength": 1024}
    )
