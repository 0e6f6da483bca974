"""The versions of the protocol, all served at one address.

A legacy version (until 2025-11-25) begins with the handshake ``initialize``; later requests carry
little. A modern version (from 2026-07-28) is stateless: every request carries its version and
capabilities in ``params._meta``, and its headers must agree with the body. A request with none of
these counts as legacy, so curl works.
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

# The member of the params that the header Mcp-Name repeats.
_NAME_MEMBERS = {"tools/call": "name", "resources/read": "uri", "prompts/get": "name"}
_ENCODED = ("=?base64?", "?=")


def is_modern(headers: Headers, message: Message) -> bool:
    """Whether the message uses a modern version; raises ProtocolError where it is malformed.

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
    """Proxies may route by the headers, so these must repeat what the body says."""
    expected = {VERSION_HEADER: version, "Mcp-Method": message.method}
    member = _NAME_MEMBERS.get(message.method)
    name = message.params.get(member) if member is not None else None
    # The method itself refuses a body without a name.
    if isinstance(name, str):
        expected["Mcp-Name"] = name
    for header, value in expected.items():
        if _decoded(headers.get(header)) != value:
            raise ProtocolError(
                HEADER_MISMATCH,
                f"The {header} header must match the body.",
                request_id=message.id,
            )


def _decoded(value: str | None) -> str | None:
    """The text of a header; text beyond ASCII is sent as ``=?base64?...?=``."""
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
    """The version that ``initialize`` answers: the requested one, else the newest legacy one."""
    return requested if requested in LEGACY else LEGACY[0]


def modern_result(
    content: dict[str, Any], server: dict[str, str], *, ttl_ms: int | None = None
) -> dict[str, Any]:
    """A result with the members that modern versions add."""
    meta = {SERVER_KEY: {"name": server["name"], "version": server["version"]}}
    complete = {"resultType": "complete", **content, META: meta}
    if ttl_ms is not None:
        # The address holds a token, so no shared cache may keep the answer.
        complete |= {"ttlMs": ttl_ms, "cacheScope": "private"}
    return complete
