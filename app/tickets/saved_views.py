"""Saved views: names for query strings of boards and lists, of one person or of a whole project.

A private view records no event. A change to a shared view is recorded as one of the project.
"""

from typing import Any
from urllib.parse import parse_qsl, urlencode

from sqlalchemy import func, select

from app.accounts.models import User
from app.audit.service import record
from app.core import ids, text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.session import session
from app.projects import loaders
from app.projects.loaders import SeenProject
from app.tickets import messages
from app.tickets.models import SavedView

NAME_LENGTH = 80
QUERY_LENGTH = 2000
MAX_VIEWS = 50
# The name of shared views in the changes of an event.
CHANGED = "views"


def _recorded(view: SavedView) -> dict[str, Any] | None:
    """A view as an event records it; None for a private one."""
    if not view.is_shared:
        return None
    return {name: getattr(view, name) for name in ("id", "name", "query", "user_id")}


def _record(
    actor: Actor, project_id: str | None, before: dict[str, Any] | None, view: SavedView | None
) -> None:
    after = _recorded(view) if view is not None else None
    if project_id is not None and before != after:
        target = loaders.target(loaders.visible(actor, project_id))
        change = {CHANGED: {"from": before, "to": after}}
        record(actor, "project.updated", target, changes=change)


def _checked(query: str) -> str:
    query = urlencode(parse_qsl(query[: 2 * QUERY_LENGTH].lstrip("?")))
    if len(query) > QUERY_LENGTH:
        raise InvalidField("query", "too_long", messages.VIEW_TOO_LONG)
    return query


@operation(Access.HUMAN)
def save_view(
    actor: Actor, project: SeenProject | None, *, name: str, query: str, is_shared: bool = False
) -> SavedView:
    """Save a query string under a name; a view with the same name is replaced.

    Only views of a project can be shared. Raises InvalidField for an invalid name or query, and for
    one view too many.
    """
    name = text.line(name, "name", NAME_LENGTH)
    query = _checked(query)
    is_shared = is_shared and project is not None
    of_project = (
        SavedView.project_id.is_(None) if project is None else SavedView.project_id == project.id
    )
    # Concurrent saves of one person are serialized: the second finds the row of the first.
    session.execute(select(User.id).where(User.id == actor.id).with_for_update())
    mine = select(SavedView).where(SavedView.user_id == actor.id, of_project)
    view = session.scalars(mine.where(SavedView.name == name)).first()
    if view is not None:
        return _change(actor, view, query=query, is_shared=is_shared)
    count = session.scalar(select(func.count()).select_from(mine.subquery())) or 0
    if count >= MAX_VIEWS:
        raise InvalidField("name", "too_many", messages.too_many_views(MAX_VIEWS))
    identifier = ids.new_id()
    view = SavedView(
        id=identifier,
        user_id=actor.id,
        project_id=project.id if project else None,
        name=name,
        query=query,
        created_at=ids.created_ms(identifier),
        is_shared=is_shared,
    )
    session.add(view)
    session.flush()
    _record(actor, view.project_id, None, view)
    return view


def _change(actor: Actor, view: SavedView, **values: Any) -> SavedView:
    before = _recorded(view)
    for name, value in values.items():
        setattr(view, name, value)
    session.flush()
    _record(actor, view.project_id, before, view)
    return view


def _changeable(actor: Actor, view_id: str) -> SavedView:
    """The actor's view, or a shared one, locked; raises NotFound for another's private view."""
    canonical = as_uuid(view_id)
    view = session.get(SavedView, canonical, with_for_update=True) if canonical else None
    if view is None or not (view.user_id == actor.id or view.is_shared):
        raise NotFound("saved_view", view_id)
    return view


@operation(Access.HUMAN)
def share_view(actor: Actor, view_id: str, *, is_shared: bool) -> SavedView:
    """Share a view of the actor with its project, or make a shared one private to its owner."""
    view = _changeable(actor, view_id)
    if view.project_id is None:
        raise InvalidField("is_shared", "no_project", messages.VIEW_OF_ALL_NOT_SHARED)
    loaders.writable(actor, view.project_id)
    return _change(actor, view, is_shared=is_shared)


@operation(Access.HUMAN)
def change_query(actor: Actor, view_id: str, query: str) -> SavedView:
    """Give a view other filters; raises NotFound and InvalidField."""
    return _change(actor, _changeable(actor, view_id), query=_checked(query))


@operation(Access.HUMAN)
def share_anew(actor: Actor, project_id: str, *, name: str, query: str) -> SavedView:
    """Share a deleted view again, as the actor's; raises Conflict if they have the name."""
    project = loaders.writable(actor, project_id)
    taken = select(SavedView.id).where(
        SavedView.user_id == actor.id,
        SavedView.project_id == project.id,
        SavedView.name == name,
    )
    if session.scalars(taken).first() is not None:
        raise Conflict("duplicate_key", loaders.name_in_use("view", name), field="name")
    return save_view(actor, project, name=name, query=query, is_shared=True)


@operation(Access.HUMAN)
def delete_view(actor: Actor, view_id: str) -> None:
    """Delete a view of the actor, or a shared one; raises NotFound for another's private view."""
    view = _changeable(actor, view_id)
    before = _recorded(view)
    session.delete(view)
    session.flush()
    _record(actor, view.project_id, before, None)
