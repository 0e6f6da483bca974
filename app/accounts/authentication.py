"""Resolves the credentials of a request to its actor.

``resolve`` runs in the unit of work of the request, so a revoked credential stops working at once
in every process. ``record_use`` writes the traces of the credential afterwards: its last use,
``auth.bot.success``, an expired session. Reads by bots must not become writes: ``last_used_at`` is
at most a minute late, and ``auth.bot.success`` is written at first use and then at most once in
BOT_AUTH_AUDIT_MINUTES.
"""

import ipaddress
import logging
import re
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from flask import Request, Response
from sqlalchemy import bindparam, delete, literal, or_, select, true, update

from app.accounts import credentials, failure_windows, read_notes, sessions, throttle
from app.accounts.models import BotMode, BotToken, User, UserSession, Workspace
from app.audit.service import Target, record
from app.config import Settings
from app.core.actor import ANONYMOUS, Actor, ActorKind, Peer
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import AmbiguousCredentials, Forbidden, InvalidCredentials, Unavailable
from app.database.session import Prepared, run_write, session
from app.http.current import (
    SAFE_METHODS,
    current_g,
    current_request,
    current_settings,
)

log = logging.getLogger(__name__)

COOKIE = "app_session"
KEY_HEADER = "X-API-Key"
_WITH_PORT = re.compile(r"\[(?P<v6>[0-9A-Fa-f:.]+)\](:[0-9]+)?|(?P<v4>[0-9.]+):[0-9]+")
PROXY_HEADERS = (
    "Forwarded",
    "Via",
    "X-Forwarded-For",
    "X-Forwarded-Host",
    "X-Forwarded-Proto",
    "X-Real-Ip",
)

_OWNERS_OF_TOKEN = select(BotToken.bot_user_id).where(BotToken.prefix == bindparam("prefix"))
_ACTING = select(User.id).where(User.id == bindparam("user_id"))
_PAUSED_AT = select(Workspace.bots_paused_at).limit(1).scalar_subquery().label("paused_at")
_BOT = select(
    BotToken.id.label("token_id"),
    BotToken.token_hash,
    BotToken.is_active.label("token_active"),
    BotToken.last_used_at,
    BotToken.audited_at,
    User.id.label("user_id"),
    User.username,
    User.display_name,
    User.is_active.label("user_active"),
    User.bot_mode,
    User.project_ids,
    User.can_edit_global_wiki,
    User.is_paused,
    _PAUSED_AT,
).join(User, User.id == BotToken.bot_user_id)
_BY_TOKEN = Prepared(_BOT.where(BotToken.prefix == bindparam("prefix")))
# Every bot has at least one token, active or not.
_NEWEST_TOKEN = Prepared(
    _BOT.where(User.id == bindparam("user_id")).order_by(BotToken.id.desc()).limit(1)
)
# Pages report one paused bot at a time; an index holds only paused bots.
_PAUSED_BOT = (
    select(User.id, User.username).where(User.is_paused).order_by(User.id).limit(1).subquery()
)
_OWNERS_OF_SESSION = select(UserSession.user_id).where(UserSession.token_hash == bindparam("hash"))
_BY_SESSION = Prepared(
    select(
        UserSession.id,
        UserSession.last_seen_at,
        UserSession.expires_at,
        User.id.label("user_id"),
        User.username,
        User.display_name,
        User.is_active,
        _PAUSED_AT,
        _PAUSED_BOT.c.id.label("paused_id"),
        _PAUSED_BOT.c.username.label("paused_username"),
    )
    .join(User, User.id == UserSession.user_id)
    .outerjoin(_PAUSED_BOT, true())
    .where(UserSession.token_hash == bindparam("hash"))
)


@dataclass(frozen=True, slots=True)
class BotSeen:
    """An accepted bot token, and when its traces were last written."""

    actor: Actor
    token_id: str
    token_prefix: str
    last_used_at: int | None
    audited_at: int | None


@dataclass(frozen=True, slots=True)
class SessionSeen:
    """A presented session; ``expired`` says why it is over, if it is."""

    session_id: str
    user_id: str
    username: str
    last_seen_at: int
    expired: str | None = None


def presented(request: Request) -> bool:
    """Whether the request carries a credential, valid or not."""
    return KEY_HEADER in request.headers or COOKIE in request.cookies


def precheck(request: Request) -> None:
    """Raise AmbiguousCredentials for two credentials, or Forbidden ``cross_site_request``."""
    if COOKIE not in request.cookies:
        return
    if KEY_HEADER in request.headers:
        raise AmbiguousCredentials
    if request.method not in SAFE_METHODS and is_cross_site(request):
        raise Forbidden("cross_site_request")


def is_cross_site(request: Request) -> bool:
    """Whether the browser says that another site sent this request."""
    fetch_site = request.headers.get("Sec-Fetch-Site")
    if fetch_site is not None:
        return fetch_site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and not current_settings().own_address.is_origin(origin)


def peer(request: Request) -> Peer:
    """The peer behind the trusted proxies; X-Forwarded-For counts only as far as they wrote it."""
    address = _forwarded_address(request) or request.remote_addr or ""
    return Peer(address, request.headers.get("User-Agent", "")[:200], _is_local(request))


def _is_local(request: Request) -> bool:
    """Whether the request comes from this machine and no proxy forwarded it."""
    if any(name in request.headers for name in PROXY_HEADERS):
        return False
    return _is_loopback(request.remote_addr or "")


@lru_cache(maxsize=1024)
def _is_loopback(address: str) -> bool:
    try:
        return ipaddress.ip_address(address).is_loopback
    except ValueError:
        return False


def _forwarded_address(request: Request) -> str | None:
    """The address, without a port, that the outermost trusted proxy wrote, if one is trusted."""
    trusted_proxies = current_settings().trusted_proxies
    if not trusted_proxies:
        return None
    hops = ",".join(request.headers.getlist("X-Forwarded-For")).split(",")
    hop = hops[-trusted_proxies:][0].strip()
    with_port = _WITH_PORT.fullmatch(hop)
    if with_port is not None:
        hop = with_port["v6"] or with_port["v4"]
    try:
        return str(ipaddress.ip_address(hop))
    except ValueError:
        return None


def resolve(request: Request) -> Actor:
    """The actor of this request; anonymous without a valid credential.

    Raises InvalidCredentials for a bad API key, on public routes too.
    """
    key = request.headers.get(KEY_HEADER)
    if key is not None:
        return resolve_token(key)
    cookie = request.cookies.get(COOKIE)
    return resolve_session(cookie) if cookie is not None else ANONYMOUS


def resolve_token(token: str) -> Actor:
    """The bot of this token; raises InvalidCredentials, audited as ``auth.bot.failure``."""
    prefix = credentials.lookup_prefix(token)
    row: Any = None
    if prefix is not None:
        credentials.lock_shared(_OWNERS_OF_TOKEN, prefix=prefix)
        rows = _BY_TOKEN.all(prefix=prefix)
        row = next((row for row in rows if credentials.is_hash_of(row.token_hash, token)), None)
    if row is None or not row.token_active or not row.user_active:
        raise _refusal(prefix, row)
    actor = _bot(row)
    current_g().bot_seen = BotSeen(
        actor, row.token_id, prefix or "", row.last_used_at, row.audited_at
    )
    return actor


def _bot(row: Any) -> Actor:
    return Actor(
        kind=ActorKind.BOT,
        user_id=row.user_id,
        username=row.username,
        display_name=row.display_name,
        may_write=row.bot_mode == BotMode.WRITE,
        allowlist=frozenset(row.project_ids or ()),
        can_edit_global_wiki=bool(row.can_edit_global_wiki),
        token_id=row.token_id,
        all_bots_paused=row.paused_at is not None,
        this_bot_paused=row.is_paused,
    )


def bot_as_actor(user_id: str) -> tuple[Actor, bool]:
    """A bot as the actor of a request, and whether its newest token would be accepted."""
    (row,) = _NEWEST_TOKEN.all(user_id=user_id)
    return _bot(row), bool(row.token_active and row.user_active)


def acting_bot(user_id: str) -> Actor:
    """The bot that an integration acts as; raises Forbidden ``bot_inactive`` if it is inactive.

    A concurrent change that ends or narrows the bot's rights waits for the current write.
    """
    credentials.lock_shared(_ACTING, user_id=user_id)
    (row,) = _NEWEST_TOKEN.all(user_id=user_id)
    actor = replace(_bot(row), token_id=None, has_receipts=False)
    if not row.user_active:
        current_g().actor = actor
        raise Forbidden("bot_inactive")
    return actor


def _refusal(prefix: str | None, row: Any) -> InvalidCredentials:
    error = InvalidCredentials()
    network = throttle.network_of(peer(current_request()).address)
    error.audit_if = failure_windows.claim_of(network, prefix)
    if error.audit_if is not None:
        error.audit_event = failure_windows.EVENT
        error.audit_payload = {"token_prefix": prefix}
    if row is not None:
        current_g().actor = Actor(kind=ActorKind.BOT, user_id=row.user_id, username=row.username)
    return error


def resolve_session(cookie: str) -> Actor:
    """The human of this session; otherwise anonymous, and the response clears the cookie."""
    hashed = credentials.hashed(cookie)
    credentials.lock_shared(_OWNERS_OF_SESSION, hash=hashed)
    row = _BY_SESSION.first(hash=hashed)
    if row is None or not row.is_active:
        current_g().dead_cookie = True
        return ANONYMOUS
    expired = _expired(row.last_seen_at, row.expires_at)
    current_g().session_seen = SessionSeen(
        row.id, row.user_id, row.username, row.last_seen_at, expired
    )
    if expired is not None:
        current_g().dead_cookie = True
        return ANONYMOUS
    return Actor(
        kind=ActorKind.HUMAN,
        user_id=row.user_id,
        username=row.username,
        display_name=row.display_name,
        all_bots_paused=row.paused_at is not None,
        paused_bot=(row.paused_id, row.paused_username) if row.paused_id else None,
        session_id=row.id,
    )


def _expired(last_seen_at: int, expires_at: int) -> str | None:
    """``absolute`` or ``idle`` for a session that is over."""
    if now_ms() >= expires_at:
        return "absolute"
    return "idle" if last_seen_at <= sessions.idle_since(current_settings()) else None


def record_use(response: Response) -> Response:
    """Write the traces of this request's credential and clear a dead cookie."""
    settings = current_settings()
    context = current_g()
    try:
        _bot_trace(context.pop("bot_seen", None), settings)
        _session_trace(context.pop("session_seen", None), settings)
    except Unavailable:
        log.warning("traces of a credential were not written: the database is unavailable")
    except Exception:
        log.exception("traces of a credential were not written")
    _note_reads(context, response)
    if context.get("dead_cookie") and not context.get("fresh_cookie"):
        response.delete_cookie(COOKIE, httponly=True, secure=settings.cookie_secure, samesite="Lax")
    return response


def _note_reads(context: Any, response: Response) -> None:
    """Note what the response shows the bot, or that storing its reads failed."""
    reads, lost = context.pop("bot_reads", None), context.pop("reads_lost", None)
    if lost is not None:
        read_notes.notes().mark_incomplete(lost)
    if reads is None or response.status_code >= 400:
        return
    try:
        read_notes.note(*reads)
    except Unavailable:
        log.warning("reads of a bot were not noted: the database is unavailable")
    except Exception:
        log.exception("reads of a bot were not noted")


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
    # An interval of zero records every request, even several in one millisecond.
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
    # ``last_seen_at`` is at most a minute late, or a tenth of a shorter idle time.
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
