"""Verbs of users: listing them, creating and changing humans, changing one's own password."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import exists, or_, select

from app.accounts import (
    credentials,
    emails,
    mailing,
    messages,
    names,
    password_links,
    passwords,
    sessions,
    user_refs,
)
from app.accounts.builders import user_json
from app.accounts.confirming import confirm_password, confirm_unchanged
from app.accounts.login import human_actor
from app.accounts.models import BotToken, User, UserType
from app.audit.service import Target, record
from app.config import Settings
from app.core import text
from app.core.actor import Access, Actor, Peer, operation
from app.core.clock import now_ms
from app.core.errors import Conflict, PasswordUnchanged
from app.database.locks import Lock, acquire
from app.database.pagination import Page, page
from app.database.session import reading, run_write, session
from app.database.versions import add_versioned, apply_changes, duplicate_is_conflict, touch


@operation(Access.READ)
def current_user(actor: Actor) -> tuple[User, BotToken | None]:
    user = session.get_one(User, actor.id)
    return user, user_refs.active_token(user)


@operation(Access.HUMAN)
def list_users(actor: Actor, *, limit: int, cursor: str | None, humans_only: bool = False) -> Page:
    """All users of both kinds, or only humans, newest first."""
    statement = select(User, User.id, User.created_at)
    if humans_only:
        statement = statement.where(User.type == UserType.HUMAN)
    return page(
        statement,
        kind="user",
        sort=User.created_at,
        id_column=User.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: with_tokens(row.User for row in rows),
    )


def with_tokens(users: Iterable[User]) -> list[dict[str, Any]]:
    """The JSON of these users, bots with the metadata of their active tokens."""
    users = list(users)
    tokens = user_refs.active_tokens(user.id for user in users if user.is_bot)
    return [user_json(user, tokens.get(user.id)) for user in users]


@dataclass(frozen=True, slots=True)
class NewHuman:
    """A human to create, with all fields checked and the password hashed.

    Without a password, the person cannot log in until they choose one (``invitations``).
    """

    username: str
    display_name: str
    password_hash: str | None
    email: str | None = None


def prepare_human(
    username: str,
    password: str,
    display_name: str | None,
    settings: Settings,
    email: str | None = None,
) -> NewHuman:
    """Check the fields and hash the password of a new human; runs outside any unit of work.

    Raises InvalidField, PasswordTooShort, PasswordTooCommon, Conflict ``duplicate_key`` and
    Unavailable.
    """
    username = names.new_username(username)
    display_name = names.new_display_name(display_name, username)
    email = emails.new_email(email) if email is not None else None
    passwords.check_new(password, username, settings.app_name)
    with reading():
        names.check_free(username)
        emails.check_free(email)
    hashed = passwords.hash_new(password, passwords.cost_of(settings))
    return NewHuman(username, display_name, hashed, email)


def add_human(actor: Actor | None, new: NewHuman, *, confirms: bool = True) -> User:
    """Insert a human and record the event; without an actor, the new human is its actor.

    ``confirms`` mails a link that confirms the address.
    """
    user = insert_user(
        UserType.HUMAN,
        new.username,
        new.display_name,
        password_hash=new.password_hash,
        email=new.email,
        created_by_user_id=actor.user_id if actor is not None else None,
    )
    record(
        actor or human_actor(user),
        "user.created",
        Target("user", user.id),
        username=new.username,
        display_name=new.display_name,
    )
    if confirms:
        mailing.ask_to_confirm(user)
    return user


def insert_user(kind: UserType, username: str, display_name: str, **columns: Any) -> User:
    """Insert an active user of either kind; raises Conflict ``duplicate_key``."""
    names.check_free(username)
    emails.check_free(columns.get("email"))
    user = add_versioned(
        User,
        type=kind.value,
        username=username,
        display_name=display_name,
        is_active=True,
        **columns,
    )
    with duplicate_is_conflict("username", names.in_use(username)):
        session.flush()
    return user


@operation(Access.HUMAN)
def create_user(
    actor: Actor,
    *,
    username: str,
    password: str,
    display_name: str | None = None,
    email: str | None = None,
    settings: Settings,
) -> User:
    """Create a human; opens its own units of work and raises what ``prepare_human`` raises."""
    new = prepare_human(username, password, display_name, settings, email)

    def work() -> User:
        sessions.confirm(actor)
        return add_human(actor, new)

    return run_write(work)


@operation(Access.HUMAN)
def update_user(
    actor: Actor, /, user_id: str, *, settings: Settings, knows_email: bool = False, **fields: Any
) -> User:
    """Change a human's display name, email, password or activity; opens its own units of work.

    With ``knows_email``, a new address is confirmed, and no link is mailed. A new password or a
    deactivation ends that person's sessions. Raises NotFound (bots too), InvalidField,
    PasswordTooShort, Conflict ``invariant_violation`` for the last active human, ``duplicate_key``
    for an email address in use.
    """
    with reading():
        username = user_refs.find_human(user_id).username
    if "display_name" in fields:
        fields["display_name"] = text.line(fields["display_name"], "display_name")
    if fields.get("email") is not None:
        fields["email"] = emails.new_email(fields["email"])
    password = fields.pop("password", None)
    hashed = None
    if password is not None:
        passwords.check_new(password, username, settings.app_name)
        hashed = passwords.hash_new(password, passwords.cost_of(settings))
    confirmed_at = now_ms() if knows_email else None
    return run_write(lambda: _update(actor, user_id, fields, hashed, confirmed_at))


def _update(
    actor: Actor, user_id: str, fields: dict[str, Any], hashed: str | None, confirmed_at: int | None
) -> User:
    deactivates = fields.get("is_active") is False
    if deactivates:
        # Serializes two humans who deactivate each other.
        acquire(Lock.LAST_ACTIVE_HUMAN)
    user = user_refs.find_human(user_id)
    credentials.lock_exclusive(user.id)
    session.refresh(user)
    sessions.confirm(actor)
    proven = emails.proven(user)
    if deactivates and not _another_is_active(actor, user.id):
        raise Conflict("invariant_violation", messages.LAST_ACTIVE_PERSON)
    if "email" in fields and fields["email"] != user.email:
        emails.check_free(fields["email"])
        fields["email_confirmed_at"] = confirmed_at
    changed = apply_changes(user, fields)
    # The log is permanent, so it must not contain addresses.
    shown = {name: value for name, value in changed.items() if name not in emails.COLUMNS}
    payload: dict[str, Any] = {"changes": shown} if shown else {}
    if "email" in changed:
        payload |= {"email_changed": True} | ({"email_confirmed": True} if confirmed_at else {})
        password_links.end_mailed(user.id)
        mailing.tell_of_change(user, proven)
        mailing.ask_to_confirm(user)
    if hashed is not None:
        set_password(user, hashed)
        payload["password_changed"] = True
    if not payload:
        return user
    with duplicate_is_conflict("email", messages.EMAIL_IN_USE):
        session.flush()
    deactivated = changed.get("is_active", {}).get("to") is False
    if deactivated:
        password_links.end(user.id)
    if hashed is not None or deactivated:
        sessions.end_all(user.id)
    record(actor, "user.updated", Target("user", user.id), **payload)
    return user


def _another_is_active(actor: Actor, user_id: str) -> bool:
    others = exists().where(
        User.type == UserType.HUMAN,
        User.is_active,
        User.id != user_id,
        # A person who was only invited may never log in.
        or_(user_refs.can_log_in(), User.id == actor.user_id),
    )
    return bool(session.scalar(select(others)))


def set_password(user: User, hashed: str) -> None:
    """Set a password and end the person's links to choose one."""
    password_links.end(user.id)
    user.password_hash = hashed
    touch(user)


@operation(Access.HUMAN)
def change_password(
    actor: Actor, *, current_password: str, new_password: str, peer: Peer, settings: Settings
) -> int:
    """Change one's own password; ends all other sessions and returns their number.

    The current password is verified first; wrong ones count like failed logins. Raises RateLimited,
    CurrentPasswordInvalid, PasswordTooShort, PasswordTooCommon, InvalidField, PasswordUnchanged.
    Opens its own units of work.
    """
    stored = confirm_password(actor, current_password, peer, settings)
    passwords.check_new(new_password, actor.username, settings.app_name, "new_password")
    if new_password == current_password:
        raise PasswordUnchanged
    hashed = passwords.hash_new(new_password, passwords.cost_of(settings))
    return run_write(lambda: _change_password(actor, stored, hashed))


def _change_password(actor: Actor, stored: str | None, hashed: str) -> int:
    credentials.lock_exclusive(actor.id)
    sessions.confirm(actor)
    user = confirm_unchanged(actor, stored)
    set_password(user, hashed)
    session.flush()
    ended = sessions.end_all(user.id, but=actor.session_id)
    record(actor, "user.updated", Target("user", user.id), password_changed=True)
    return ended
