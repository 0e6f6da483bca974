"""What every layer may know of the request at hand without knowing Flask."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
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


# The event that is being undone; what is recorded meanwhile names it (activity/undoing.py).
undo_of: ContextVar[str | None] = ContextVar("undo_of", default=None)

# Whether webhooks are told of what is recorded: an import may leave them in peace.
webhooks_are_told: ContextVar[bool] = ContextVar("webhooks_are_told", default=True)

# In the WSGI environment: the answer is to be sent while it is made (app/gate.py).
STREAMED = "docket.streamed"


@contextmanager
def telling_webhooks(wanted: bool) -> Iterator[None]:
    """Whether webhooks are told of what is written meanwhile."""
    token = webhooks_are_told.set(wanted)
    try:
        yield
    finally:
        webhooks_are_told.reset(token)


# How a request lets others have its place while it waits for a server elsewhere (app/gate.py).
waiting_outside: ContextVar[Callable[[], AbstractContextManager[None]]] = ContextVar(
    "waiting_outside", default=nullcontext
)

# How a request lets others compute while it waits for the disk, a lock or another thread
# (app/gate.py).
out_of_turn: ContextVar[Callable[[], AbstractContextManager[None]]] = ContextVar(
    "out_of_turn", default=nullcontext
)


# What the outermost ``stepping_aside`` gave.
_step: ContextVar[Callable[[], object] | None] = ContextVar("step", default=None)


@contextmanager
def stepping_aside() -> Iterator[Callable[[], object]]:
    """Gives what has others compute from then on, until the end; it may be called again.

    Whoever holds what others wait for gives it away before that end, as their turn may come late.
    Within another, the end is that of the other.
    """
    outer = _step.get()
    if outer is not None:
        yield outer
        return
    with ExitStack() as away:
        is_aside = False

        def step() -> None:
            nonlocal is_aside
            if not is_aside:
                is_aside = True
                away.enter_context(out_of_turn.get()())

        token = _step.set(step)
        try:
            yield step
        finally:
            _step.reset(token)
