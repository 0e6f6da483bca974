"""The schemas of the OpenAPI document: marshmallow schemas and unions as named components."""

import inspect
from typing import Any, cast

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import make_schema_key
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema, fields

from app.audit.catalogue import EVENTS, EventType
from app.rest.examples import Union
from app.rest.fields import StrictSchema, instance

Json = dict[str, Any]

PAGE: Json = {
    "type": "object",
    "description": "Where a page of a list ended.",
    "required": ["next_cursor", "has_more"],
    "properties": {
        "next_cursor": {
            "type": ["string", "null"],
            "description": "Send it as `cursor` to get the next page; null on the last one.",
        },
        "has_more": {"type": "boolean"},
    },
}

ECHO: Json = {
    "type": "string",
    "description": "What the request sent, in the answer to that request alone.",
}

_ID: Json = {"type": ["string", "null"], "format": "uuid"}
_CHANGES: Json = {
    "type": "object",
    "description": "What changed: `{field: {from, to}}`.",
    "additionalProperties": {"type": "object", "required": ["from", "to"]},
}
# The payload keys that are no text.
_PAYLOAD: dict[str, Json] = {
    "changes": _CHANGES,
    "undo_of": {**_ID, "description": "The event that this one undoes, if it does."},
    "password_changed": {"type": "boolean"},
    "body_changed": {"type": "boolean"},
    "revision_number": {"type": "integer"},
    "fields": {"type": "array", "items": {"type": "string"}},
    "can_edit_global_wiki": {"type": "boolean"},
    "retry_after_seconds": {"type": "integer"},
    "position": {"type": "integer"},
    "attempt": {"type": "integer"},
    "http_status": {"type": ["integer", "null"]},
    "will_retry": {"type": "boolean"},
    "is_active": {"type": "boolean"},
    "event_types": {"type": "array", "items": {"type": "string"}},
    "deleted": {"type": "integer"},
    "duration_ms": {"type": "integer"},
    "project_ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
    "state_ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
    "previous_state_ids": {"type": "array", "items": {"type": "string", "format": "uuid"}},
    "ticket_ids": {
        "type": ["array", "null"],
        "items": {"type": "string", "format": "uuid"},
        "description": "The tickets that carried it; null if they were more than 500.",
    },
    "edit_history": {"type": "array", "items": {"type": "object"}},
}
_TEXT: Json = {"type": ["string", "null"]}


def schema_name(schema: type[Schema]) -> str:
    """The component's name: the class's, without the ``Out`` that marks answers."""
    return schema.__name__.removesuffix("Out")


def ref(name: str) -> Json:
    """A reference to a component."""
    return {"$ref": f"#/components/schemas/{name}"}


def _resolve(schema: Any) -> str:
    return schema_name(schema if isinstance(schema, type) else type(schema))


class Components:
    """Registers each schema once, under its name, as it is first referred to."""

    def __init__(self, title: str, version: str, **options: Any) -> None:
        self.plugin = MarshmallowPlugin(schema_name_resolver=_resolve)
        self.spec = APISpec(title, version, "3.1.0", plugins=[self.plugin], **options)
        self.schemas: dict[str, type[Schema]] = {}

    def add(self, name: str, component: Json) -> None:
        """Register a component that is written by hand."""
        self.spec.components.schema(name, component)

    def refer(self, schema: type[Schema]) -> Json:
        """A reference to a schema's component, which is registered where it is not yet."""
        name = schema_name(schema)
        if self.schemas.setdefault(name, schema) is not schema:
            raise ValueError(f"two schemas are named {name}")
        if issubclass(schema, Union):
            self._add_union(name, schema)
        elif make_schema_key(instance(schema)) not in self._refs:
            self.spec.components.schema(name, schema=instance(schema))
        return ref(name)

    @property
    def _refs(self) -> dict[Any, str]:
        refs: dict[Any, str] = self._converter.refs
        return refs

    @property
    def _converter(self) -> OpenAPIConverter:
        # Made as the plugin is given to APISpec.
        return cast("OpenAPIConverter", self.plugin.converter)

    def _add_union(self, name: str, union: type[Union]) -> None:
        key = make_schema_key(instance(union))
        if key in self._refs:
            return
        self._refs[key] = name
        members = {str(word): self.refer(member) for word, member in union.members.items()}
        self.add(
            name,
            {
                "description": inspect.cleandoc(union.__doc__ or ""),
                "oneOf": list(members.values()),
                "discriminator": {
                    "propertyName": union.discriminator,
                    "mapping": {word: member["$ref"] for word, member in members.items()},
                },
            },
        )
        for word, member in union.members.items():
            found = self.spec.components.schemas[schema_name(member)]
            found["properties"][union.discriminator] = {"type": "string", "const": str(word)}

    def echo_in(self, schema: type[Schema]) -> None:
        """Give what a create answers the ``client_request_id`` that dispatching puts there.

        It is a property of the resource, so that clients have one type for it, whoever answers.
        """
        self.refer(schema)
        found = self.spec.components.schemas[schema_name(schema)]
        found["properties"]["client_request_id"] = ECHO

    def page_of(self, schema: type[Schema]) -> Json:
        """A reference to the list envelope around a schema."""
        name = f"{schema_name(schema)}Page"
        if name not in self.spec.components.schemas:
            envelope: Json = {
                "type": "object",
                "description": "One page of a list.",
                "required": ["data", "page"],
                "properties": {
                    "data": {"type": "array", "items": self.refer(schema)},
                    "page": ref("Page"),
                },
            }
            self.add(name, envelope)
        return ref(name)

    def property(self, field: fields.Field[Any]) -> Json:
        """The schema of one field."""
        found: Json = self._converter.field2property(field)
        return found

    def finish(self) -> None:
        """Give each component its docstring, and open the enums of nullable fields to null."""
        for name, component in self.spec.components.schemas.items():
            schema = self.schemas.get(name) or self._nested(name)
            if schema is not None and not issubclass(schema, Union):
                _describe(component, schema)
            for described in component.get("properties", {}).values():
                if "enum" in described and "null" in described.get("type", ()):
                    described["enum"] = [*described["enum"], None]

    def _nested(self, name: str) -> type[Schema] | None:
        """The schema that a nested field registered under this name."""
        for key, registered in self._refs.items():
            if registered == name:
                found: type[Schema] = key[0]
                return found
        return None


def _describe(component: Json, schema: type[Schema]) -> None:
    component.setdefault("description", inspect.cleandoc(schema.__doc__ or ""))
    component.update(getattr(schema, "refined", {}))
    if not issubclass(schema, StrictSchema):
        # Answers may gain fields within v1; only requests are closed.
        component.pop("additionalProperties", None)


def add_event_payloads(components: Components) -> None:
    """``AuditEventPayload``: by ``event_type``, the form of an event's payload.

    The union is over the event itself, since that is what carries ``event_type``.
    """
    mapping = {}
    for event in EVENTS.values():
        name = "AuditEventPayload." + event.name
        components.add(name, _payload_of(event))
        mapping[event.name] = ref(name)["$ref"]
    components.add(
        "AuditEventPayload",
        {
            "description": "The payload of an event, by its type.",
            "oneOf": [{"$ref": address} for address in mapping.values()],
            "discriminator": {"propertyName": "event_type", "mapping": mapping},
        },
    )


def _payload_of(event: EventType) -> Json:
    keys = {key: _PAYLOAD.get(key, _ID if _is_id(key) else _TEXT) for key in event.payload}
    return {
        "type": "object",
        "description": f"`{event.name}` ({event.category})",
        "required": ["event_type", "payload"],
        "properties": {
            "event_type": {"type": "string", "const": event.name},
            "payload": {"type": "object", "properties": keys},
        },
    }


def _is_id(key: str) -> bool:
    return key.endswith("_id") and not key.endswith("display_id")
