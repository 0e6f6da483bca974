"""The blueprint of the ticket pages, and helpers that several of them share."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from flask import Blueprint, Response

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import AnyRow
from app.projects import service as projects
from app.tickets import loaders, trees
from app.tickets.fields import FIELDS
from app.tickets.messages import STATE_DELETED
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import messages
from app.web.filters import number
from app.web.guard import actor
from app.web.render import page

Options = list[tuple[str, str]]

pages = Blueprint("tickets_pages", __name__)

# Labels of the fields of a ticket, by their names in pages.
FIELD_LABELS = {field.page_name: field.label for field in FIELDS if field.page_name}
MAX_PROJECTS = 200


def words(values: Sequence[str]) -> Options:
    return [(value, value.capitalize()) for value in values]


def assignable(users: Iterable[AnyRow], project_id: str | None) -> list[AnyRow]:
    """The active users that see the project (without one, all active users); the reader first."""
    return _reader_first(user for user in users if _is_assignable(user, project_id))


def _is_assignable(user: AnyRow, project_id: str | None) -> bool:
    is_fenced = user.type == "bot" and bool(user.project_ids)
    sees = not is_fenced or project_id is None or project_id in user.project_ids
    return bool(user.is_active) and sees


def _reader_first(users: Iterable[AnyRow]) -> list[AnyRow]:
    me = actor().id
    return sorted(users, key=lambda user: user.id != me)


def user_options(
    users: Iterable[AnyRow], project_id: str | None, chosen: Collection[str] = ()
) -> Options:
    """Options of the assignable users and the ``chosen`` ones: the reader, people, then bots."""
    offered = (user for user in users if user.id in chosen or _is_assignable(user, project_id))
    return [(user.id, _name(user)) for user in _reader_first(offered)]


def _name(user: AnyRow) -> str:
    if user.id == actor().id:
        return messages.named(user.display_name, "me")
    if not user.is_active:
        return messages.named(user.display_name, messages.DEACTIVATED)
    is_bot = user.type == "bot"
    return messages.named(user.display_name, "bot") if is_bot else user.display_name


# What pages say where the message of REST names a field, by field and reason.
_PAGE_WORDS = {
    ("body", "blank"): messages.WRITE_A_COMMENT,
    ("comment", "blank"): messages.WRITE_A_COMMENT,
    ("state_id", "not_found"): STATE_DELETED,
}


@contextmanager
def in_page_words() -> Iterator[None]:
    """Refusals of a comment or a state in the words of pages."""
    try:
        yield
    except InvalidField as error:
        details = error.details or {}
        words = _PAGE_WORDS.get((details["field"], details["reason"]))
        if words is None:
            raise
        raise InvalidField(details["field"], details["reason"], words) from error


def open_below_text(ticket_ids: Collection[str]) -> str:
    """A sentence about open children of the done ones among these tickets; empty if there are none.

    Needs a unit of work.
    """
    count = trees.open_below(ticket_ids)
    if not count:
        return ""
    return messages.open_below(count, number(count))


def projects_shown() -> list[dict[str, Any]]:
    """The newest projects that the reader sees; needs a unit of work."""
    found: list[dict[str, Any]] = projects.list_projects(
        actor(), limit=MAX_PROJECTS, cursor=None
    ).data
    return found


def id_of_number(person: Actor, number: str, field: str) -> str:
    """The id of the ticket with a typed display id; raises InvalidField for the field."""
    ticket = loaders.named_in_body(person, number.strip().upper())
    if ticket is None:
        raise InvalidField(field, "not_found", messages.ticket_not_found(number.strip()))
    return ticket.id


def ticket_page(
    template: str, subject: TicketPageData, *, block: str = "sheet", **context: Any
) -> Response:
    """A page about a ticket, or only the block of it for htmx."""
    return page(template, block=block, project=subject.project, ticket=subject.ticket, **context)
