"""Letting one bot into one project, or out of it: a change of its allowlist, with its event."""

from app.bots import service
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict
from app.projects import loaders


@operation(Access.HUMAN)
def let_in(actor: Actor, bot_id: str, project_id: str) -> None:
    """Add a project to a bot's allowlist; one that reaches every project stays as it is.

    Raises NotFound, Gone, and InvalidField where the list is full.
    """
    project = loaders.visible(actor, project_id)
    listed = _listed(actor, bot_id)
    if listed:
        service.update_bot(actor, bot_id, project_ids=[*listed, project.id])


@operation(Access.HUMAN)
def shut_out(actor: Actor, bot_id: str, project_id: str) -> None:
    """Take a project off a bot's allowlist; again is no error.

    An empty list admits every project, so the last one stays: raises Conflict
    ``invariant_violation``, also for a bot that has no list. Raises NotFound and Gone.
    """
    project = loaders.visible(actor, project_id)
    listed = _listed(actor, bot_id)
    left = [one for one in listed if one != project.id]
    if not left:
        raise Conflict(
            "invariant_violation",
            "Without this project its list would be empty, which means every project. "
            "Let it into another one first, or deactivate it.",
        )
    service.update_bot(actor, bot_id, project_ids=left)


def _listed(actor: Actor, bot_id: str) -> list[str]:
    """The allowlist, which nobody else changes until this is done: a change of nothing holds it."""
    return list(service.update_bot(actor, bot_id).user.project_ids or [])
