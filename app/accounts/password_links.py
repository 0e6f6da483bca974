"""One-time links to choose a password; only hashes of their tokens are stored.

A link that someone makes for a person is a row; a person has at most one. A link that is requested
by mail is part of the row of that mail: anybody can request one, so a request ends no other link.
"""

from dataclasses import dataclass

from sqlalchemy import delete, select, update

from app.accounts import credentials
from app.accounts.models import PasswordLink, User
from app.core.clock import HOUR_MS, now_ms
from app.database.session import session
from app.mail import outbox
from app.mail.models import Mail, MailKind

LIFETIME_MS = 24 * HOUR_MS
# The prefix of tokens of operators' links, which work even without PASSWORD_LOGIN.
OPERATORS = "op."


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A new link; ``token`` goes into its address and is stored nowhere.

    A link that was ``mailed_to`` an address is not shown to anyone.
    """

    user: User
    token: str
    expires_at: int
    mailed_to: str | None = None


@dataclass(frozen=True, slots=True)
class LinkOwner:
    """The person that a link belongs to."""

    id: str
    username: str
    display_name: str
    has_password: bool


def make(user: User, *, mail: Mail | None = None, by_operator: bool = False) -> IssuedLink:
    """Make the person's link, or the link of ``mail``; earlier links end."""
    end(user.id, but=mail)
    token = credentials.new_secret() if mail is None else outbox.token_of(mail.id)
    if by_operator:
        token = f"{OPERATORS}{token}"
    mailed_to = None if mail is None else mail.address
    created_at = now_ms()
    link = PasswordLink(
        user_id=user.id,
        token_hash=credentials.hashed(token),
        created_at=created_at,
        expires_at=created_at + LIFETIME_MS,
        mailed_to=mailed_to,
    )
    session.add(link)
    session.flush()
    return IssuedLink(user, token, link.expires_at, mailed_to)


def end(user_id: str, *, but: Mail | None = None) -> None:
    """End the person's links, except the link of the mail ``but``."""
    session.execute(delete(PasswordLink).where(PasswordLink.user_id == user_id))
    _end_requested(user_id, but)


def end_mailed(user_id: str) -> None:
    """End the person's links that were mailed, as the address is no longer theirs."""
    was_mailed = PasswordLink.mailed_to.is_not(None)
    session.execute(delete(PasswordLink).where(PasswordLink.user_id == user_id, was_mailed))
    _end_requested(user_id, None)


def _end_requested(user_id: str, but: Mail | None) -> None:
    of_person = update(Mail).where(Mail.user_id == user_id, Mail.kind == MailKind.RESET)
    if but is not None:
        of_person = of_person.where(Mail.id != but.id)
    session.execute(of_person.where(Mail.token_hash.is_not(None)).values(token_hash=None))


def owner_of(token: str) -> LinkOwner | None:
    """The person whose password this token sets, if it still does."""
    made_for = session.scalar(
        select(PasswordLink.user_id).where(
            PasswordLink.token_hash == credentials.hashed(token),
            PasswordLink.expires_at > now_ms(),
        )
    )
    mail = None if made_for else _requested_mail(token)
    row = session.execute(
        select(
            User.id,
            User.username,
            User.display_name,
            User.password_hash.is_not(None).label("has_password"),
        ).where(User.id == (mail.user_id if mail else made_for), User.is_active)
    ).first()
    return None if row is None else LinkOwner(*row)


def _requested_mail(token: str) -> Mail | None:
    """The mail with this token, if it went to the person's current, confirmed address."""
    return session.scalar(
        select(Mail)
        .join(User, User.id == Mail.user_id)
        .where(
            Mail.token_hash == credentials.hashed(token),
            Mail.kind == MailKind.RESET,
            Mail.created_at > now_ms() - LIFETIME_MS,
            Mail.address == User.email,
            User.email_confirmed_at.is_not(None),
        )
    )


def proves(user: User, token: str) -> bool:
    """Whether the link was mailed to the person's current address, so its use confirms it."""
    mailed_to = session.scalar(
        select(PasswordLink.mailed_to).where(PasswordLink.token_hash == credentials.hashed(token))
    )
    return _requested_mail(token) is not None or (mailed_to is not None and mailed_to == user.email)
