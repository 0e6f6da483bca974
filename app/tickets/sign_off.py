"""Sign-off: where a project asks for it, only people put tickets into a state of category done.

All that gives a live ticket a state calls ``check_entry``: creating, moving and restoring it.
"""

from typing import TypedDict

from sqlalchemy import bindparam, select

from app.core.actor import Actor
from app.core.errors import Forbidden
from app.database.session import Prepared, by_id
from app.projects.models import Project, StateCategory, WorkflowState
from app.tickets.read import StateSummary, state_summary


class SignOffRule(TypedDict, total=False):
    """That people sign off, and where tickets wait for them; merged into answers of tools."""

    sign_off: bool
    review_state: StateSummary | None


_PROJECT = Prepared(
    select(Project.sign_off, Project.review_state_id).where(Project.id == bindparam("project_id"))
)


def check_entry(actor: Actor, project_id: str, category: str) -> None:
    """Raise Forbidden ``sign_off_required`` if only a person may put a ticket there."""
    if not actor.is_bot or category != StateCategory.DONE:
        return
    row = _PROJECT.first(project_id=project_id)
    rule = rule_of(sign_off=row.sign_off, review_state_id=row.review_state_id)
    if rule:
        raise Forbidden("sign_off_required", review_state=rule["review_state"])


def rule_of(*, sign_off: bool, review_state_id: str | None) -> SignOffRule:
    """The rule of a project with these fields; nothing where bots too may close tickets."""
    if not sign_off:
        return {}
    state = by_id(WorkflowState, review_state_id) if review_state_id else None
    told = state_summary(state.id, state.name, state.category) if state else None
    return {"sign_off": True, "review_state": told}
