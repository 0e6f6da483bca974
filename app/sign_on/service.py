"""The verbs of a login at the provider: beginning and finishing it.

An account at the provider is identified by its issuer and subject. An unknown account belongs to
the person whose confirmed email address it proves, or to a new person if the settings admit all.
"""

import hmac
import logging
from dataclasses import dataclass
from functools import partial

from sqlalchemy import exists, select

from app.accounts import emails, names, sessions, throttle, users
from app.accounts.login import human_actor
from app.accounts.models import ProviderIdentity, User, UserType
from app.accounts.sessions import OpenedSession
from app.accounts.used_tokens import use_once
from app.audit.service import Target, record, record_separately
from app.config import Admission, Settings
from app.core import ids, text
from app.core.actor import ANONYMOUS, Access, Actor, Peer, operation
from app.core.clock import now_ms
from app.core.errors import InvalidField
from app.core.lanes import Lane, require
from app.database.locks import Lock, acquire
from app.database.session import run_write, session
from app.sign_on import flow, identities, logout, messages, tokens
from app.sign_on.flow import Candidate, SignOnFlow
from app.sign_on.provider import CONFIRMATIONS, Provider, provider_of
from app.sign_on.requests import MAX_ERROR_LENGTH, ProviderFailure
from app.sign_on.tokens import Claims, ClientRefused, TokenRefused

log = logging.getLogger(__name__)
CALLBACK = "/login/oidc/callback"
MESSAGES = {
    "begin": messages.NOT_STARTED_HERE,
    "provider": messages.NO_RESPONSE,
    "denied": messages.DENIED,
    "not_admitted": messages.NO_ACCOUNT,
    "email": messages.NO_CONFIRMED_EMAIL,
    "domain": messages.DOMAIN_NOT_ALLOWED,
    "logged_out": messages.LOGGED_OUT,
    "inactive": messages.ACCOUNT_DEACTIVATED,
    "setup": messages.NOT_SET_UP,
}


class SignOnRefused(Exception):
    """A login that fails; ``reason`` is for the audit log, the message for people."""

    def __init__(self, reason: str, kind: str, user_id: str | None = None) -> None:
        self.reason = reason
        self.message = MESSAGES[kind]
        self.user_id = user_id
        super().__init__(reason)


@dataclass(frozen=True, slots=True)
class LoginRedirect:
    """The address to which the browser is sent, and the cookie that it brings back."""

    address: str
    state: str
    cookie: str


@dataclass(frozen=True, slots=True)
class CallbackParams:
    """The parameters that the provider sent back with the browser."""

    cookie: str
    state: str
    code: str = ""
    issuer: str | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class _Person:
    """The provider's data about a person, checked and normalized."""

    issuer: str
    subject: str
    session_hash: str | None
    # None unless the provider confirmed it.
    email: str | None
    # Why the provider did not say whether it confirmed it.
    failure: ProviderFailure | None
    name: str
    wished_username: str


@operation(Access.PUBLIC)
def begin(actor: Actor, *, target: str, settings: Settings) -> LoginRedirect:
    """Begin a login at the provider; raises SignOnRefused if it is unreachable."""
    return _begin(flow.begun(target, None), settings)


@operation(Access.HUMAN)
def begin_linking(actor: Actor, *, settings: Settings) -> LoginRedirect:
    """Begin a login at the provider, to link the account to the actor's own."""
    return _begin(flow.begun("/profile/sign-on", actor.id), settings)


def _begin(begun: SignOnFlow, settings: Settings) -> LoginRedirect:
    require(Lane.LONG)
    try:
        address = provider_of(settings).login_address(
            callback=f"{settings.base_url}{CALLBACK}",
            state=begun.state,
            nonce=begun.nonce,
            challenge=begun.challenge,
        )
    except ProviderFailure as error:
        _log("provider", error)
        raise SignOnRefused("provider", "provider") from error
    return LoginRedirect(address, begun.state, flow.sealed(begun))


@operation(Access.PUBLIC)
def finish(
    actor: Actor, *, callback: CallbackParams, peer: Peer, settings: Settings
) -> tuple[OpenedSession | Candidate, str]:
    """Finish a login: returns a session or an account to link, and the target address.

    Opens its own units of work. Raises SignOnRefused, recorded and counted like a failed login of
    the address, or RateLimited. The answer to no login of this browser is neither recorded nor
    counted: any web page can have its visitors request one.
    """
    require(Lane.LONG)
    begun = _flow_of(callback)
    attempt = throttle.reserve(settings.secret_key, peer.address, None)
    try:
        if not run_write(lambda: use_once(f"state:{begun.state}", begun.ends_at)):
            raise SignOnRefused("replayed", "begin")
        if begun.links is not None and begun.links != actor.user_id:
            raise SignOnRefused("state", "begin")
        person = _person(begun, callback, settings)
        if begun.links is not None:
            run_write(lambda: throttle.refund(attempt))
            return Candidate(
                begun.links, person.issuer, person.subject, person.name, begun.ends_at
            ), begun.target
        opened = run_write(partial(_log_in, actor, begun, person, attempt, peer, settings))
    except SignOnRefused as refusal:
        if isinstance(refusal.__cause__, ProviderFailure | ClientRefused):
            # The provider or a setting is wrong, so the attempt does not count for the address.
            run_write(lambda: throttle.refund(attempt))
        record_separately(
            ANONYMOUS, "auth.oidc.failure", Target("user", refusal.user_id), reason=refusal.reason
        )
        raise
    return opened, begun.target


def _flow_of(callback: CallbackParams) -> SignOnFlow:
    """The login that this browser began; raises SignOnRefused."""
    begun = flow.opened_flow(callback.cookie)
    if begun is None or not hmac.compare_digest(begun.state.encode(), callback.state.encode()):
        raise SignOnRefused("state", "begin")
    return begun


def _person(begun: SignOnFlow, callback: CallbackParams, settings: Settings) -> _Person:
    """The person whom the provider names, checked; raises SignOnRefused."""
    provider = provider_of(settings)
    try:
        _check_issuer(provider, callback)
        if callback.error or not callback.code:
            _log("denied", callback.error[:MAX_ERROR_LENGTH])
            raise SignOnRefused("denied", "denied")
        claims, failure = provider.redeem(
            callback.code,
            verifier=begun.verifier,
            callback=f"{settings.base_url}{CALLBACK}",
            nonce=begun.nonce,
            now=now_ms() // 1000,
        )
    except ProviderFailure as error:
        _log("provider", error)
        raise SignOnRefused("provider", "provider") from error
    except TokenRefused as error:
        _log(f"token_{error}", error.__cause__ or error)
        raise SignOnRefused(f"token_{error}", "denied") from error
    email = _confirmed_email(claims)
    domains = tuple(filter(None, settings.oidc_allowed_domains.split(",")))
    if domains and email is None:
        raise _unconfirmed("email", failure) from failure
    if domains and email is not None and email.rpartition("@")[2] not in domains:
        raise SignOnRefused("domain", "domain")
    name = claims.get("name")
    shown = name.strip() if isinstance(name, str) and name.isprintable() else ""
    wished = claims.get("preferred_username")
    return _Person(
        issuer=provider.issuer,
        subject=str(claims["sub"]),
        session_hash=logout.session_hash(claims),
        email=email,
        failure=failure,
        name=(shown or email or str(claims["sub"]))[: text.NAME_LENGTH],
        wished_username=wished if isinstance(wished, str) else email or "",
    )


def _log(reason: str, cause: BaseException | str) -> None:
    """Log what neither the page nor the audit log says."""
    log.warning("single sign-on failed", extra={"reason": reason, "cause": str(cause)})


def _unconfirmed(reason: str, failure: ProviderFailure | None) -> SignOnRefused:
    """The refusal of a login without a confirmed address, or of the provider that failed."""
    if failure is None:
        return SignOnRefused(reason, reason)
    _log("provider", failure)
    return SignOnRefused("provider", "provider")


def _check_issuer(provider: Provider, callback: CallbackParams) -> None:
    """Refuse the response of another provider (RFC 9207)."""
    expected = provider.metadata().names_itself
    if callback.issuer != provider.issuer and (expected or callback.issuer is not None):
        raise SignOnRefused("issuer", "denied")


def _confirmed_email(claims: Claims) -> str | None:
    """The email address that the provider confirmed."""
    address = claims.get("email")
    is_confirmed = any(tokens.is_true(claims.get(name)) for name in CONFIRMATIONS)
    if not is_confirmed or not isinstance(address, str):
        return None
    try:
        return emails.new_email(address)
    except InvalidField:
        return None


def _log_in(
    actor: Actor,
    begun: SignOnFlow,
    person: _Person,
    attempt: throttle.LoginAttempt,
    peer: Peer,
    settings: Settings,
) -> OpenedSession:
    if logout.came_after(begun.begun_at, person.issuer, person.subject, person.session_hash):
        raise SignOnRefused("logged_out", "logged_out")
    identity = _identity_of(person, settings)
    user = session.scalar(
        select(User).where(User.id == identity.user_id).with_for_update(key_share=True)
    )
    if user is None or not user.is_active:
        raise SignOnRefused("inactive", "inactive", identity.user_id)
    # A removal that is under way ends first, or waits for this session, which it then ends.
    if not identities.keep(identity.id):
        raise SignOnRefused("not_admitted", "not_admitted", user.id)
    throttle.refund(attempt)
    if actor.session_id is not None:
        sessions.end(actor.session_id)
    opened = sessions.open_session(
        user,
        peer.user_agent,
        settings.session_absolute_days,
        identity_id=identity.id,
        provider_session_hash=person.session_hash,
    )
    target = Target("user", user.id)
    record(human_actor(user), "auth.oidc.success", target, username=user.username)
    return opened


def _identity_of(person: _Person, settings: Settings) -> ProviderIdentity:
    """The identity of the account, created if the settings admit it."""
    found = identities.find(person.issuer, person.subject)
    if found is not None:
        return found
    # Two browsers may log in with a new account at the same time.
    acquire(Lock.IDENTITIES)
    found = identities.find(person.issuer, person.subject)
    if found is not None:
        return found
    if not session.scalar(select(exists().where(User.type == UserType.HUMAN))):
        raise SignOnRefused("setup", "setup")
    user = _by_email(person.email) if person.email is not None else None
    if user is None and settings.oidc_admit != Admission.ALL:
        raise _unconfirmed("not_admitted", person.failure) from person.failure
    if user is None and person.email is None:
        raise _unconfirmed("email", person.failure) from person.failure
    if user is None:
        user = _new_person(person)
    elif not user.is_active:
        raise SignOnRefused("inactive", "inactive", user.id)
    return identities.add(human_actor(user), user.id, person.issuer, person.subject, person.name)


def _by_email(email: str) -> User | None:
    """The user who confirmed this address here: anyone could enter another's as their own."""
    return session.scalar(
        select(User).where(
            User.email == email,
            User.email_confirmed_at.is_not(None),
            User.type == UserType.HUMAN,
        )
    )


def _new_person(person: _Person) -> User:
    is_taken = session.scalar(select(exists().where(User.email == person.email)))
    new = users.NewHuman(
        _free_username(person.wished_username),
        person.name,
        None,
        None if is_taken else person.email,
    )
    user = users.add_human(None, new)
    emails.confirm(human_actor(user), user)
    return user


def _free_username(wished: str) -> str:
    """A free username like the one from the provider, or like the part of an address before @."""
    letters = (
        letter if letter.isascii() and (letter.isalnum() or letter in "._-") else "-"
        for letter in wished.partition("@")[0].lower()
    )
    base = "".join(letters).strip("._-")[: names.USERNAME_LENGTH - 8]
    if not names.USERNAME_PATTERN.fullmatch(base) or base in names.RESERVED:
        base = "person"
    return names.free_username(base) or f"{base}-{ids.new_id()[-7:]}"
