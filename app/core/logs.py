"""Structured logs: one JSON object a line, scrubbed of secrets as the very last step."""

import logging
import sys
from typing import Any

import orjson

from app.core.clock import iso, now_ms
from app.core.context import request_id
from app.core.redaction import redact, scrub

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats a record, its extra fields and its traceback; never a local variable."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON without secrets."""
        line: dict[str, Any] = {
            "time": iso(now_ms()),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get() is not None:
            line["request_id"] = request_id.get()
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        line.update(redact(extra))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        written = orjson.dumps(line, default=str).decode()
        if scrub(written) == written and "\\" not in written:
            return written
        # Escapes can hide a secret's end, so texts are scrubbed before they are written as well.
        cleaned = {
            key: scrub(value) if isinstance(value, str) else value for key, value in line.items()
        }
        return scrub(orjson.dumps(cleaned, default=str).decode())


def configure(level: str) -> None:
    """Send all logging of the process to standard error in this form."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # Of what a line does not show, nothing is looked up (the manual of logging, Optimization).
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    # These print request lines, which hold credentials; our own line replaces them.
    for name in ("werkzeug", "granian.access", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
