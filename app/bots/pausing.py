"""The switch that stops every bot's writes at once, while they go on reading.

Waits for writes under way: each locks its bot's credential (``accounts/credential_lock.py``).
"""

from dataclasses import dataclass

from sqlalchemy import select

from app.accounts import credential_lock, user_refs
from app.accounts.builders import UserSummary
from app.accounts.models import User, UserType, Workspace
from app.audit.service import WORKSPACE_ID, Target, record
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.database.session import session


@dataclass(frozen=True, slots=True)
class Pause:
    """Since when bots are paused, in milliseconds, and by whom (nobody: from the command line)."""

    since: int
    by: UserSummary | None


@operation(Access.HUMAN)
def current_pause(actor: Actor) -> Pause | None:
    """The pause that lasts, if there is one."""
    row = session.execute(
        select(Workspace.bots_paused_at, Workspace.bots_paused_by_user_id)
    ).first()
    if row is None or row.bots_paused_at is None:
        return None
    by = row.bots_paused_by_user_id
    return Pause(row.bots_paused_at, user_refs.summaries([by]).get(by) if by else None)


@operation(Access.HUMAN)
def pause_bots(actor: Actor) -> None:
    """Refuse every bot's writes from now on; paused already is no error."""
    _set(actor, now_ms(), "workspace.bots_paused")


@operation(Access.HUMAN)
def resume_bots(actor: Actor) -> None:
    """Let bots write again as their modes allow; not paused is no error."""
    _set(actor, None, "workspace.bots_resumed")


def _set(actor: Actor, since: int | None, event: str) -> None:
    for bot_id in session.scalars(
        select(User.id).where(User.type == UserType.BOT.value).order_by(User.id)
    ):
        credential_lock.change(bot_id)
    workspace = session.get(Workspace, WORKSPACE_ID, with_for_update=True)
    if workspace is None:
        workspace = Workspace(id=WORKSPACE_ID)
        session.add(workspace)
    if (workspace.bots_paused_at is None) == (since is None):
        return
    workspace.bots_paused_at = since
    workspace.bots_paused_by_user_id = actor.user_id if since is not None else None
    session.flush()
    record(actor, event, Target("workspace", WORKSPACE_ID))
