"""Shapes of passkeys in requests and answers. Bytes are base64url without padding."""

from marshmallow import Schema

from app.accounts.schemas import CODE, CurrentPasswordBody
from app.rest import examples
from app.rest.examples import Anything, TimestampOut, like
from app.rest.fields import CreateSchema, Identifier, StrictSchema, Text

_CHALLENGE = "pT3qY0d7cMZ8hVnWbKfLr2sXe5uJ1aGo9iDvQy6NxwE"
NAME = like("Phone", "What to call the passkey.", maxLength=100)
STATE = like("ZGt0AWsEq1e1bWQ=", "The state of the answer with the options.", maxLength=1000)
CLIENT_DATA = like(
    "eyJ0eXBlIjoid2ViYXV0aG4uY3JlYXRlIn0", "`response.clientDataJSON`.", maxLength=4096
)


class PasskeyOut(Schema):
    """A passkey of a person."""

    id = Identifier(required=True, metadata=like(examples.PASSKEY))
    name = Text(required=True, metadata=like("Phone"))
    created_at = TimestampOut(required=True)
    last_used_at = TimestampOut(required=True, allow_none=True)


class PasskeyBegin(CurrentPasswordBody):
    """The current password and, where two-factor authentication is on, a code."""

    code = Text(metadata=CODE)


class PasskeyOptionsOut(Schema):
    """What a browser needs for a passkey."""

    options = Anything(
        required=True,
        metadata=like(
            {"challenge": _CHALLENGE, "rpId": "tickets.example.org"},
            "What `navigator.credentials` takes as `publicKey`; bytes are base64url.",
        ),
    )
    state = Text(
        required=True,
        metadata=like("ZGt0AWsEq1e1bWQ=", "Send it back within 5 minutes. It works once."),
    )


class PasskeyCreate(CreateSchema):
    """A passkey that a browser made."""

    name = Text(required=True, metadata=NAME)
    state = Text(required=True, metadata=STATE)
    client_data = Text(required=True, metadata=CLIENT_DATA)
    attestation = Text(
        required=True,
        metadata=like("o2NmbXRkbm9uZQ", "`response.attestationObject`.", maxLength=16384),
    )


class PasskeyPatch(StrictSchema):
    """Another name for a passkey."""

    immutable = ("id", "created_at", "last_used_at")

    name = Text(required=True, metadata=NAME)


class PasskeyLogin(StrictSchema):
    """What a browser answered with a passkey."""

    state = Text(required=True, metadata=STATE)
    credential_id = Text(
        required=True, metadata=like("q2Yk9dV1", "`id` of the credential.", maxLength=1400)
    )
    client_data = Text(required=True, metadata=CLIENT_DATA)
    authenticator_data = Text(
        required=True,
        metadata=like("SZYN5YgOjGh0NBcP", "`response.authenticatorData`.", maxLength=4096),
    )
    signature = Text(
        required=True, metadata=like("MEUCIQDx", "`response.signature`.", maxLength=2048)
    )
    user_handle = Text(
        allow_none=True,
        metadata=like("AZp_ahYSd5eRN4d1qFAeLA", "`response.userHandle`.", maxLength=100),
    )
