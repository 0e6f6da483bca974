"""The outermost layer: the bot token in an MCP address is taken out before anything can log it."""

import re
from collections.abc import Iterable
from typing import Any
from wsgiref.types import StartResponse, WSGIApplication

from app.core.redaction import REDACTED

ENVIRON_KEY = "docket.mcp_token"
_SEGMENT = re.compile(r"^(/+mcp/+bot/+)([^/?]+)")


class HideTokens:
    """Moves the token segment of ``/mcp/bot/<token>/...`` into the environment."""

    def __init__(self, application: WSGIApplication) -> None:
        self.application = application

    def __call__(self, environ: dict[str, Any], start_response: StartResponse) -> Iterable[bytes]:
        """Rewrite the addresses that name a token, then go on."""
        found = _SEGMENT.match(environ.get("PATH_INFO", ""))
        if found:
            environ[ENVIRON_KEY] = found.group(2)
            for key in ("PATH_INFO", "RAW_URI", "REQUEST_URI"):
                if key in environ:
                    environ[key] = _SEGMENT.sub(rf"\g<1>{REDACTED}", environ[key])
        return self.application(environ, start_response)
