"""The surroundings of a board or a list: labels, users, and saved views with their verbs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import bindparam, func, literal, select, union_all

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField, NotFound
from app.database.columns import Id
from app.database.session import AnyRow, Prepared, by_id, session
from app.projects.loaders import SeenProject
from app.projects.models import Label
from app.tickets.models import SavedView
from app.tickets.read import LabelSummary

NAME_LENGTH = 80
QUERY_LENGTH = 2000
MOST_VIEWS = 50


@dataclass(frozen=True, slots=True)
class BoardSidebar:
    labels: list[LabelSummary]
    views: list[dict[str, str]]


@lru_cache
def _statement(everywhere: bool) -> Prepared:
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
        SavedView.name.label("position"),
    ).where(SavedView.user_id == bindparam("user_id"), of_project)
    labels = select(literal("label"), Label.id, Label.name, Label.color, Label.name_key)
    if everywhere:
        first = select(func.min(Label.name_key)).group_by(Label.color)
        labels = labels.where(Label.name_key.in_(first))
    else:
        labels = labels.where(Label.project_id == bindparam("project_id", type_=Id()))
    return Prepared(union_all(views, labels))


def board_sidebar(project_id: str | None, user_id: str) -> BoardSidebar:
    """The project's labels and this person's views, by name.

    Without a project, there is one label of each colour, and the views of the cross-project pages.
    """
    project = {} if project_id is None else {"project_id": project_id}
    rows = _statement(project_id is None).all(user_id=user_id, **project)
    rows = sorted(rows, key=lambda row: (row.position.casefold(), row.id))
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
    """All users, inactive ones too: people before bots, by name."""
    return _ALL_USERS.all()


def summaries(users: Iterable[AnyRow]) -> dict[str, UserSummary]:
    return {row.id: user_summary(row.id, row.type, row.username, row.display_name) for row in users}


@operation(Access.HUMAN)
def save_view(actor: Actor, project: SeenProject | None, *, name: str, query: str) -> SavedView:
    """Save a query string under a name; a view of the same name is replaced.

    Raises InvalidField for a name or query that does not fit, and for one view too many.
    """
    name = text.line(name, "name", NAME_LENGTH)
    query = urlencode(parse_qsl(query[: 2 * QUERY_LENGTH].lstrip("?")))
    if len(query) > QUERY_LENGTH:
        raise InvalidField("query", "too_long", "So many filters cannot be saved.")
    of_project = (
        SavedView.project_id.is_(None) if project is None else SavedView.project_id == project.id
    )
    # Concurrent saves of one person wait for each other: the second finds the row of the first.
    session.execute(select(User.id).where(User.id == actor.id).with_for_update())
    mine = select(SavedView).where(SavedView.user_id == actor.id, of_project)
    view = session.scalars(mine.where(SavedView.name == name)).first()
    if view is not None:
        view.query = query
        session.flush()
        return view
    count = session.scalar(select(func.count()).select_from(mine.subquery())) or 0
    if count >= MOST_VIEWS:
        raise InvalidField("name", "too_many", f"{MOST_VIEWS} views are enough; delete one first.")
    identifier = ids.new_id()
    view = SavedView(
        id=identifier,
        user_id=actor.id,
        project_id=project.id if project else None,
        name=name,
        query=query,
        created_at=ids.created_ms(identifier),
    )
    session.add(view)
    session.flush()
    return view


@operation(Access.HUMAN)
def delete_view(actor: Actor, view_id: str) -> None:
    """Delete a view of the actor; raises NotFound for anyone else's."""
    view = by_id(SavedView, view_id)
    if view is None or view.user_id != actor.id:
        raise NotFound("saved_view", view_id)
    session.delete(view)
    session.flush()
