"""The named schemas of the OpenAPI document, built from marshmallow schemas and unions."""

import inspect
from typing import Any, cast

from apispec import APISpec
from apispec.ext.marshmallow import MarshmallowPlugin
from apispec.ext.marshmallow.common import make_schema_key
from apispec.ext.marshmallow.openapi import OpenAPIConverter
from marshmallow import Schema, fields

from app.audit.event_types import EVENTS, EventType
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
    "description": "The value that the request sent. Only in the response to that request.",
}

_TEXT: Json = {"type": ["string", "null"]}
_ID: Json = {"type": ["string", "null"], "format": "uuid"}
_FLAG: Json = {"type": "boolean"}
_INTEGER: Json = {"type": "integer"}
_TEXTS: Json = {"type": "array", "items": {"type": "string"}}
_IDS: Json = {"type": "array", "items": {"type": "string", "format": "uuid"}}
# The payload keys that are neither text nor a single id.
_PAYLOAD: dict[str, Json] = {
    "changes": {
        "type": "object",
        "description": "What changed: `{field: {from, to}}`.",
        "additionalProperties": {"type": "object", "required": ["from", "to"]},
    },
    "undo_of": {**_ID, "description": "The event that this one undoes, if it does."},
    "password_changed": _FLAG,
    "imported": _FLAG,
    "password_link_issued": _FLAG,
    "email_changed": _FLAG,
    "email_confirmed": _FLAG,
    "body_changed": _FLAG,
    "revision_number": _INTEGER,
    "fields": _TEXTS,
    "can_edit_global_wiki": _FLAG,
    "retry_after_seconds": _INTEGER,
    "position": _INTEGER,
    "attempt": _INTEGER,
    "left": _INTEGER,
    "size": _INTEGER,
    "sessions": _INTEGER,
    "http_status": {"type": ["integer", "null"]},
    "will_retry": _FLAG,
    "is_active": _FLAG,
    "event_types": _TEXTS,
    "deleted": _INTEGER,
    "duration_ms": _INTEGER,
    "project_ids": _IDS,
    "on_merge": {
        "type": "object",
        "additionalProperties": {"type": "string", "format": "uuid"},
        "description": "The state by the id of its project.",
    },
    "state_ids": _IDS,
    "label_ids": _IDS,
    "previous_state_ids": _IDS,
    "ticket_ids": {
        **_IDS,
        "type": ["array", "null"],
        "description": "The tickets that carried it; null if they were more than 500.",
    },
    "edit_history": {"type": "array", "items": {"type": "object"}},
}


def schema_name(schema: type[Schema]) -> str:
    """The name of the class without ``Out``, the suffix of answers."""
    return schema.__name__.removesuffix("Out")


def ref(name: str) -> Json:
    return {"$ref": f"#/components/schemas/{name}"}


def _resolve(schema: Any) -> str:
    return schema_name(schema if isinstance(schema, type) else type(schema))


class Components:
    """Registers each schema once, at the first reference to it."""

    def __init__(self, title: str, version: str, **options: Any) -> None:
        self.plugin = MarshmallowPlugin(schema_name_resolver=_resolve)
        self.spec = APISpec(title, version, "3.1.0", plugins=[self.plugin], **options)
        self.schemas: dict[str, type[Schema]] = {}
        self._converter = cast("OpenAPIConverter", self.plugin.converter)
        self._refs: dict[Any, str] = self._converter.refs

    def add(self, name: str, component: Json) -> None:
        """Register a component that no schema describes."""
        self.spec.components.schema(name, component)

    def refer(self, schema: type[Schema]) -> Json:
        """A reference to a schema's component, which it registers if needed."""
        name = schema_name(schema)
        if self.schemas.setdefault(name, schema) is not schema:
            raise ValueError(f"two schemas are named {name}")
        if issubclass(schema, Union):
            self._add_union(name, schema)
        elif make_schema_key(instance(schema)) not in self._refs:
            self.spec.components.schema(name, schema=instance(schema))
        return ref(name)

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
            component = self.spec.components.schemas[schema_name(member)]
            component["properties"][union.discriminator] = {"type": "string", "const": str(word)}

    def echo_in(self, schema: type[Schema]) -> None:
        """Add ``client_request_id``, which ``dispatch`` puts into the response of a create.

        It is a property of the resource, so that clients need only one type for it.
        """
        self.refer(schema)
        component = self.spec.components.schemas[schema_name(schema)]
        component["properties"]["client_request_id"] = ECHO

    def page_of(self, schema: type[Schema], beside: type[Schema] | None = None) -> Json:
        """A reference to a collection of a schema, with the fields of ``beside``."""
        name = f"{schema_name(schema)}Page"
        if name not in self.spec.components.schemas:
            collection: Json = {
                "type": "object",
                "description": "One page of a list.",
                "required": ["data", "page"],
                "properties": {
                    "data": {"type": "array", "items": self.refer(schema)},
                    "page": ref("Page"),
                },
            }
            for field_name, field in instance(beside).fields.items() if beside else ():
                collection["required"].append(field_name)
                collection["properties"][field_name] = self.property(field)
            self.add(name, collection)
        return ref(name)

    def property(self, field: fields.Field[Any]) -> Json:
        """The schema of one field."""
        described: Json = self._converter.field2property(field)
        return described

    def finish(self) -> None:
        """Describe each component by its docstring, and allow null in enums of nullable fields."""
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
                schema: type[Schema] = key[0]
                return schema
        return None


def _describe(component: Json, schema: type[Schema]) -> None:
    component.setdefault("description", inspect.cleandoc(schema.__doc__ or ""))
    component.update(getattr(schema, "refined", {}))
    if not issubclass(schema, StrictSchema):
        # Responses may gain fields within v1; only requests are closed.
        component.pop("additionalProperties", None)


def add_event_payloads(components: Components) -> None:
    """Add ``AuditEventPayload``, a union of the payloads by ``event_type``.

    Its members are whole events, as ``event_type`` is a field of the event.
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
