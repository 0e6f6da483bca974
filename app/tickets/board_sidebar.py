"""What stands around the cards of a board or a list: labels, saved views, and everyone's names."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import bindparam, func, literal, select, union_all

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.database.columns import Id
from app.database.session import AnyRow, Prepared
from app.projects.models import Label
from app.tickets.models import SavedView
from app.tickets.read import LabelSummary


@dataclass(frozen=True, slots=True)
class BoardSidebar:
    """What stands around the cards of a board or a list: labels by name, and saved views."""

    labels: list[LabelSummary]
    views: list[dict[str, str]]


@lru_cache
def _load(everywhere: bool) -> Prepared:
    of_project = (
        SavedView.project_id.is_(None)
        if everywhere
        else SavedView.project_id == bindparam("project_id", type_=Id())
    )
    views = select(
        literal("view").label("kind"),
        SavedView.id,
        SavedView.name,
        SavedView.query.label("more"),
        SavedView.name.label("place"),
    ).where(SavedView.user_id == bindparam("user_id"), of_project)
    labels = select(literal("label"), Label.id, Label.name, Label.color, Label.name_key)
    if everywhere:
        first = select(func.min(Label.name_key)).group_by(Label.color)
        labels = labels.where(Label.name_key.in_(first))
    else:
        labels = labels.where(Label.project_id == bindparam("project_id", type_=Id()))
    return Prepared(union_all(views, labels))


def board_sidebar(project_id: str | None, user_id: str) -> BoardSidebar:
    """The project's labels (of all projects: one a colour), and this person's views, by name."""
    project = {} if project_id is None else {"project_id": project_id}
    rows = _load(project_id is None).all(user_id=user_id, **project)
    rows = sorted(rows, key=lambda row: (row.place.casefold(), row.id))
    return BoardSidebar(
        [{"id": r.id, "name": r.name, "color": r.more} for r in rows if r.kind == "label"],
        [{"id": r.id, "name": r.name, "query": r.more} for r in rows if r.kind == "view"],
    )


_ALL_USERS = Prepared(
    select(
        User.id, User.type, User.username, User.display_name, User.is_active, User.project_ids
    ).order_by(User.type.desc(), User.display_name)
)


def all_users() -> Sequence[AnyRow]:
    """Everyone, people before bots, by name."""
    return _ALL_USERS.all()


def summaries(users: Iterable[AnyRow]) -> dict[str, UserSummary]:
    """Summaries by id."""
    return {row.id: user_summary(row.id, row.type, row.username, row.display_name) for row in users}
