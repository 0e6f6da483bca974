"""Examples in the API document: fields carry their own; those of bodies are composed here."""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, fields

from app.rest.fields import instance

MOMENT = "2026-11-20T19:23:58.123Z"

ADA = "01a1fa6a-612b-7797-9137-8775a8501e2c"
BOT = "01a1fa6a-612b-7aa9-9662-61b3248174e5"
CREDENTIAL = "01a1fa6a-612b-702c-bfc8-7b875fefe911"
PROJECT = "01a1fa6a-612b-7462-a92d-75d0cf72f858"
STATE = "01a1fa6a-612b-7b0c-b751-3a4699f916b1"
NEXT_STATE = "01a1fa6a-612b-7f52-8c1d-0e94b7a3c615"
LABEL = "01a1fa6a-612b-78ee-801b-9fcda94c56b9"
EPIC = "01a1fa6a-612b-7253-be98-5e1e70a76e49"
TICKET = "01a1fa6a-612b-7298-95bd-35d3e7edd867"
COMMENT = "01a1fa6a-612b-70f0-a4e0-331bd19e3224"
PASSKEY = "01a1fa6a-612b-7d58-93c1-6f0be2a94d17"
FILE = "01a1fa6a-612b-7e43-9d0a-4be2c9a1f670"
RELATION = "01a1fa6a-612b-7131-a0dd-d1baafdba91d"
LINK = "01a1fa6a-612b-7c4e-9d3a-52f0c6b81e07"
PAGE = "01a1fa6a-612b-7564-ab9c-cc416794cd2e"
REVISION = "01a1fa6a-612b-7d7a-8597-eb3d04c3405b"
NOTE = "01a1fa6a-612b-70f8-b475-a97bea3fa51c"
FEED = "01a1fa6a-612b-7a35-8f0e-26c4d1b97e58"
WEBHOOK = "01a1fa6a-612b-7824-8e49-fd4c174a554f"
INTEGRATION = "01a1fa6a-612b-7d92-a1f4-8be04c63752d"
DELIVERY = "01a1fa6a-612b-7fcb-9b1f-7199f25bc8cf"
EVENT = "01a1fa6a-612b-71cc-aa4b-f8a86c5744bc"
REQUEST = "01a1fa6a-612b-7229-a287-e1cc5002aab4"
WORKSPACE = "01a1fa6a-612b-79f1-a3b8-f9e529dcb79c"
INVOCATION = "01a1fa6a-612b-7b26-b8ad-8e1e0d257da2"


Json = dict[str, Any]


def like(example: Any, description: str = "", **form: Any) -> Json:
    """The metadata of a field; ``form`` holds further JSON Schema keywords."""
    return {**form, "examples": [example]} | ({"description": description} if description else {})


def example_of(schema: type[Schema]) -> Json:
    """An example of a body: its required fields, and those that carry an example.

    Raises ValueError for a required field without an example.
    """
    if issubclass(schema, Union):
        schema = next(iter(schema.members.values()))
    return {
        name: _value(schema, name, field)
        for name, field in instance(schema).fields.items()
        if field.required or "examples" in field.metadata
    }


def page_of(schema: type[Schema], beside: type[Schema] | None = None) -> Json:
    """An example of a list with one row, and of the fields ``beside`` it."""
    page = {"next_cursor": None, "has_more": False}
    return {"data": [example_of(schema)], "page": page, **(example_of(beside) if beside else {})}


def _value(schema: type[Schema], name: str, field: fields.Field[Any]) -> Any:
    if "examples" in field.metadata:
        return field.metadata["examples"][0]
    if isinstance(field, fields.Nested):
        return example_of(type(field.schema))
    if isinstance(field, fields.List) and isinstance(field.inner, fields.Nested):
        return [example_of(type(field.inner.schema))]
    raise ValueError(f"{schema.__name__}.{name} has no example")


Nested = fields.Nested


class TimestampOut(fields.String):
    """A time: UTC, ISO 8601, milliseconds, ``Z``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        example = None if self.allow_none else MOMENT
        self.metadata = {"examples": [example], **self.metadata, "format": "date-time"}


class Anything(fields.Raw):
    """An object with arbitrary keys."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata = {**self.metadata, "type": "object", "additionalProperties": True}


class Union(Schema):
    """A discriminated union: ``discriminator`` names the field, ``members`` its schemas."""

    discriminator: ClassVar[str]
    members: ClassVar[Mapping[str, type[Schema]]]
