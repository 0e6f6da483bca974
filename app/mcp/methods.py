"""The methods of the protocol besides ``tools/call``, in both eras."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.audit.service import Target, record_separately
from app.core.actor import Actor
from app.core.clock import iso
from app.core.errors import DomainError, InvalidCredentials, NotFound, Unavailable
from app.core.redaction import scrub
from app.database.session import reading
from app.mcp import protocol_versions
from app.mcp.endpoint_config import Door
from app.mcp.messages import (
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    RESOURCE_NOT_FOUND,
    Message,
    ProtocolError,
)
from app.mcp.registry import Resource

LARGEST_LISTING = 500
URI_LENGTH = 512
# How long clients may keep an answer, in milliseconds: what never changes while we run.
LASTING_MS = 300_000
CAPABILITIES: dict[str, Any] = {"tools": {}, "resources": {}}
MARKDOWN = "text/markdown"


@dataclass(frozen=True, slots=True)
class Asked:
    """A message, from whom and in which era."""

    door: Door
    actor: Actor
    message: Message
    modern: bool


@dataclass(frozen=True, slots=True)
class Method:
    """How a method is answered, and how long its answer may be kept."""

    answer: Callable[[Asked], dict[str, Any]]
    ttl_ms: int | None = None
    legacy: bool = True
    modern: bool = True


def initialize(asked: Asked) -> dict[str, Any]:
    """The handshake; it opens nothing, since no session is kept."""
    requested = asked.message.params.get("protocolVersion")
    if not isinstance(requested, str):
        raise ProtocolError(INVALID_PARAMS, "protocolVersion must be a string.", status=200)
    return {
        "protocolVersion": protocol_versions.negotiated(requested),
        "capabilities": CAPABILITIES,
        "serverInfo": asked.door.server,
        "instructions": asked.door.catalog.instructions,
    }


def ping(_: Asked) -> dict[str, Any]:
    """An empty answer."""
    return {}


def discover(asked: Asked) -> dict[str, Any]:
    """What the stateless era asks instead of a handshake."""
    return {
        "supportedVersions": protocol_versions.SUPPORTED,
        "capabilities": CAPABILITIES,
        "instructions": asked.door.catalog.instructions,
    }


def list_tools(asked: Asked) -> dict[str, Any]:
    """All tools on one page, in a fixed order, for read and write bots alike."""
    _check_no_cursor(asked)
    return {"tools": asked.door.catalog.tools_listing}


def _check_no_cursor(asked: Asked) -> None:
    """These lists have one page, so no cursor is ever ours."""
    if asked.message.params.get("cursor") is not None:
        raise ProtocolError(
            INVALID_PARAMS,
            "The cursor is not one of this list.",
            status=400 if asked.modern else 200,
            data={"code": "validation.invalid_field", "details": {"field": "cursor"}},
        )


def list_templates(asked: Asked) -> dict[str, Any]:
    """The forms of resource addresses."""
    _check_no_cursor(asked)
    return {"resourceTemplates": [kind.template for kind in asked.door.catalog.kinds]}


def list_resources(asked: Asked) -> dict[str, Any]:
    """The most recently updated resources that the bot can see, house rules first."""
    _check_no_cursor(asked)
    first: list[Resource] = []
    newest: list[Resource] = []
    with reading():
        for kind in asked.door.catalog.kinds:
            first += kind.first(asked.actor)
            newest += kind.newest(asked.actor, LARGEST_LISTING)
    newest.sort(key=lambda resource: resource.updated_at, reverse=True)
    rows: dict[str, Resource] = {}
    for resource in (*first, *newest):
        rows.setdefault(resource.uri, resource)
    return {"resources": [_row(row) for row in list(rows.values())[:LARGEST_LISTING]]}


def _row(resource: Resource) -> dict[str, Any]:
    return {
        "uri": resource.uri,
        "name": resource.name,
        "title": resource.title,
        "mimeType": MARKDOWN,
        "annotations": {"lastModified": iso(resource.updated_at)},
    }


def read_resource(asked: Asked) -> dict[str, Any]:
    """One resource as Markdown; every reading is audited."""
    uri = asked.message.params.get("uri")
    if not isinstance(uri, str):
        raise ProtocolError(
            INVALID_PARAMS, "uri must be a string.", status=400 if asked.modern else 200
        )
    status = "ok"
    try:
        with reading():
            text = _reader(asked, uri)
    except (InvalidCredentials, Unavailable):
        raise
    except DomainError as error:
        status = error.code
        raise ProtocolError(
            INVALID_PARAMS if asked.modern else RESOURCE_NOT_FOUND,
            error.message,
            status=400 if asked.modern else 200,
            data={"uri": uri, "code": error.code},
        ) from error
    finally:
        shown = scrub(uri.replace("\x00", ""))[:URI_LENGTH]
        record_separately(
            asked.actor, "bot.resource_read", Target("resource"), uri=shown, result_status=status
        )
    return {"contents": [{"uri": uri, "mimeType": MARKDOWN, "text": text}]}


def _reader(asked: Asked, uri: str) -> str:
    for kind in asked.door.catalog.kinds:
        if uri.startswith(kind.prefix):
            return kind.read(asked.actor, uri.removeprefix(kind.prefix))
    raise NotFound("resource", uri)


METHODS: dict[str, Method] = {
    "initialize": Method(initialize, modern=False),
    "ping": Method(ping, modern=False),
    "server/discover": Method(discover, LASTING_MS, legacy=False),
    "tools/list": Method(list_tools, LASTING_MS),
    "resources/list": Method(list_resources, 0),
    "resources/templates/list": Method(list_templates, LASTING_MS),
    "resources/read": Method(read_resource, 0),
}


def method_of(message: Message, *, modern: bool) -> Method:
    """The method of a message; raises ProtocolError for one that this era has not."""
    method = METHODS.get(message.method)
    if method is None or not (method.modern if modern else method.legacy):
        raise ProtocolError(
            METHOD_NOT_FOUND,
            f"Method not found: {message.method[:128]}",
            status=404 if modern else 200,
            request_id=message.id,
        )
    return method
