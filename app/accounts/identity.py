"""From the credentials of a request to its actor.

``resolve`` runs in the unit of work of the request, so a credential that was revoked is dead at
once, in every process. What a resolved credential leaves behind (last use, ``auth.bot.success``, an
expired session) is written afterwards by ``app.accounts.last_used``.
"""

import ipaddress
import re
from dataclasses import dataclass
from typing import Any

from flask import Request
from sqlalchemy import bindparam, select

from app.accounts import credential_lock, failure_windows, throttle, tokens
from app.accounts.models import BotMode, BotToken, User, UserSession, Workspace
from app.config import Settings, settings_at_hand
from app.core.actor import ANONYMOUS, Actor, ActorKind
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import AmbiguousCredentials, Forbidden, InvalidCredentials
from app.database.session import Prepared
from app.http.current import current_g, current_request
from app.rest.routing import Caller

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
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


# Run for every request, so made once.
_OWNERS_OF_TOKEN = select(BotToken.bot_user_id).where(BotToken.prefix == bindparam("prefix"))
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
    select(Workspace.bots_paused_at).limit(1).scalar_subquery().label("paused_at"),
).join(User, User.id == BotToken.bot_user_id)
_BY_TOKEN = Prepared(_BOT.where(BotToken.prefix == bindparam("prefix")))
# A bot always has had a token.
_NEWEST_TOKEN = Prepared(
    _BOT.where(User.id == bindparam("user_id")).order_by(BotToken.id.desc()).limit(1)
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
    )
    .join(User, User.id == UserSession.user_id)
    .where(UserSession.token_hash == bindparam("hash"))
)


@dataclass(frozen=True, slots=True)
class BotSeen:
    """A bot token that was accepted, and when its traces were last written."""

    actor: Actor
    token_id: str
    token_prefix: str
    last_used_at: int | None
    audited_at: int | None


@dataclass(frozen=True, slots=True)
class SessionSeen:
    """A session that was presented; ``expired`` says why it is over, if it is."""

    session_id: str
    user_id: str
    username: str
    last_seen_at: int
    expired: str | None = None


def presented(request: Request) -> bool:
    """Whether the request carries a credential, good or bad."""
    return KEY_HEADER in request.headers or COOKIE in request.cookies


def precheck(request: Request) -> None:
    """Refuse two credentials at once, and a state-changing request from another site.

    Raises AmbiguousCredentials or Forbidden ``cross_site_request``.
    """
    if COOKIE not in request.cookies:
        return
    if KEY_HEADER in request.headers:
        raise AmbiguousCredentials
    if request.method not in SAFE_METHODS and is_cross_site(request):
        raise Forbidden("cross_site_request")


def is_cross_site(request: Request) -> bool:
    """Whether the browser says that another site caused this request."""
    fetch_site = request.headers.get("Sec-Fetch-Site")
    if fetch_site is not None:
        return fetch_site not in ("same-origin", "none")
    origin = request.headers.get("Origin")
    return origin is not None and not settings_at_hand().own_address.is_origin(origin)


def client(request: Request) -> Caller:
    """The peer behind the trusted proxies; X-Forwarded-For counts only as far as it is trusted."""
    forwarded = _forwarded(request, "X-Forwarded-For")
    address = (_as_address(forwarded) if forwarded else None) or request.remote_addr or ""
    return Caller(address, request.headers.get("User-Agent", "")[:200], _is_local(request))


def _is_local(request: Request) -> bool:
    """Whether the request comes from this machine, and no proxy says that it passed it on."""
    if any(name in request.headers for name in PROXY_HEADERS):
        return False
    try:
        return ipaddress.ip_address(request.remote_addr or "").is_loopback
    except ValueError:
        return False


def _forwarded(request: Request, header: str) -> str:
    """What the outermost trusted proxy says in this header; nothing where none is trusted."""
    settings = settings_at_hand()
    if not settings.trusted_proxies:
        return ""
    hops = ",".join(request.headers.getlist(header)).split(",")
    return hops[-settings.trusted_proxies :][0].strip()


def _as_address(text: str) -> str | None:
    """The address in an entry of X-Forwarded-For, which some proxies follow by a port."""
    with_port = _WITH_PORT.fullmatch(text)
    if with_port is not None:
        text = with_port["v6"] or with_port["v4"]
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        return None


def resolve(request: Request) -> Actor:
    """The actor of this request; anonymous without a credential that lives.

    Raises InvalidCredentials for a bad API key, on public routes too.
    """
    key = request.headers.get(KEY_HEADER)
    if key is not None:
        return resolve_token(key)
    cookie = request.cookies.get(COOKIE)
    return resolve_session(cookie) if cookie is not None else ANONYMOUS


def resolve_token(token: str) -> Actor:
    """The bot of this token; raises InvalidCredentials, audited as ``auth.bot.failure``."""
    prefix = tokens.lookup_prefix(token)
    found: Any = None
    if prefix is not None:
        credential_lock.lock_shared(_OWNERS_OF_TOKEN, prefix=prefix)
        rows = _BY_TOKEN.all(prefix=prefix)
        found = next((row for row in rows if tokens.is_hash_of(row.token_hash, token)), None)
    if found is None or not found.token_active or not found.user_active:
        raise _refusal(prefix, found)
    actor = _bot(found)
    current_g().bot_seen = BotSeen(
        actor, found.token_id, prefix or "", found.last_used_at, found.audited_at
    )
    return actor


def _bot(found: Any) -> Actor:
    return Actor(
        kind=ActorKind.BOT,
        user_id=found.user_id,
        username=found.username,
        display_name=found.display_name,
        may_write=found.bot_mode == BotMode.WRITE,
        allowlist=frozenset(found.project_ids or ()),
        can_edit_global_wiki=bool(found.can_edit_global_wiki),
        token_id=found.token_id,
        is_paused=found.paused_at is not None,
    )


def bot_as_actor(user_id: str) -> tuple[Actor, bool]:
    """A bot as it would act now, and whether its token would let it in; for people who ask."""
    (found,) = _NEWEST_TOKEN.all(user_id=user_id)
    return _bot(found), bool(found.token_active and found.user_active)


def _refusal(prefix: str | None, found: Any) -> InvalidCredentials:
    error = InvalidCredentials()
    network = throttle.network_of(client(current_request()).address)
    error.audit_if = failure_windows.claim_of(network, prefix)
    if error.audit_if is not None:
        error.audit_event = failure_windows.EVENT
        error.audit_payload = {"token_prefix": prefix}
    if found is not None:
        current_g().actor = Actor(
            kind=ActorKind.BOT, user_id=found.user_id, username=found.username
        )
    return error


def resolve_session(cookie: str) -> Actor:
    """The human of this session, or anonymous where it is unknown, ended or expired.

    A dead cookie is cleared on the answer.
    """
    hashed = tokens.hashed(cookie)
    credential_lock.lock_shared(_OWNERS_OF_SESSION, hash=hashed)
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
        session_id=row.id,
    )


def noted_every_ms(settings: Settings) -> int:
    """How late a session's last use may be noted: a minute, or a tenth of what may pass idle."""
    return min(MINUTE_MS, settings.session_idle_minutes * MINUTE_MS // 10)


def _expired(last_seen_at: int, expires_at: int) -> str | None:
    """``absolute`` or ``idle`` for a session that is over."""
    settings = settings_at_hand()
    moment = now_ms()
    if moment >= expires_at:
        return "absolute"
    idle_end = last_seen_at + settings.session_idle_minutes * MINUTE_MS
    return "idle" if moment >= idle_end else None
