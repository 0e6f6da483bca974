"""Accounts at the provider, and the people whom they log in: the verbs of linking them."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from app.accounts import credentials, second_factor, sessions, user_refs
from app.accounts.confirming import confirm_password, confirm_unchanged, has_password
from app.accounts.models import ProviderIdentity, User, UserSession
from app.audit.service import Target, record
from app.config import Settings
from app.core import ids
from app.core.actor import Access, Actor, Peer, operation
from app.core.errors import Conflict, NotFound
from app.core.ids import as_uuid
from app.database.locks import Lock, acquire
from app.database.session import reading, run_write, session
from app.sign_on import flow, messages
from app.sign_on.flow import Candidate

MAX_IDENTITIES = 10


def find(issuer: str, subject: str) -> ProviderIdentity | None:
    return session.scalar(
        select(ProviderIdentity).where(
            ProviderIdentity.issuer == issuer, ProviderIdentity.subject == subject
        )
    )


def keep(identity_id: str) -> bool:
    """Keep the identity until the transaction ends; returns whether it still exists."""
    statement = select(ProviderIdentity.id).where(ProviderIdentity.id == identity_id)
    return session.scalar(statement.with_for_update(read=True, key_share=True)) is not None


def add(actor: Actor, user_id: str, issuer: str, subject: str, name: str) -> ProviderIdentity:
    identifier = ids.new_id()
    identity = ProviderIdentity(
        id=identifier,
        user_id=user_id,
        issuer=issuer,
        subject=subject,
        name=name,
        created_at=ids.created_ms(identifier),
    )
    session.add(identity)
    session.flush()
    record(actor, "user.identity_linked", Target("user", user_id), username=actor.username)
    return identity


@operation(Access.HUMAN)
def candidate_of(actor: Actor, token: str) -> Candidate:
    """The account that the person logged in to at the provider, to link it.

    Raises Conflict ``invariant_violation`` if the login is too old or another person's.
    """
    found = flow.opened_candidate(token)
    if found is None or found.user_id != actor.user_id:
        raise Conflict("invariant_violation", messages.NOT_STARTED_HERE)
    return found


@operation(Access.HUMAN)
def link(
    actor: Actor,
    *,
    candidate: str,
    current_password: str = "",
    code: str = "",
    peer: Peer,
    settings: Settings,
) -> None:
    """Link the account of a candidate.

    It will log in without them, so it takes the password and the code of people who have these.
    Opens its own units of work. Raises RateLimited, CurrentPasswordInvalid, InvalidField, Conflict
    ``invariant_violation`` if it is already linked, or the login is too old.
    """
    found = candidate_of(actor, candidate)
    stored = None
    with reading():
        needs_password = has_password(actor)
    if needs_password:
        stored = confirm_password(actor, current_password, peer, settings)
        second_factor.confirm_code(actor, stored, code, peer, settings)

    def work() -> None:
        credentials.lock_exclusive(actor.id)
        sessions.confirm(actor)
        confirm_unchanged(actor, stored)
        acquire(Lock.IDENTITIES)
        if find(found.issuer, found.subject) is not None:
            raise Conflict("invariant_violation", messages.ALREADY_LINKED)
        if len(_of(actor.id)) >= MAX_IDENTITIES:
            raise Conflict("invariant_violation", messages.REMOVE_A_LOGIN_FIRST)
        add(actor, actor.id, found.issuer, found.subject, found.name)

    run_write(work)


@operation(Access.HUMAN)
def list_own(actor: Actor) -> Sequence[ProviderIdentity]:
    """The accounts that log the person in, oldest first."""
    return _of(actor.id)


@operation(Access.HUMAN)
def list_of(actor: Actor, user_id: str) -> Sequence[ProviderIdentity]:
    """The accounts that log anyone in, oldest first; raises NotFound."""
    return _of(user_refs.find_human(user_id).id)


def _of(user_id: str) -> Sequence[ProviderIdentity]:
    statement = (
        select(ProviderIdentity)
        .where(ProviderIdentity.user_id == user_id)
        .order_by(ProviderIdentity.id)
    )
    return session.scalars(statement).all()


@operation(Access.HUMAN)
def unlink(actor: Actor, identity_id: str, *, settings: Settings) -> None:
    """Remove an account; its sessions end, except the current one.

    Raises NotFound, Conflict ``invariant_violation`` for the only way to log in.
    """
    identifier = as_uuid(identity_id)
    credentials.lock_exclusive(actor.id)
    own = {one.id: one for one in _of(actor.id)}
    identity = own.get(identifier or "")
    if identity is None:
        raise NotFound("identity", identity_id)
    user = session.get_one(User, actor.id)
    if len(own) == 1 and (user.password_hash is None or not settings.password_login):
        raise Conflict("invariant_violation", messages.ONLY_WAY_TO_LOG_IN)
    for _ in range(_remove(actor, user, [identity])):
        sessions.record_logout(actor)


@operation(Access.HUMAN)
def remove_of(actor: Actor, /, user_id: str, identity_id: str | None = None) -> int:
    """Remove one account of another person, or all of them; returns their number.

    Their sessions end. Raises NotFound (bots too), Conflict ``invariant_violation`` for one's own.
    """
    user = user_refs.lock_another_human(actor, user_id, messages.REMOVE_OWN_LOGINS_IN_PROFILE)
    chosen = [one for one in _of(user.id) if identity_id in (None, one.id)]
    if identity_id is not None and not chosen:
        raise NotFound("identity", identity_id)
    _remove(actor, user, chosen)
    return len(chosen)


def _remove(actor: Actor, user: User, chosen: Sequence[ProviderIdentity]) -> int:
    """Remove accounts, and end their sessions except the current one; returns how many end."""
    removed = [one.id for one in chosen]
    # This order matters: once the delete has the rows, a concurrent login has stored its session.
    session.execute(delete(ProviderIdentity).where(ProviderIdentity.id.in_(removed)))
    of_them = delete(UserSession).where(
        UserSession.identity_id.in_(removed), UserSession.id != actor.session_id
    )
    ended = session.scalars(of_them.returning(UserSession.id)).all()
    for _ in removed:
        record(actor, "user.identity_unlinked", Target("user", user.id), username=user.username)
    return len(ended)
