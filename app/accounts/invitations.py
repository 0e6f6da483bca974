"""Inviting people, and the one-time link with which they choose their password.

The link of an invitation and the one after a lost password are the same. Nobody chooses a password
for someone else.
"""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass

from sqlalchemy import select

from app.accounts import (
    credentials,
    emails,
    login,
    mailing,
    messages,
    names,
    password_links,
    passwords,
    second_factor,
    sessions,
    throttle,
    user_refs,
    users,
)
from app.accounts.login import LoginStep
from app.accounts.models import PasswordLink, User
from app.accounts.password_links import IssuedLink, LinkOwner
from app.accounts.sessions import OpenedSession
from app.audit.service import Target, record
from app.config import Settings
from app.core import text
from app.core.actor import Access, Actor, Peer, operation
from app.core.clock import now_ms
from app.core.errors import Conflict, Forbidden, InvalidField, NotFound
from app.core.logs import REDACTED
from app.database.session import reading, run_write, session
from app.mail import outbox
from app.mail.models import MailKind


@dataclass(frozen=True, slots=True)
class LinkStatus:
    """Whether a person can log in yet, and when their live link expires."""

    has_password: bool
    link_ends_at: int | None


@operation(Access.HUMAN)
def invite(
    actor: Actor,
    *,
    display_name: str,
    username: str | None = None,
    email: str | None = None,
    by_mail: bool = False,
) -> IssuedLink:
    """Add a person without a password, with the link to choose one; ``by_mail`` sends it.

    The username defaults to one made of the name. Raises InvalidField, Conflict ``duplicate_key``.
    """
    shown = text.line(display_name, "display_name")
    name = names.new_username(username if username is not None else username_of(shown))
    address = emails.new_email(email) if email is not None else None
    if by_mail and address is None:
        raise InvalidField("email", "blank", messages.EMAIL_NEEDED)
    new = users.NewHuman(name, shown, None, address)
    user = users.add_human(actor, new, confirms=not by_mail)
    return _issue(actor, user, by_mail=by_mail)


def username_of(display_name: str) -> str:
    """``ada.lovelace`` for Ada Lovelace; raises InvalidField if a name has no usable letters."""
    plain = unicodedata.normalize("NFKD", display_name).encode("ascii", "ignore").decode().lower()
    words = ("".join(filter(str.isalnum, word)) for word in plain.split())
    made = ".".join(filter(None, words))[: names.USERNAME_LENGTH].rstrip(".")
    if not names.USERNAME_PATTERN.fullmatch(made):
        raise InvalidField("username", "missing", messages.USERNAME_NEEDED)
    return made


@operation(Access.HUMAN)
def issue_link(
    actor: Actor, /, user_id: str, *, by_mail: bool = False, by_operator: bool = False
) -> IssuedLink:
    """Make a link with which a person chooses a new password; the password stays until then.

    An operator's link works even without PASSWORD_LOGIN. Raises NotFound (bots too), Conflict
    ``invariant_violation`` for oneself, for a deactivated person and, with ``by_mail``, if mail is
    off or the person has no usable address.
    """
    user = user_refs.find_human(user_id)
    credentials.lock_exclusive(user.id)
    session.refresh(user)
    if user.id == actor.user_id:
        raise Conflict("invariant_violation", messages.OWN_PASSWORD_IN_PROFILE)
    if not user.is_active:
        raise Conflict("invariant_violation", messages.PERSON_NOT_ACTIVE)
    return _issue(actor, user, by_mail=by_mail, by_operator=by_operator)


def _issue(actor: Actor, user: User, *, by_mail: bool, by_operator: bool = False) -> IssuedLink:
    mail = mailing.send_link(user) if by_mail else None
    link = password_links.make(user, mail=mail, by_operator=by_operator)
    record(actor, "user.updated", Target("user", user.id), password_link_issued=True)
    return link


@operation(Access.HUMAN)
def link_statuses(actor: Actor, user_ids: Iterable[str]) -> dict[str, LinkStatus]:
    """The link statuses of these people, by id."""
    rows = session.execute(
        select(User.id, user_refs.can_log_in().label("has_password"))
        .add_columns(PasswordLink.expires_at)
        .outerjoin(
            PasswordLink,
            (PasswordLink.user_id == User.id) & (PasswordLink.expires_at > now_ms()),
        )
        .where(User.id.in_(list(user_ids)))
    )
    return {row.id: LinkStatus(row.has_password, row.expires_at) for row in rows}


@operation(Access.PUBLIC)
def request_reset(actor: Actor, *, email: str, peer: Peer, settings: Settings) -> None:
    """Mail a link to choose a new password, if this is the confirmed address of a person.

    The address is looked up when the mail is sent, so requests for all addresses behave alike.
    Opens its own units of work. Raises NotFound if mail or PASSWORD_LOGIN is off, InvalidField,
    RateLimited.
    """
    if not (outbox.is_on() and settings.password_login):
        raise NotFound("page", "forgot-password")
    address = emails.new_email(email)
    throttle.reserve(settings.secret_key, peer.address, address, "reset")
    run_write(lambda: outbox.enqueue(MailKind.RESET, address, None))


@operation(Access.PUBLIC)
def link_owner(actor: Actor, *, token: str, settings: Settings) -> LinkOwner:
    """The person whose password this link sets.

    A link that does not work counts for no address: nobody guesses 256 bits, but any web page can
    have its visitors request one. Raises NotFound, Forbidden ``password_login_off`` where only
    operators' links work.
    """
    if not settings.password_login and not token.startswith(password_links.OPERATORS):
        raise Forbidden("password_login_off")
    with reading():
        owner = password_links.owner_of(token)
    if owner is None:
        raise _no_such_link()
    return owner


def _no_such_link() -> NotFound:
    return NotFound("password_link", REDACTED)


@operation(Access.PUBLIC)
def use_link(
    actor: Actor, *, token: str, password: str, peer: Peer, settings: Settings
) -> OpenedSession | LoginStep:
    """Set the password and log in; the link and all sessions of that person end.

    A link does not replace a second factor: if one is on, its code is requested. Opens its own
    units of work. Raises NotFound, PasswordTooShort, PasswordTooCommon, InvalidField.
    """
    owner = link_owner(actor, token=token, settings=settings)
    passwords.check_new(password, owner.username, settings.app_name)
    hashed = passwords.hash_new(password, passwords.cost_of(settings))

    def work() -> OpenedSession | LoginStep:
        credentials.lock_exclusive(owner.id)
        # The link may have been used or replaced meanwhile, or the person deactivated.
        if password_links.owner_of(token) is None:
            raise _no_such_link()
        user = session.get_one(User, owner.id, populate_existing=True)
        is_proof = password_links.proves(user, token)
        users.set_password(user, hashed)
        session.flush()
        sessions.end_all(user.id)
        if actor.session_id is not None:
            sessions.end(actor.session_id)
        person = login.human_actor(user)
        record(person, "user.updated", Target("user", user.id), password_changed=True)
        if is_proof:
            emails.confirm(person, user)
        if second_factor.is_enabled(user.id):
            return login.step_of(user)
        return login.start_session(user, peer, settings, "password_link")

    return run_write(work)
