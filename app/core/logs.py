"""Structured logs: one JSON object a line, scrubbed of secrets as the very last step."""

import logging
import sys
from contextlib import nullcontext, suppress
from typing import Any, TextIO

import orjson

from app.core.clock import iso, now_ms
from app.core.context import request_id
from app.core.redaction import redact, scrub

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class JsonFormatter(logging.Formatter):
    """Formats a record, its extra fields and its traceback; never a local variable."""

    def format(self, record: logging.LogRecord) -> str:
        """One line of JSON without secrets."""
        line = _begun(record.levelname.lower(), record.name, record.getMessage())
        extra = {key: value for key, value in vars(record).items() if key not in _STANDARD}
        line.update(redact(extra))
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return _scrubbed(line)


def _begun(level: str, logger: str, message: str) -> dict[str, Any]:
    """What every line says."""
    line = {"time": iso(now_ms()), "level": level, "logger": logger, "message": message}
    request = request_id.get()
    if request is not None:
        line["request_id"] = request
    return line


def _scrubbed(line: dict[str, Any]) -> str:
    written = orjson.dumps(line, default=str).decode()
    if scrub(written) == written and "\\" not in written:
        return written
    # Escapes can hide a secret's end, so texts are scrubbed before they are written as well.
    cleaned = {
        key: scrub(value) if isinstance(value, str) else value for key, value in line.items()
    }
    return scrub(orjson.dumps(cleaned, default=str).decode())


def tell_briefly(logger: logging.Logger, message: str, said: dict[str, Any]) -> None:
    """What ``logger.info`` would write of a message and its extra fields, none of them secret.

    For the line that every request writes: making a record and handing it through the loggers takes
    twice as long as writing it. Where the root of all loggers has others that listen, they hear of
    it as always.
    """
    if not logger.isEnabledFor(logging.INFO):
        return
    handlers = logging.getLogger().handlers
    if len(handlers) == 1 and isinstance(handlers[0], Lines):
        with suppress(OSError, ValueError, TypeError):
            handlers[0].write(_scrubbed(_begun("info", logger.name, message) | said))
            return
    # As logging does, a line that cannot be written is no failure of whoever writes it.
    logger.info(message, extra=said)


class Lines(logging.StreamHandler[TextIO]):
    """Writes lines to a stream, in this form."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this stream."""
        super().__init__(stream)
        self.setFormatter(JsonFormatter())

    def write(self, text: str) -> None:
        """Write a line as it stands; raises what the stream raises."""
        with self.lock or nullcontext():
            self.stream.write(f"{text}{self.terminator}")
            self.stream.flush()


def configure(level: str) -> None:
    """Send all logging of the process to standard error in this form."""
    root = logging.getLogger()
    root.handlers[:] = [Lines(sys.stderr)]
    root.setLevel(level)
    # Of what a line does not show, nothing is looked up (the manual of logging, Optimization).
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging._srcfile = None
    # These print request lines, which hold credentials; our own line replaces them.
    for name in ("werkzeug", "uvicorn.access", "urllib3"):
        logging.getLogger(name).setLevel(logging.WARNING)
