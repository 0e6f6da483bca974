"""The traces of a resolved credential, written after the response of the request is ready.

Reads by bots must not become writes: ``last_used_at`` is at most a minute late, and
``auth.bot.success`` is written at first use and then at most once in BOT_AUTH_AUDIT_MINUTES.
"""

import logging

from flask import Response
from sqlalchemy import delete, literal, or_, update

from app.accounts.identity import COOKIE, BotSeen, SessionSeen
from app.accounts.models import BotToken, UserSession
from app.audit.service import Target, record
from app.config import Settings, settings_at_hand
from app.core.actor import Actor, ActorKind
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Unavailable
from app.database.session import run_write, session
from app.http.current import current_g

log = logging.getLogger(__name__)


def record_use(response: Response) -> Response:
    """Write the traces of this request's credential and clear a dead cookie."""
    settings = settings_at_hand()
    context = current_g()
    try:
        _bot_trace(context.pop("bot_seen", None), settings)
        _session_trace(context.pop("session_seen", None), settings)
    except Unavailable:
        log.warning("traces of a credential were not written: the database is unavailable")
    except Exception:
        log.exception("traces of a credential were not written")
    if context.get("dead_cookie") and not context.get("fresh_cookie"):
        response.delete_cookie(COOKIE, httponly=True, secure=settings.cookie_secure, samesite="Lax")
    return response


def _bot_trace(seen: BotSeen | None, settings: Settings) -> None:
    if seen is None:
        return
    moment = now_ms()
    interval = settings.bot_auth_audit_minutes * MINUTE_MS
    audit_due = seen.audited_at is None or moment - seen.audited_at >= interval
    use_due = seen.last_used_at is None or moment - seen.last_used_at >= MINUTE_MS
    if audit_due or use_due:
        run_write(lambda: _write_bot_trace(seen, moment, interval if audit_due else None))


def _write_bot_trace(seen: BotSeen, moment: int, interval: int | None) -> None:
    """Write the use; record the success unless another request of the token did so first."""
    session.execute(
        update(BotToken).where(BotToken.id == seen.token_id).values(last_used_at=moment)
    )
    if interval is None:
        return
    # An interval of zero records every request, also several of the same millisecond.
    due = or_(
        BotToken.audited_at.is_(None),
        BotToken.audited_at <= moment - interval,
        literal(interval == 0),
    )
    claimed = session.execute(
        update(BotToken)
        .where(BotToken.id == seen.token_id, due)
        .values(audited_at=moment)
        .returning(BotToken.id)
    ).first()
    if claimed is not None:
        record(
            seen.actor,
            "auth.bot.success",
            Target("user", seen.actor.user_id),
            token_prefix=seen.token_prefix,
        )


def _session_trace(seen: SessionSeen | None, settings: Settings) -> None:
    if seen is None:
        return
    idle_ms = settings.session_idle_minutes * MINUTE_MS
    if seen.expired is not None:
        run_write(lambda: _end_expired(seen, seen.expired or ""))
    # A last use is at most a minute late, or a tenth of a shorter idle time.
    elif now_ms() - seen.last_seen_at >= min(MINUTE_MS, idle_ms // 10):
        run_write(
            lambda: session.execute(
                update(UserSession)
                .where(UserSession.id == seen.session_id)
                .values(last_seen_at=now_ms())
            )
        )


def _end_expired(seen: SessionSeen, reason: str) -> None:
    """Delete the session; only the request that deletes it records the event."""
    removed = session.execute(
        delete(UserSession).where(UserSession.id == seen.session_id).returning(UserSession.id)
    ).first()
    if removed is not None:
        human = Actor(kind=ActorKind.HUMAN, user_id=seen.user_id, username=seen.username)
        record(human, "auth.session.expired", Target("user", seen.user_id), reason=reason)
