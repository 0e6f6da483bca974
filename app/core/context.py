"""What every layer may know of the request at hand without knowing Flask: its id."""

from contextvars import ContextVar

# The id shared by all events of one request; None outside requests (commands set their own).
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)
