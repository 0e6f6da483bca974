"""Keeps secrets out of logs: bot tokens, MCP addresses, links, cookies, passwords."""

import re
from typing import Any

SECRET_FIELDS = frozenset({"password", "token", "secret", "api_key", "private_key"})
REDACTED = "<redacted>"

# Whatever a pattern matches contains one of its hints. Most texts contain none, so no pattern runs.
_PATTERNS = (
    (
        ("/mcp/bot/", "/password/", "/feed/", "/mail/"),
        re.compile(r"(/mcp/bot/|/password/|/feed/|/mail/[a-z]+/)[^/\s\"'?]+", re.IGNORECASE),
        rf"\g<1>{REDACTED}",
    ),
    (("app_",), re.compile(r"app_[a-z2-7]{32}", re.IGNORECASE), REDACTED),
    (
        ("app_session", "app_login_step", "app_oidc"),
        re.compile(r"(app_(?:session|login_step|oidc)=)[^;\s\"']+"),
        rf"\g<1>{REDACTED}",
    ),
    (
        ("x-api-key", "cookie", "authorization"),
        re.compile(r"((?:x-api-key|cookie|authorization)\"?'?\s*[:=]\s*)\S+", re.I),
        rf"\g<1>{REDACTED}",
    ),
    (
        ("password", "secret"),
        re.compile(r"(\"?\b(?:[a-z_]*password|secret)\"?\s*[:=]\s*)(\"[^\"]*\"|'[^']*'|\S+)", re.I),
        rf"\g<1>{REDACTED}",
    ),
)
_HINTS = tuple(dict.fromkeys(hint for hints, _, _ in _PATTERNS for hint in hints))


def scrub(text: str) -> str:
    """The text without anything that looks like a credential."""
    lowered = text.casefold()
    for hint in _HINTS:
        if hint in lowered:
            return _substitute(text, lowered)
    return text


def _substitute(text: str, lowered: str) -> str:
    for hints, pattern, replacement in _PATTERNS:
        if any(hint in lowered for hint in hints):
            text = pattern.sub(replacement, text)
    return text


def redact(value: Any) -> Any:
    """A JSON value in which fields with secret names show ``<redacted>``, at any depth."""
    if isinstance(value, dict):
        return {
            key: REDACTED if str(key).lower() in SECRET_FIELDS else redact(inner)
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [redact(inner) for inner in value]
    return value
