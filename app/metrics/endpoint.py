"""``GET /metrics``: the workers' counts and the queues, for clients that present METRICS_TOKEN."""

import hmac
from collections.abc import Iterator

from flask import Blueprint, Response
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4
from prometheus_client.metrics_core import Metric
from prometheus_client.registry import Collector
from sqlalchemy import Text, cast, func, select, text

from app.accounts.models import UserSession
from app.accounts.sessions import is_over
from app.config import Settings
from app.core.clock import now_ms
from app.core.errors import InvalidCredentials, Unauthenticated, Unavailable
from app.core.ids import created_ms
from app.core.lanes import Lane, require
from app.database.session import is_postgresql, reading, session
from app.http.current import current_request, current_settings
from app.mail import outbox as mail
from app.metrics import messages, recording
from app.webhooks.models import OutboxEntry, OutboxState

metrics = Blueprint("metrics", __name__)

_WAITING = (OutboxState.PENDING.value, OutboxState.SENDING.value)
_OUTBOX = (
    select(OutboxEntry.state, func.count(), func.min(cast(OutboxEntry.id, Text)))
    .where(OutboxEntry.state.in_(_WAITING))
    .group_by(OutboxEntry.state)
)


@metrics.get("/metrics", provide_automatic_options=False)
def show() -> Response:
    """What Prometheus collects; gauges of the database are left out while it is unavailable."""
    settings = current_settings()
    _check(current_request().headers.get("Authorization"), settings.metrics_token)
    # Reading the files of all workers takes too long for the event loop.
    require(Lane.LONG)
    recording.flush()
    collected = recording.registry(settings.metrics_folder)
    collected.register(_Gauges(settings))
    return Response(generate_latest(collected), content_type=CONTENT_TYPE_PLAIN_0_0_4)


def _check(header: str | None, token: str) -> None:
    """Raise Unauthenticated without a bearer token, InvalidCredentials for a wrong one."""
    scheme, _, presented = (header or "").partition(" ")
    if scheme.lower() != "bearer":
        refusal: Unauthenticated | InvalidCredentials = Unauthenticated(messages.SEND_TOKEN)
    elif hmac.compare_digest(presented.strip().encode(), token.encode()):
        return
    else:
        refusal = InvalidCredentials()
    refusal.headers["WWW-Authenticate"] = "Bearer"
    raise refusal


class _Gauges(Collector):
    """Current values from the database, the same on every server."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def collect(self) -> Iterator[Metric]:
        kind = "sqlite" if self._settings.is_sqlite else "postgresql"
        version = {"version": self._settings.version, "database": kind}
        yield _gauge("docket_build_info", "The running release", (version, 1))
        try:
            found = list(_of_database())
        except Unavailable:
            found = []
        yield _gauge(
            "docket_database_up", "Whether the database responds", ({}, float(bool(found)))
        )
        yield from found


def _of_database() -> Iterator[Metric]:
    with reading():
        entries = session.execute(_OUTBOX).all()
        active = ~is_over(current_settings())
        sessions = session.scalar(select(func.count(UserSession.id)).where(active)) or 0
        waiting, waited_ms = mail.depth()
        size = session.scalar(text(_size_of_database())) or 0
    counts = {state: count for state, count, _ in entries}
    # An id contains the time at which the entry was written (core/ids.py).
    now = now_ms()
    age = max(0, now - min((created_ms(first) for _, _, first in entries), default=now)) / 1000
    yield _gauge(
        "docket_outbox_entries",
        "Webhook deliveries waiting or being sent",
        *(({"state": state}, counts.get(state, 0)) for state in _WAITING),
    )
    yield _gauge("docket_outbox_age_seconds", "Age of the oldest of them, 0 if none", ({}, age))
    yield _gauge("docket_mail_entries", "Emails waiting or being sent", ({}, waiting))
    yield _gauge("docket_mail_age_seconds", "Age of the oldest of them", ({}, waited_ms / 1000))
    yield _gauge("docket_sessions", "Active sessions of people", ({}, sessions))
    yield _gauge("docket_database_bytes", "Size of the database", ({}, size))


def _size_of_database() -> str:
    if is_postgresql():
        return "SELECT pg_database_size(current_database())"
    return "SELECT page_count * page_size FROM pragma_page_count(), pragma_page_size()"


def _gauge(name: str, about: str, *samples: tuple[dict[str, str], float]) -> Metric:
    metric = Metric(name, about, "gauge")
    for labels, value in samples:
        metric.add_sample(name, labels, value)
    return metric
