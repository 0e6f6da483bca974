"""The surroundings of a board or a list: labels, users and saved views."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from sqlalchemy import bindparam, false, func, literal, null, or_, select, union_all

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.database.columns import Id
from app.database.session import AnyRow, Prepared
from app.projects.models import Label
from app.tickets.models import SavedView
from app.tickets.read import LabelSummary


@dataclass(frozen=True, slots=True)
class BoardSidebar:
    labels: list[LabelSummary]
    # The reader's own views, and those that others share.
    views: list[dict[str, Any]]


@lru_cache
def _statement(is_cross_project: bool) -> Prepared:
    of_project = (
        SavedView.project_id.is_(None)
        if is_cross_project
        else SavedView.project_id == bindparam("project_id", type_=Id())
    )
    views = select(
        literal("view").label("kind"),
        SavedView.id,
        SavedView.name,
        SavedView.query.label("more"),
        SavedView.name.label("position"),
        SavedView.user_id,
        SavedView.is_shared,
    ).where(or_(SavedView.user_id == bindparam("user_id"), SavedView.is_shared), of_project)
    labels = select(
        literal("label"), Label.id, Label.name, Label.color, Label.name_key, null(), false()
    )
    if is_cross_project:
        first = select(func.min(Label.name_key)).group_by(Label.color)
        labels = labels.where(Label.name_key.in_(first))
    else:
        labels = labels.where(Label.project_id == bindparam("project_id", type_=Id()))
    return Prepared(union_all(views, labels))


def board_sidebar(project_id: str | None, user_id: str) -> BoardSidebar:
    """The project's labels, and the views of this person and of the project, by name.

    Without a project, there is one label of each color, and the views of the cross-project pages.
    """
    project = {} if project_id is None else {"project_id": project_id}
    rows = _statement(project_id is None).all(user_id=user_id, **project)
    rows = sorted(rows, key=lambda row: (row.position.casefold(), row.id))
    return BoardSidebar(
        [{"id": r.id, "name": r.name, "color": r.more} for r in rows if r.kind == "label"],
        [
            {
                "id": row.id,
                "name": row.name,
                "query": row.more,
                "user_id": row.user_id,
                "is_shared": bool(row.is_shared),
                "is_mine": row.user_id == user_id,
            }
            for row in rows
            if row.kind == "view"
        ],
    )


_ALL_USERS = Prepared(
    select(
        User.id, User.type, User.username, User.display_name, User.is_active, User.project_ids
    ).order_by(User.type.desc(), func.lower(User.display_name), User.id)
)


def all_users() -> Sequence[AnyRow]:
    """All users, inactive ones too: people before bots, by name."""
    return _ALL_USERS.all()


def summaries(users: Iterable[AnyRow]) -> dict[str, UserSummary]:
    return {row.id: user_summary(row.id, row.type, row.username, row.display_name) for row in users}
