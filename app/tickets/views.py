"""Saved views: a person's names for filters of a board or list, of one project or of all."""

from urllib.parse import parse_qsl, urlencode

from sqlalchemy import func, select

from app.accounts.models import User
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.errors import InvalidField, NotFound
from app.database.session import by_id, session
from app.projects.loaders import SeenProject
from app.tickets.models import SavedView

NAME_LENGTH = 80
QUERY_LENGTH = 2000
MOST_VIEWS = 50


@operation(Access.HUMAN)
def save_view(actor: Actor, project: SeenProject | None, *, name: str, query: str) -> SavedView:
    """Save what an address shows; a view of the same name is replaced.

    Raises InvalidField for a name or query that is blank, too long, or one too many.
    """
    name = text.line(name, "name", NAME_LENGTH)
    query = urlencode(parse_qsl(query[: 2 * QUERY_LENGTH].lstrip("?")))
    if len(query) > QUERY_LENGTH:
        raise InvalidField("query", "too_long", "So many filters cannot be saved.")
    of_project = (
        SavedView.project_id.is_(None) if project is None else SavedView.project_id == project.id
    )
    # Of two saves at once the second finds what the first made.
    session.execute(select(User.id).where(User.id == actor.id).with_for_update())
    mine = select(SavedView).where(SavedView.user_id == actor.id, of_project)
    view = session.scalars(mine.where(SavedView.name == name)).first()
    if view is not None:
        view.query = query
        session.flush()
        return view
    held = session.scalar(select(func.count()).select_from(mine.subquery())) or 0
    if held >= MOST_VIEWS:
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
    """Delete one of one's own views; raises NotFound for any other."""
    view = by_id(SavedView, view_id)
    if view is None or view.user_id != actor.id:
        raise NotFound("saved_view", view_id)
    session.delete(view)
    session.flush()
