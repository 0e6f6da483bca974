"""Ending sessions at the provider's request (Back-Channel Logout 1.0)."""

from functools import partial

from sqlalchemy import ColumnElement, delete, select

from app.accounts import credentials
from app.accounts.models import ProviderIdentity, UserSession
from app.accounts.used_tokens import remember, remembered_until, use_once
from app.audit.service import Target, record
from app.config import Settings
from app.core.actor import SYSTEM, Access, Actor, operation
from app.core.clock import MINUTE_MS, now_ms
from app.core.lanes import Lane, require
from app.database.locks import Lock, acquire
from app.database.session import run_write, session
from app.sign_on import flow, tokens
from app.sign_on.provider import provider_of
from app.sign_on.tokens import Claims, TokenRefused

# A logout is remembered for longer than a login can take, the requests to the provider included.
REMEMBERED_MS = flow.LIFETIME_MS + 5 * MINUTE_MS


def session_hash(claims: Claims) -> str | None:
    """The provider's session, which it can end; hashed, because it may have any length."""
    sid = claims.get("sid")
    is_text = isinstance(sid, str) and sid.isprintable()
    return credentials.hashed(f"sid:{sid}") if is_text and sid else None


def came_after(begun_at: int, issuer: str, subject: str, in_session: str | None) -> bool:
    """Whether the provider logged this session or subject out after a login began.

    A logout that comes now waits until the transaction ends, and then ends its session. It also
    waits for writes of the person, so call this before the transaction locks anything.
    """
    # Times in the tokens do not tell: the code of an ended session can be redeemed after its end.
    names = _names(issuer, subject, in_session)
    for name in names:
        acquire(Lock.PROVIDER_LOGOUTS, name)
    return remembered_until(names) >= begun_at + REMEMBERED_MS


def _names(issuer: str, subject: str | None, in_session: str | None) -> list[str]:
    """What a logout may name to end a session, the session itself first."""
    session_name = [] if in_session is None else [f"ended-session:{issuer}:{in_session}"]
    return session_name + ([] if subject is None else [f"ended-subject:{issuer}:{subject}"])


@operation(Access.PUBLIC)
def log_out_by_provider(actor: Actor, *, token: str, settings: Settings) -> int:
    """End the sessions that a logout token names; returns their number.

    Opens its own unit of work. Raises TokenRefused, ProviderFailure.
    """
    require(Lane.LONG)
    provider = provider_of(settings)
    moment = now_ms()
    claims = provider.logout_claims(token, moment // 1000)
    return run_write(partial(_end_named, provider.issuer, claims, moment))


def _end_named(issuer: str, claims: Claims, moment: int) -> int:
    # A token is accepted for OLDEST plus twice the leeway, and remembered for longer.
    expires_at = moment + (tokens.OLDEST + 3 * tokens.LEEWAY) * 1000
    if not use_once(f"logout:{issuer}:{claims['jti']}", expires_at):
        raise TokenRefused("replayed")
    named = []
    in_session = session_hash(claims)
    # A login that has no session yet is not found below. Others of the subject may go on if the
    # token names one session.
    ended, *_ = _names(issuer, claims.get("sub"), in_session)
    acquire(Lock.PROVIDER_LOGOUTS, ended)
    remember(ended, moment + REMEMBERED_MS)
    if in_session is not None:
        named.append(UserSession.provider_session_hash == in_session)
    own = select(ProviderIdentity.id).where(ProviderIdentity.issuer == issuer)
    if "sub" in claims:
        own = own.where(ProviderIdentity.subject == claims["sub"])
    return _end(UserSession.identity_id.in_(own), *named)


def _end(*conditions: ColumnElement[bool]) -> int:
    """End these sessions, those of each person under the lock of their credentials."""
    owners = session.scalars(select(UserSession.user_id).where(*conditions).distinct()).all()
    count = 0
    for user_id in sorted(owners):
        credentials.lock_exclusive(user_id)
        statement = delete(UserSession).where(UserSession.user_id == user_id, *conditions)
        ended = len(session.scalars(statement.returning(UserSession.id)).all())
        if ended:
            record(SYSTEM, "auth.oidc.logout", Target("user", user_id), sessions=ended)
        count += ended
    return count
