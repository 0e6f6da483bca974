"""One-time links to choose a password, as rows: one for a person at most, its token only hashed."""

from dataclasses import dataclass

from sqlalchemy import delete, select

from app.accounts import credentials
from app.accounts.models import PasswordLink, User
from app.core.clock import HOUR_MS, now_ms
from app.database.session import session
from app.mail import outbox
from app.mail.models import Mail

LIFETIME_MS = 24 * HOUR_MS
# How the tokens of operators, and no others, begin; these links work without PASSWORD_LOGIN.
OPERATORS = "op."


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A link just made; ``token`` goes into its address and is known nowhere else.

    One that was ``mailed_to`` an address is shown to nobody.
    """

    user: User
    token: str
    expires_at: int
    mailed_to: str | None = None


@dataclass(frozen=True, slots=True)
class LinkOwner:
    """The person whom a link belongs to."""

    id: str
    username: str
    display_name: str
    has_password: bool


def make(user: User, *, mail: Mail | None = None, by_operator: bool = False) -> IssuedLink:
    """Make the person's link, that of a mail if one is given; the one before ends."""
    end(user.id)
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


def end(user_id: str) -> None:
    """End the person's link, if there is one."""
    session.execute(delete(PasswordLink).where(PasswordLink.user_id == user_id))


def end_mailed(user_id: str) -> None:
    """End the person's link if it was mailed: the address is not theirs any more."""
    was_mailed = PasswordLink.mailed_to.is_not(None)
    session.execute(delete(PasswordLink).where(PasswordLink.user_id == user_id, was_mailed))


def owner_of(token: str) -> LinkOwner | None:
    """The person whose password this token sets, if it still does."""
    row = session.execute(
        select(
            User.id,
            User.username,
            User.display_name,
            User.password_hash.is_not(None).label("has_password"),
        )
        .join(PasswordLink, PasswordLink.user_id == User.id)
        .where(
            PasswordLink.token_hash == credentials.hashed(token),
            PasswordLink.expires_at > now_ms(),
            User.is_active,
        )
    ).first()
    return None if row is None else LinkOwner(*row)


def proves(user: User) -> bool:
    """Whether whoever has the person's link has it from a mail to the person's address."""
    mailed_to = session.scalar(
        select(PasswordLink.mailed_to).where(PasswordLink.user_id == user.id)
    )
    return mailed_to is not None and mailed_to == user.email
