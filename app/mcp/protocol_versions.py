"""The two eras of the protocol, both served at one address.

Until 2025-11-25 a client shakes hands (``initialize``) and later requests carry little. From
2026-07-28 every request carries its version and capabilities in ``params._meta`` and the headers
must agree with the body. A request without any of it counts as the older kind, so curl works.
"""

import base64
from typing import Any

from werkzeug.datastructures import Headers

from app.mcp.messages import (
    HEADER_MISMATCH,
    INVALID_PARAMS,
    UNSUPPORTED_VERSION,
    Message,
    ProtocolError,
)

LEGACY = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
MODERN = ("2026-07-28",)
SUPPORTED = [*MODERN, *LEGACY]

META = "_meta"
_PREFIX = "io.modelcontextprotocol/"
VERSION_KEY = f"{_PREFIX}protocolVersion"
CAPABILITIES_KEY = f"{_PREFIX}clientCapabilities"
SERVER_KEY = f"{_PREFIX}serverInfo"
VERSION_HEADER = "MCP-Protocol-Version"

# Which member of the params the header Mcp-Name repeats.
_NAMED = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_ENCODED = ("=?base64?", "?=")


def is_modern(headers: Headers, message: Message) -> bool:
    """Whether the message belongs to the stateless era; raises ProtocolError where it is malformed.

    The first check that fails decides the answer.
    """
    version = headers.get(VERSION_HEADER)
    meta = message.params.get(META)
    enveloped = isinstance(meta, dict) and VERSION_KEY in meta
    if version is not None and version not in SUPPORTED and not enveloped:
        raise _unsupported(version, message)
    if not ((version is not None and version not in LEGACY) or enveloped):
        return False
    if not message.wants_answer:
        return True
    if message.method == "initialize" and version in (None, *LEGACY):
        return False
    if not isinstance(meta, dict) or not isinstance(meta.get(VERSION_KEY), str):
        raise _invalid(f"params._meta needs {VERSION_KEY}.", message)
    if not isinstance(meta.get(CAPABILITIES_KEY), dict):
        raise _invalid(f"params._meta needs {CAPABILITIES_KEY}.", message)
    _check_headers(headers, message, meta[VERSION_KEY])
    if meta[VERSION_KEY] not in MODERN:
        raise _unsupported(meta[VERSION_KEY], message)
    return True


def _check_headers(headers: Headers, message: Message, version: str) -> None:
    """The headers repeat what the body says, so that proxies may route by them."""
    expected = {VERSION_HEADER: version, "Mcp-Method": message.method}
    member = _NAMED.get(message.method)
    named = message.params.get(member) if member is not None else None
    # Where the body names nothing, the method itself says so.
    if isinstance(named, str):
        expected["Mcp-Name"] = named
    for name, value in expected.items():
        if decoded(headers.get(name)) != value:
            raise ProtocolError(
                HEADER_MISMATCH,
                f"The header {name} must repeat what the body says.",
                request_id=message.id,
            )


def decoded(value: str | None) -> str | None:
    """A header's text; what ASCII cannot hold comes as ``=?base64?...?=``."""
    if value is None or not (value.startswith(_ENCODED[0]) and value.endswith(_ENCODED[1])):
        return value
    try:
        content = base64.b64decode(value[len(_ENCODED[0]) : -len(_ENCODED[1])], validate=True)
        return content.decode("utf-8")
    except ValueError:
        return None


def _invalid(text: str, message: Message) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, text, request_id=message.id)


def _unsupported(version: str, message: Message) -> ProtocolError:
    return ProtocolError(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version",
        data={"supported": SUPPORTED, "requested": version},
        request_id=message.id,
    )


def negotiated(requested: str) -> str:
    """The version that ``initialize`` answers: the one asked for, else the newest of its era."""
    return requested if requested in LEGACY else LEGACY[0]


def finished(
    content: dict[str, Any], server: dict[str, str], *, ttl_ms: int | None = None
) -> dict[str, Any]:
    """A result with what the stateless era adds to it."""
    meta = {SERVER_KEY: {"name": server["name"], "version": server["version"]}}
    full = {"resultType": "complete", **content, META: meta}
    if ttl_ms is not None:
        # The address holds a token, so no shared cache may keep what it answers.
        full |= {"ttlMs": ttl_ms, "cacheScope": "private"}
    return full
