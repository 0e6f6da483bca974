"""What a tool takes: one record per parameter, which documents it and says how it is read.

The published schemas hold plain single types only: several clients refuse ``anyOf`` and unions with
null for the whole list of tools. A field is cleared through ``clear_fields`` (or a plain null).
"""

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any


class ParameterKind(StrEnum):
    """The types of values."""

    TEXT = "text"
    # What people read in one line: an empty one is blank, not absent, where it is required.
    LINE = "line"
    # Text of which nothing is cut and the empty one counts.
    BODY = "body"
    INTEGER = "integer"
    FLAG = "flag"
    TEXTS = "texts"
    DAY = "day"
    MOMENT = "moment"
    EDITS = "edits"


_TYPES: dict[ParameterKind, dict[str, Any]] = {
    ParameterKind.TEXT: {"type": "string"},
    ParameterKind.LINE: {"type": "string"},
    ParameterKind.BODY: {"type": "string"},
    ParameterKind.INTEGER: {"type": "integer"},
    ParameterKind.FLAG: {"type": "boolean"},
    ParameterKind.TEXTS: {"type": "array", "items": {"type": "string"}},
    ParameterKind.DAY: {"type": "string"},
    ParameterKind.MOMENT: {"type": "string"},
    ParameterKind.EDITS: {
        "type": "array",
        "items": {
            "type": "object",
            "properties": {"find": {"type": "string"}, "replace": {"type": "string"}},
            "required": ["find", "replace"],
        },
    },
}


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool."""

    name: str
    kind: ParameterKind
    description: str
    required: bool = False
    choices: tuple[str, ...] = ()
    minimum: int | None = None
    maximum: int | None = None
    default: Any = None
    # Whether null, or its name in ``clear_fields``, clears the field.
    clearable: bool = False
    # The name that REST has for it, understood as well.
    also: str | None = None
    # Understood and not published.
    hidden: bool = False

    @property
    def schema(self) -> dict[str, Any]:
        """Its JSON Schema."""
        made: dict[str, Any] = {**_TYPES[self.kind], "description": self.description}
        if self.choices and self.kind is ParameterKind.TEXTS:
            made["items"] = {"type": "string", "enum": list(self.choices)}
        elif self.choices:
            made["enum"] = list(self.choices)
        limits = {"minimum": self.minimum, "maximum": self.maximum, "default": self.default}
        return made | {key: value for key, value in limits.items() if value is not None}


def text(name: str, description: str, **options: Any) -> Parameter:
    """A short text."""
    return Parameter(name, ParameterKind.TEXT, description, **options)


def line(name: str, description: str, **options: Any) -> Parameter:
    """A title, or words to search for."""
    return Parameter(name, ParameterKind.LINE, description, **options)


def body(name: str, description: str, **options: Any) -> Parameter:
    """A text that is kept as sent."""
    return Parameter(name, ParameterKind.BODY, description, **options)


def flag(name: str, description: str, **options: Any) -> Parameter:
    """True or false."""
    return Parameter(name, ParameterKind.FLAG, description, **options)


def texts(name: str, description: str, **options: Any) -> Parameter:
    """A list of texts."""
    return Parameter(name, ParameterKind.TEXTS, description, **options)


def choice(name: str, words: Any, description: str, **options: Any) -> Parameter:
    """One of a closed set of words."""
    return Parameter(
        name, ParameterKind.TEXT, description, choices=tuple(str(word) for word in words), **options
    )


def needed(parameter: Parameter) -> Parameter:
    """The same parameter, required."""
    return replace(parameter, required=True)


LARGEST_PAGE = 100
DEFAULT_PAGE = 50

PAGE = (
    Parameter(
        "limit",
        ParameterKind.INTEGER,
        "Rows per page.",
        minimum=1,
        maximum=LARGEST_PAGE,
        default=DEFAULT_PAGE,
    ),
    text("cursor", "page.next_cursor of the page before."),
)
INCLUDE_BODY = flag("include_body", "Add the full text to each row.")
IDEMPOTENCY_KEY = text(
    "idempotency_key", "Unique per intent: repeating a call with it creates nothing twice."
)
# As in REST, echoed and never stored; of use to few agents.
CLIENT_REQUEST_ID = text("client_request_id", "Echoed in the result.", hidden=True)
IF_MATCH = text("if_match", "The etag you read: refuse if it changed since.", also="expected_etag")


def input_schema(parameters: tuple[Parameter, ...]) -> dict[str, Any]:
    """The JSON Schema of a tool's arguments."""
    shown = [parameter for parameter in parameters if not parameter.hidden]
    schema: dict[str, Any] = {
        "type": "object",
        "properties": {parameter.name: parameter.schema for parameter in shown},
    }
    required = [parameter.name for parameter in shown if parameter.required]
    if required:
        schema["required"] = required
    schema["additionalProperties"] = False
    return schema
