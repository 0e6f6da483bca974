"""Accounts at the provider, and the people whom they log in: the verbs of linking them."""

from collections.abc import Sequence

from sqlalchemy import delete, select

from app.accounts import credentials, sessions
from app.accounts.models import ProviderIdentity, User, UserSession
from app.audit.service import Target, record
from app.config import Settings
from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, NotFound
from app.core.ids import as_uuid
from app.database.locks import Lock, acquire
from app.database.session import session
from app.sign_on import flow, messages

MAX_IDENTITIES = 10


def find(issuer: str, subject: str) -> ProviderIdentity | None:
    return session.scalar(
        select(ProviderIdentity).where(
            ProviderIdentity.issuer == issuer, ProviderIdentity.subject == subject
        )
    )


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
def link(actor: Actor, *, candidate: str) -> None:
    """Link the account that the person logged in to at the provider.

    Raises Conflict ``invariant_violation`` if it is already linked, or the login is too old.
    """
    found = flow.opened_candidate(candidate)
    if found is None or found.user_id != actor.user_id:
        raise Conflict("invariant_violation", messages.NOT_STARTED_HERE)
    credentials.lock_exclusive(actor.id)
    acquire(Lock.IDENTITIES)
    if find(found.issuer, found.subject) is not None:
        raise Conflict("invariant_violation", messages.ALREADY_LINKED)
    if len(list_own(actor)) >= MAX_IDENTITIES:
        raise Conflict("invariant_violation", messages.REMOVE_A_LOGIN_FIRST)
    add(actor, actor.id, found.issuer, found.subject, found.name)


@operation(Access.HUMAN)
def list_own(actor: Actor) -> Sequence[ProviderIdentity]:
    """The accounts that log the person in, oldest first."""
    statement = (
        select(ProviderIdentity)
        .where(ProviderIdentity.user_id == actor.id)
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
    own = {one.id: one for one in list_own(actor)}
    identity = own.get(identifier or "")
    if identity is None:
        raise NotFound("identity", identity_id)
    user = session.get_one(User, actor.id)
    if len(own) == 1 and (user.password_hash is None or not settings.password_login):
        raise Conflict("invariant_violation", messages.ONLY_WAY_TO_LOG_IN)
    of_it = delete(UserSession).where(
        UserSession.identity_id == identity.id, UserSession.id != actor.session_id
    )
    for _ in session.scalars(of_it.returning(UserSession.id)).all():
        sessions.record_logout(actor)
    session.delete(identity)
    session.flush()
    record(actor, "user.identity_unlinked", Target("user", actor.id), username=actor.username)
