"""One-time links to choose a password, as rows: one for a person at most, its token only hashed."""

from dataclasses import dataclass

from sqlalchemy import delete, select

from app.accounts import credentials
from app.accounts.models import PasswordLink, User
from app.core.clock import HOUR_MS, now_ms
from app.database.session import session

LIFETIME_MS = 24 * HOUR_MS


@dataclass(frozen=True, slots=True)
class IssuedLink:
    """A link just made; ``token`` goes into its address and is known nowhere else."""

    user: User
    token: str
    expires_at: int


@dataclass(frozen=True, slots=True)
class LinkOwner:
    """The person whom a link belongs to."""

    id: str
    username: str
    display_name: str
    has_password: bool


def make(user: User) -> IssuedLink:
    """Make the person's link; the one before ends."""
    end(user.id)
    token, created_at = credentials.new_secret(), now_ms()
    link = PasswordLink(
        user_id=user.id,
        token_hash=credentials.hashed(token),
        created_at=created_at,
        expires_at=created_at + LIFETIME_MS,
    )
    session.add(link)
    session.flush()
    return IssuedLink(user, token, link.expires_at)


def end(user_id: str) -> None:
    """End the person's link, if there is one."""
    session.execute(delete(PasswordLink).where(PasswordLink.user_id == user_id))


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
