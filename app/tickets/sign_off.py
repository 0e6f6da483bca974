"""Sign-off: if a project requires it, only people move tickets into a state of category done.

Every verb that gives a live ticket such a state calls ``check_done``: create, move and restore.
"""

from typing import TypedDict

from app.core.actor import Actor
from app.core.errors import Forbidden
from app.database.session import by_id
from app.projects import loaders as projects
from app.projects.loaders import SeenProject
from app.projects.models import WorkflowState
from app.tickets.read import StateSummary, state_summary


class SignOffRule(TypedDict, total=False):
    """The rule that people sign off, and where tickets wait for them; part of tools' answers."""

    sign_off: bool
    review_state: StateSummary | None


def check_done(actor: Actor, into: str | SeenProject) -> None:
    """Raise Forbidden ``sign_off_required`` if only a person may close tickets of this project."""
    if not actor.is_bot:
        return
    project = projects.writable(actor, into)
    rule = sign_off_rule(sign_off=project.sign_off, review_state_id=project.review_state_id)
    if rule:
        raise Forbidden("sign_off_required", review_state=rule["review_state"])


def sign_off_rule(*, sign_off: bool, review_state_id: str | None) -> SignOffRule:
    """The rule of a project with these fields; empty if bots may close tickets too."""
    if not sign_off:
        return {}
    state = by_id(WorkflowState, review_state_id) if review_state_id else None
    summary = state_summary(state.id, state.name, state.category) if state else None
    return {"sign_off": True, "review_state": summary}
