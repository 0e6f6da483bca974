"""Examples in the API document: fields carry theirs, and those of a body are put together here."""

from typing import Any

from marshmallow import Schema, fields

from app.rest.fields import instance
from app.rest.shapes import Union

Json = dict[str, Any]


def like(example: Any, description: str = "", **form: Any) -> Json:
    """The metadata of a field: what a value looks like, what it is, and its form."""
    return {**form, "examples": [example]} | ({"description": description} if description else {})


def example_of(schema: type[Schema]) -> Json:
    """An example of a body: its required fields, and the others that carry an example.

    Raises ValueError for a required field without one.
    """
    if issubclass(schema, Union):
        schema = next(iter(schema.members.values()))
    return {
        name: _value(schema, name, field)
        for name, field in instance(schema).fields.items()
        if field.required or _shown(field)
    }


def page_of(schema: type[Schema]) -> Json:
    """An example of a list: its only row, and that nothing follows."""
    return {"data": [example_of(schema)], "page": {"next_cursor": None, "has_more": False}}


def _shown(field: fields.Field[Any]) -> bool:
    return "examples" in field.metadata


def _value(schema: type[Schema], name: str, field: fields.Field[Any]) -> Any:
    if _shown(field):
        return field.metadata["examples"][0]
    if isinstance(field, fields.Nested):
        return example_of(type(field.schema))
    if isinstance(field, fields.List) and isinstance(field.inner, fields.Nested):
        return [example_of(type(field.inner.schema))]
    raise ValueError(f"{schema.__name__}.{name} has no example")
