"""Passkeys of people: adding, naming and removing them.

A passkey alone logs a person in, as its device asks for a fingerprint, a face or a PIN. Adding and
removing a passkey takes the current password, so people without a password have no passkeys.
Adding one also takes a code if two-factor authentication is on.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import bindparam, delete, exists, func, select

from app.accounts import (
    ceremonies,
    credentials,
    messages,
    second_factor,
    sessions,
    user_refs,
    webauthn,
)
from app.accounts.ceremonies import Site
from app.accounts.confirming import confirm_password, confirm_unchanged
from app.accounts.models import Passkey, User
from app.audit.service import Target, record
from app.config import Settings
from app.core import ids, text
from app.core.actor import Access, Actor, Peer, operation
from app.core.clock import iso, iso_or_none
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.pagination import Page, page
from app.database.session import AnyRow, reading, run_write, session

MAX_PASSKEYS = 10
NAME_LENGTH = 100
STATE_LENGTH = 1_000
CLIENT_DATA_LENGTH = 4_096
ATTESTATION_LENGTH = 16_384

_COLUMNS = (Passkey.id, Passkey.name, Passkey.created_at, Passkey.last_used_at)
_ROWS = select(*_COLUMNS).where(Passkey.user_id == bindparam("user_id"))


@dataclass(frozen=True, slots=True)
class PasskeyChallenge:
    """What a browser needs for a passkey, and the sealed challenge that it sends back."""

    options: dict[str, Any]
    state: str


def passkey_json(row: AnyRow | Passkey) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "created_at": iso(row.created_at),
        "last_used_at": iso_or_none(row.last_used_at),
    }


def usable_at(settings: Settings, user_id: str | None = None) -> Site | None:
    """The site where this person, or anyone, could log in with a passkey; None if nowhere."""
    site = ceremonies.site_of(settings) if settings.password_login else None
    own = exists().where(Passkey.user_id == user_id) if user_id else exists(select(Passkey.id))
    return site if site is not None and session.scalar(select(own)) else None


def owners_among(user_ids: Iterable[str]) -> set[str]:
    """The ids of these people who have passkeys."""
    statement = select(Passkey.user_id).where(Passkey.user_id.in_(list(user_ids))).distinct()
    return set(session.scalars(statement))


@operation(Access.HUMAN)
def list_own(actor: Actor, *, limit: int, cursor: str | None) -> Page:
    """One's own passkeys, newest first."""
    return _listed(actor.id, limit, cursor)


@operation(Access.HUMAN)
def list_of(actor: Actor, user_id: str, *, limit: int, cursor: str | None) -> Page:
    """The passkeys of anyone, newest first; raises NotFound."""
    return _listed(user_refs.find_human(user_id).id, limit, cursor)


@operation(Access.HUMAN)
def get_own(actor: Actor, passkey_id: str) -> dict[str, Any]:
    """One's own passkey; raises NotFound."""
    row = session.execute(_ROWS.where(Passkey.id == as_uuid(passkey_id)), {"user_id": actor.id})
    found = row.first()
    if found is None:
        raise NotFound("passkey", passkey_id)
    return passkey_json(found)


def _listed(user_id: str, limit: int, cursor: str | None) -> Page:
    return page(
        _ROWS,
        kind="passkey",
        sort=Passkey.created_at,
        id_column=Passkey.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [passkey_json(row) for row in rows],
        values={"user_id": user_id},
    )


@operation(Access.HUMAN)
def begin_adding(
    actor: Actor, *, current_password: str, code: str = "", peer: Peer, settings: Settings
) -> PasskeyChallenge:
    """Begin to add a passkey in this session; takes a code if two-factor authentication is on.

    Opens its own units of work. Raises Forbidden where passkeys do not work, RateLimited,
    CurrentPasswordInvalid, InvalidField, Conflict ``invariant_violation`` at the limit.
    """
    site = ceremonies.open_site(settings)
    stored = confirm_password(actor, current_password, peer, settings)
    # Once added, a passkey logs in without a code.
    second_factor.confirm_code(actor, stored, code, peer, settings)
    with reading():
        user = session.get_one(User, actor.id, populate_existing=True)
        own = select(Passkey.credential).where(Passkey.user_id == actor.id)
        known = session.scalars(own).all()
        _check_number(len(known))
        adder = _adder(actor, user)
    ceremony = ceremonies.begun(adder)
    options = webauthn.creation_options(site, settings.app_name, ceremony, user, known)
    return PasskeyChallenge(options, ceremony.token)


def _adder(actor: Actor, user: User) -> str:
    """Ties adding a passkey to the session and the password; a change of either ends it."""
    return credentials.hashed(f"{actor.id}:{actor.session_id}:{user.password_hash}")


@operation(Access.HUMAN)
def add(
    actor: Actor, *, name: str, state: str, client_data: str, attestation: str, settings: Settings
) -> Passkey:
    """Add the passkey that the browser made.

    Opens its own units of work. Raises Forbidden, InvalidField, Conflict ``invariant_violation``
    at the limit or if the passkey is already in use.
    """
    site = ceremonies.open_site(settings)
    name = _name(name)
    text.checked(state, "state", STATE_LENGTH)
    text.checked(client_data, "client_data", CLIENT_DATA_LENGTH)
    text.checked(attestation, "attestation", ATTESTATION_LENGTH)
    with reading():
        user = session.get_one(User, actor.id, populate_existing=True)
        adder, stored = _adder(actor, user), user.password_hash
    ceremony = ceremonies.opened(state, adder)
    if ceremony is None:
        raise _over()
    try:
        made = webauthn.made(site, ceremony, client_data, attestation)
    except webauthn.NotVerified as error:
        message = messages.PASSKEY_DOES_NOT_WORK
        raise InvalidField("attestation", "not_verified", message) from error

    def work() -> Passkey:
        _lock(actor)
        confirm_unchanged(actor, stored)
        if not ceremony.use():
            raise _over()
        own = select(func.count()).select_from(Passkey).where(Passkey.user_id == actor.id)
        _check_number(session.scalar(own) or 0)
        taken = select(exists().where(Passkey.credential_hash == made.credential_hash))
        if session.scalar(taken):
            raise Conflict("invariant_violation", messages.PASSKEY_IN_USE)
        identifier = ids.new_id()
        passkey = Passkey(
            id=identifier,
            user_id=actor.id,
            credential_hash=made.credential_hash,
            credential=made.content,
            sign_count=made.sign_count,
            name=name,
            created_at=ids.created_ms(identifier),
        )
        session.add(passkey)
        session.flush()
        _record(actor, "user.passkey_added", passkey)
        return passkey

    return run_write(work)


def _check_number(own: int) -> None:
    if own >= MAX_PASSKEYS:
        raise Conflict("invariant_violation", messages.too_many_passkeys(MAX_PASSKEYS))


def _over() -> InvalidField:
    return InvalidField("state", "over", messages.PASSKEY_TOOK_TOO_LONG)


def _name(name: str) -> str:
    return text.line(name, "name", NAME_LENGTH)


@operation(Access.HUMAN)
def rename(actor: Actor, passkey_id: str, *, name: str) -> Passkey:
    """Give one's own passkey another name; raises NotFound, InvalidField."""
    name = _name(name)
    _lock(actor)
    passkey = _found(actor.id, passkey_id)
    changes = text.changes({"name": passkey.name}, {"name": name})
    if changes:
        passkey.name = name
        session.flush()
        target, username = Target("user", actor.id), actor.username
        record(
            actor,
            "user.passkey_renamed",
            target,
            username=username,
            passkey_id=passkey.id,
            changes=changes,
        )
    return passkey


@operation(Access.HUMAN)
def remove(
    actor: Actor, passkey_id: str, *, current_password: str, peer: Peer, settings: Settings
) -> None:
    """Remove one's own passkey, and end its sessions except this one.

    Opens its own units of work. Raises RateLimited, CurrentPasswordInvalid, InvalidField, NotFound.
    """
    stored = confirm_password(actor, current_password, peer, settings)

    def work() -> None:
        _lock(actor)
        confirm_unchanged(actor, stored)
        _remove(actor, _found(actor.id, passkey_id))

    run_write(work)


@operation(Access.HUMAN)
def remove_of(actor: Actor, /, user_id: str, passkey_id: str) -> None:
    """Remove a passkey of another person, who lost the device; its sessions end.

    Raises NotFound (bots too), Conflict ``invariant_violation`` for one's own.
    """
    user = user_refs.lock_another_human(actor, user_id, messages.REMOVE_OWN_PASSKEYS_IN_PROFILE)
    _remove(actor, _found(user.id, passkey_id))


@operation(Access.HUMAN)
def remove_all_of(actor: Actor, /, user_id: str) -> int:
    """Remove all passkeys of another person, and end their sessions; returns their number.

    Raises NotFound (bots too), Conflict ``invariant_violation`` for one's own.
    """
    user = user_refs.lock_another_human(actor, user_id, messages.REMOVE_OWN_PASSKEYS_IN_PROFILE)
    own = session.scalars(select(Passkey).where(Passkey.user_id == user.id)).all()
    for passkey in own:
        _remove(actor, passkey)
    return len(own)


def _found(user_id: str, passkey_id: str) -> Passkey:
    identifier = as_uuid(passkey_id)
    own = select(Passkey).where(Passkey.id == identifier, Passkey.user_id == user_id)
    passkey = session.scalar(own.with_for_update()) if identifier else None
    if passkey is None:
        raise NotFound("passkey", passkey_id)
    return passkey


def _remove(actor: Actor, passkey: Passkey) -> None:
    _record(actor, "user.passkey_removed", passkey)
    # This order matters: once the delete has the row, a concurrent login has stored its session.
    session.execute(delete(Passkey).where(Passkey.id == passkey.id))
    sessions.end_of_passkey(passkey.user_id, passkey.id, but=actor.session_id)


def _lock(actor: Actor) -> None:
    credentials.lock_exclusive(actor.id)
    sessions.confirm(actor)


def _record(actor: Actor, event_type: str, passkey: Passkey) -> None:
    username = session.scalar(select(User.username).where(User.id == passkey.user_id))
    target = Target("user", passkey.user_id)
    record(actor, event_type, target, username=username, passkey_id=passkey.id, name=passkey.name)
