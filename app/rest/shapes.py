"""Fields and schemas that only describe answers in the OpenAPI document.

Answers are built by plain functions (``builders.py``), since dumping through marshmallow costs
twenty times as much; a contract test keeps builder and schema equal, key for key.
"""

from collections.abc import Mapping
from typing import Any, ClassVar

from marshmallow import Schema, fields

from app.rest.samples import MOMENT

Nested = fields.Nested


class Stamp(fields.String):
    """A time: UTC, ISO 8601, milliseconds, ``Z``."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        usual = None if self.allow_none else MOMENT
        self.metadata = {"examples": [usual], **self.metadata, "format": "date-time"}


class Anything(fields.Raw):
    """An object whose keys depend on the case."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.metadata = {**self.metadata, "type": "object", "additionalProperties": True}


class Union(Schema):
    """A discriminated union: ``discriminator`` names the field, ``members`` its schemas."""

    discriminator: ClassVar[str]
    members: ClassVar[Mapping[str, type[Schema]]]
