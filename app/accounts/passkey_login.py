"""Logging in with a passkey: alone, or as the second step after a password.

Attempts count for their address, as logins with a password do. They do not count for the person: a
stranger could then lock the person out, and no number of attempts finds a key.
"""

from dataclasses import dataclass
from functools import partial

from sqlalchemy import select

from app.accounts import ceremonies, login, messages, sessions, throttle, webauthn
from app.accounts.ceremonies import Ceremony, Site
from app.accounts.login import Way
from app.accounts.models import Passkey, User
from app.accounts.passkeys import CLIENT_DATA_LENGTH, STATE_LENGTH, PasskeyChallenge
from app.accounts.sessions import OpenedSession
from app.accounts.throttle import LoginAttempt
from app.accounts.webauthn import Assertion, NotVerified
from app.audit.service import Target, record_separately
from app.config import Settings
from app.core import text
from app.core.actor import ANONYMOUS, Access, Actor, Peer, operation
from app.core.clock import now_ms
from app.core.errors import InvalidCredentials
from app.database.session import reading, run_write, session

CREDENTIAL_ID_LENGTH = 1_400
DATA_LENGTH = 4_096
SIGNATURE_LENGTH = 2_048
USER_HANDLE_LENGTH = 100

INVALID, OVER = "passkey_invalid", "passkey_over"


class _Refused(Exception):
    """Why a login failed, for the audit log, and whose passkey it was."""

    def __init__(self, reason: str, owner: User | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.owner = owner


@dataclass(frozen=True, slots=True)
class _Verified:
    """A verified answer: the passkey, its owner, and its counter."""

    passkey_id: str
    owner: User
    sign_count: int


@operation(Access.PUBLIC)
def begin(actor: Actor, *, settings: Settings) -> PasskeyChallenge:
    """Begin a login; raises Forbidden where passkeys do not work."""
    site = ceremonies.open_site(settings)
    ceremony = ceremonies.begun()
    return PasskeyChallenge(webauthn.request_options(site, ceremony), ceremony.token)


@operation(Access.PUBLIC)
def log_in(
    actor: Actor,
    *,
    state: str,
    credential_id: str,
    client_data: str,
    authenticator_data: str,
    signature: str,
    user_handle: str | None = None,
    step: str | None = None,
    peer: Peer,
    settings: Settings,
) -> OpenedSession:
    """Exchange the answer of a passkey for a new session; the browser's old session ends.

    With the ``step`` of a password login, the passkey must belong to the same person. Opens its
    own units of work. Raises Forbidden, RateLimited, InvalidField, InvalidCredentials with the
    reason ``passkey_invalid``, ``passkey_over`` or ``login_step_over``.
    """
    site = ceremonies.open_site(settings)
    text.checked(state, "state", STATE_LENGTH)
    text.checked(credential_id, "credential_id", CREDENTIAL_ID_LENGTH)
    text.checked(client_data, "client_data", CLIENT_DATA_LENGTH)
    text.checked(authenticator_data, "authenticator_data", DATA_LENGTH)
    text.checked(signature, "signature", SIGNATURE_LENGTH)
    text.checked(user_handle or "", "user_handle", USER_HANDLE_LENGTH)
    ceremony = ceremonies.opened(state)
    expected = login.person_of_step(step) if step is not None else None
    if step is not None and expected is None:
        raise login.step_over()
    if ceremony is None:
        raise InvalidCredentials(messages.PASSKEY_TOOK_TOO_LONG, {"reason": OVER})
    answer = Assertion(credential_id, client_data, authenticator_data, signature, user_handle)
    way: Way = "passkey" if step is None else "password_and_passkey"
    attempt = throttle.reserve(settings.secret_key, peer.address, None)
    try:
        verified = _verify(site, ceremony, answer)
        if expected is not None and expected.id != verified.owner.id:
            raise _Refused("another_person", verified.owner)
        return run_write(partial(_open, actor, verified, attempt, way, peer, settings))
    except _Refused as refusal:
        _record_failure(refusal)
        raise InvalidCredentials(
            messages.PASSKEY_NOT_ACCEPTED,
            {"reason": INVALID},
        ) from refusal


def _verify(site: Site, ceremony: Ceremony, answer: Assertion) -> _Verified:
    """Use the challenge up and check the answer, outside of any unit of work."""
    if not run_write(ceremony.use):
        raise _Refused("replayed")
    try:
        with reading():
            found = session.execute(
                select(Passkey, User)
                .join(User, User.id == Passkey.user_id)
                .where(Passkey.credential_hash == answer.credential_hash)
            ).first()
    except NotVerified as error:
        raise _Refused("unknown") from error
    if found is None:
        raise _Refused("unknown")
    passkey, owner = found
    try:
        count = webauthn.sign_count(site, ceremony, answer, passkey.credential, owner.id)
    except NotVerified as error:
        raise _Refused("not_verified", owner) from error
    return _Verified(passkey.id, owner, count)


def _open(
    actor: Actor,
    verified: _Verified,
    attempt: LoginAttempt,
    way: Way,
    peer: Peer,
    settings: Settings,
) -> OpenedSession:
    """Open the session, if the passkey still exists and its owner may log in."""
    owner = verified.owner
    user = session.scalar(select(User).where(User.id == owner.id).with_for_update(key_share=True))
    if user is None or not user.is_active:
        raise _Refused("inactive", owner)
    passkey = session.get(
        Passkey, verified.passkey_id, with_for_update=True, populate_existing=True
    )
    if passkey is None:
        raise _Refused("unknown", owner)
    counts = verified.sign_count or passkey.sign_count
    if counts and verified.sign_count <= passkey.sign_count:
        # The counter did not grow: somebody has a copy of the key.
        raise _Refused("counter", owner)
    passkey.sign_count, passkey.last_used_at = verified.sign_count, now_ms()
    session.flush()
    throttle.refund(attempt)
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    return login.start_session(user, peer, settings, way, passkey_id=passkey.id)


def _record_failure(refusal: _Refused) -> None:
    owner = refusal.owner
    record_separately(
        login.human_actor(owner) if owner is not None else ANONYMOUS,
        "auth.login.failure",
        Target("user", owner.id if owner is not None else None),
        username=owner.username if owner is not None else "",
        reason=f"passkey_{refusal.reason}",
    )
