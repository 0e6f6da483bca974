"""What every layer may know of the current request without knowing Flask."""

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# The id shared by all events of one request; None outside requests (commands set their own).
request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


@contextmanager
def on_behalf_of(request: str | None) -> Iterator[None]:
    token = request_id.set(request)
    try:
        yield
    finally:
        request_id.reset(token)


# The event that is being undone: events recorded meanwhile name it (undo/service.py).
undo_of: ContextVar[str | None] = ContextVar("undo_of", default=None)


@contextmanager
def undoing(event_id: str) -> Iterator[None]:
    """Events recorded meanwhile name the event that they undo."""
    token = undo_of.set(event_id)
    try:
        yield
    finally:
        undo_of.reset(token)


# Whether recorded events go to webhooks; an import may switch that off.
webhooks_enabled: ContextVar[bool] = ContextVar("webhooks_enabled", default=True)

# In the WSGI environment: the response is sent while it is made (app/serving/wsgi.py).
STREAMED = "docket.streamed"
# In the WSGI environment: the request had an invalid credential, or no route.
FAILED = "docket.failed"


@contextmanager
def telling_webhooks(is_enabled: bool) -> Iterator[None]:
    """Whether events recorded meanwhile go to webhooks."""
    token = webhooks_enabled.set(is_enabled)
    try:
        yield
    finally:
        webhooks_enabled.reset(token)
