"""Shapes of integrations."""

from marshmallow import Schema

from app.integrations.models import Forge
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, like
from app.rest.fields import Choice, CreateSchema, Identifier, Items, StrictSchema, Text

KEY = "a long shared secret"
NAME = like("GitHub", "Its name, which its bot has too.", minLength=1, maxLength=200)
FORGE = like(Forge.GITHUB, "What delivers. It cannot be changed.")
SECRET = like(KEY, "16 bytes or more. Default: a new one.", minLength=16, maxLength=1024)
PROJECT_IDS = like([examples.PROJECT], "The projects whose tickets it may change.", minItems=1)
ADDRESS = f"https://docket.example.org/integrations/{examples.INTEGRATION}/events"


class MoveOnMerge(StrictSchema):
    """The state into which a merge moves the tickets of a project that it fixes."""

    project_id = Identifier(
        required=True, metadata=like(examples.PROJECT, "A project of the integration.")
    )
    state_id = Identifier(
        required=True, metadata=like(examples.NEXT_STATE, "A state of this project.")
    )


ON_MERGE = {
    "description": "Where a merge moves the tickets that it fixes; tickets of other projects stay."
}


class IntegrationOut(Schema):
    """An integration with a code host."""

    id = Identifier(required=True, metadata=like(examples.INTEGRATION))
    name = Text(required=True, metadata=like("GitHub"))
    forge = Choice(Forge, required=True, metadata=like(Forge.GITHUB))
    address = Text(required=True, metadata=like(ADDRESS, "Where the code host delivers."))
    bot_user_id = Identifier(required=True, metadata=like(examples.BOT))
    project_ids = Items(Identifier(), required=True, metadata=like([examples.PROJECT]))
    on_merge = Items(Nested(MoveOnMerge), required=True)
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    last_delivery_at = TimestampOut(required=True, allow_none=True, metadata=like(examples.MOMENT))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)


class IntegrationWithSecretOut(IntegrationOut):
    """An integration in the answers that show its secret."""

    secret = Text(required=True, metadata=like(KEY))


class IntegrationCreate(CreateSchema):
    """A new integration."""

    name = Text(required=True, metadata=NAME)
    forge = Choice(Forge, required=True, metadata=FORGE)
    project_ids = Items(Identifier(), required=True, metadata=PROJECT_IDS)
    on_merge = Items(Nested(MoveOnMerge), metadata=ON_MERGE)
    secret = Text(metadata=SECRET)


class IntegrationPatch(StrictSchema):
    """Changes to an integration."""

    immutable = (
        *("id", "forge", "address", "bot_user_id", "created_by_user_id", "last_delivery_at"),
        *("created_at", "updated_at"),
    )

    name = Text(metadata=NAME)
    project_ids = Items(Identifier(), metadata=PROJECT_IDS)
    on_merge = Items(Nested(MoveOnMerge), metadata=ON_MERGE)


class SecretRotation(CreateSchema):
    """A new secret for an integration."""

    secret = Text(metadata=SECRET)
