"""Structured logs, one JSON object per line, and the scrubbing of secrets from all logs.

Secrets are bot tokens, MCP addresses, links, cookies and passwords.
"""

import logging
import re
import sys
from contextlib import nullcontext, suppress
from typing import Any, TextIO

import orjson

from app.core.clock import iso, now_ms
from app.core.ids import request_id

SECRET_FIELDS = frozenset({"password", "token", "secret", "api_key", "private_key"})
REDACTED = "<redacted>"

# A match always contains one of the pattern's hints. Most texts contain none and skip patterns.
_PATTERNS = (
    (
        ("/mcp/bot/", "/password/", "/feed/", "/mail/"),
        re.compile(r"(/mcp/bot/|/password/|/feed/|/mail/[a-z]+/)[^/\s\"'?]+", re.IGNORECASE),
        rf"\g<1>{REDACTED}",
    ),
    (("app_",), re.compile(r"app_[a-z2-7]{32}", re.IGNORECASE), REDACTED),
    (
        ("app_session", "app_login_step", "app_oidc"),
        re.compile(r"(app_(?:session|login_step|oidc[\w-]*)=)[^;\s\"']+"),
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
_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


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


class JsonFormatter(logging.Formatter):
    """Formats a record, its extra fields and its traceback, without local variables."""

    def format(self, record: logging.LogRecord) -> str:
        line = _common_fields(record.levelname.lower(), record.name, record.getMessage())
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        line.update(redact(extra))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _to_json(line)


def _common_fields(level: str, logger: str, message: str) -> dict[str, Any]:
    line = {"time": iso(now_ms()), "level": level, "logger": logger, "message": message}
    request = request_id.get()
    if request is not None:
        line["request_id"] = request
    return line


def _to_json(line: dict[str, Any]) -> str:
    json = orjson.dumps(line, default=str).decode()
    if scrub(json) == json and "\\" not in json:
        return json
    # An escape can hide the end of a secret, so the values are scrubbed too.
    cleaned = {
        key: scrub(value) if isinstance(value, str) else value for key, value in line.items()
    }
    return scrub(orjson.dumps(cleaned, default=str).decode())


def info(logger: logging.Logger, message: str, fields: dict[str, Any]) -> None:
    """Log as ``logger.info`` does with these extra fields, which must not be secret.

    Used for the line of each request, as creating a log record takes longer than writing the line.
    If the root logger has other handlers, they get a record as usual.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    handlers = logging.getLogger().handlers
    if len(handlers) == 1 and isinstance(handlers[0], JsonLinesHandler):
        with suppress(OSError, ValueError, TypeError):
            handlers[0].write(_to_json(_common_fields("info", logger.name, message) | fields))
            return
    # Other handlers need a record; logging also handles a line that cannot be written.
    logger.info(message, extra=fields)


class JsonLinesHandler(logging.StreamHandler[TextIO]):
    """Writes records as lines of JSON."""

    def __init__(self, stream: TextIO) -> None:
        super().__init__(stream)
        self.setFormatter(JsonFormatter())

    def write(self, text: str) -> None:
        """Write a line without formatting it; raises what the stream raises."""
        with self.lock or nullcontext():
            self.stream.write(f"{text}{self.terminator}")
            self.stream.flush()


def configure(level: str) -> None:
    """Send all logs of the process to standard error as lines of JSON."""
    root = logging.getLogger()
    root.handlers[:] = [JsonLinesHandler(sys.stderr)]
    root.setLevel(level)
    # Skip lookups that no line shows (the logging manual, "Optimization").
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    # These log request lines, which contain credentials. Docket logs its own.
    # botocore says at each start where it found its keys.
    for name in ("werkzeug", "uvicorn.access", "urllib3", "botocore"):
        logging.getLogger(name).setLevel(logging.WARNING)
    # Warns of each pipeline that ends in an error, which is raised as well.
    logging.getLogger("psycopg").setLevel(logging.ERROR)
