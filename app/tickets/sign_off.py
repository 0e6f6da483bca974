"""Sign-off: where a project asks for it, only people put tickets into a state of category done.

All that gives a live ticket such a state calls ``check_done``: creating, moving and restoring it.
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
    """That people sign off, and where tickets wait for them; merged into answers of tools."""

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
    """The rule of a project with these fields; nothing where bots too may close tickets."""
    if not sign_off:
        return {}
    state = by_id(WorkflowState, review_state_id) if review_state_id else None
    summary = state_summary(state.id, state.name, state.category) if state else None
    return {"sign_off": True, "review_state": summary}
