"""What every layer may know of the request at hand without knowing Flask."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The id shared by all events of one request; None outside requests (commands set their own).
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


@contextmanager
def on_behalf_of(request: str | None) -> Iterator[None]:
    """What is recorded meanwhile belongs to this request."""
    token = request_id.set(request)
    try:
        yield
    finally:
        request_id.reset(token)


# The event that is being undone; what is recorded meanwhile names it (undo/service.py).
undo_of: ContextVar[str | None] = ContextVar("undo_of", default=None)

# Whether webhooks are told of what is recorded: an import may leave them in peace.
webhooks_enabled: ContextVar[bool] = ContextVar("webhooks_enabled", default=True)

# In the WSGI environment: the answer is to be sent while it is made (app/serving/asgi.py).
STREAMED = "docket.streamed"
# In the WSGI environment: the request had a credential that is none, or went to no address.
FAILED = "docket.failed"


@contextmanager
def telling_webhooks(wanted: bool) -> Iterator[None]:
    """Whether webhooks are told of what is written meanwhile."""
    token = webhooks_enabled.set(wanted)
    try:
        yield
    finally:
        webhooks_enabled.reset(token)
