"""Values that changed after an event, in words."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts.models import User
from app.core.ids import as_uuid
from app.database.session import session
from app.projects.models import WorkflowState
from app.text.diff import Diff, compare
from app.tickets import stream_queries
from app.tickets.fields import FIELDS
from app.undo import messages
from app.undo.plans import Difference
from app.web.filters import day

LABELS = {field.name: field.label for field in FIELDS} | {
    "body": messages.TEXT,
    "name": messages.NAME,
    "description": messages.DESCRIPTION,
    "owner_user_id": messages.OWNER,
    "sign_off": messages.SIGN_OFF,
    "review_state_id": messages.REVIEW_STATE,
    "bot_creation_limit": messages.LIMIT_FOR_BOTS,
    "type": messages.TYPE,
    "wip_limit": messages.LIMIT,
    "color": messages.COLOR,
    "category": messages.CATEGORY,
    "tickets": messages.TICKETS,
    "state_ids": messages.ORDER,
    "query": messages.FILTERS,
}
NOTHING = "nothing"
# The maximum length of a text that a tool shows.
VALUE_LENGTH = 1000


@dataclass(frozen=True, slots=True)
class UndoChoice:
    """A value that changed later, in words; for texts, the diff that undo would apply."""

    name: str
    now: str
    back: str
    diff: Diff | None = None


def choices(differences: Iterable[Difference]) -> list[UndoChoice]:
    """The differences for a page; needs a unit of work."""
    shown = [one for one in differences if one.field in LABELS]
    names = _names(side for one in shown for side in (one.back, one.now))
    return [_choice(one, names) for one in shown]


def values(differences: Iterable[Difference]) -> list[dict[str, Any]]:
    """The differences for a tool: the field, its value ``now`` and the one ``before`` the event.

    Ids are replaced by names (of users: usernames), and long texts are cut. Needs a unit of work.
    """
    listed = list(differences)
    names = usernames_of(side for one in listed for side in (one.back, one.now))
    return [
        {"field": one.field, "now": in_names(one.now, names), "before": in_names(one.back, names)}
        for one in listed
    ]


def usernames_of(values: Iterable[Any]) -> dict[str, str]:
    """The names by id of the objects among the values, in a tool's form: usernames for users."""
    names = _names(values)
    usernames = select(User.id, User.username).where(User.id.in_(names))
    return names | {row.id: row.username for row in session.execute(usernames)}


def _names(values: Iterable[Any]) -> dict[str, str]:
    """The names of the users, labels, tickets and states among the values, by id."""
    ids = {
        one
        for value in values
        for one in (value if isinstance(value, list) else [value])
        if isinstance(one, str) and as_uuid(one)
    }
    names = stream_queries.names_of(ids)
    rows = session.execute(
        select(WorkflowState.id, WorkflowState.name).where(WorkflowState.id.in_(ids))
    )
    return names | {row.id: row.name for row in rows}


def in_names(value: Any, names: Mapping[str, str]) -> Any:
    """The value with names in place of ids; a long text is cut."""
    if isinstance(value, list):
        return [in_names(one, names) for one in value]
    if not isinstance(value, str):
        return value
    return names.get(value, value if len(value) <= VALUE_LENGTH else f"{value[:VALUE_LENGTH]}…")


def _choice(difference: Difference, names: dict[str, str]) -> UndoChoice:
    field, now, back = difference.field, difference.now, difference.back
    if field == "body":
        return UndoChoice(LABELS[field], "", "", compare(now or "", back or ""))
    return UndoChoice(LABELS[field], _in_words(field, now, names), _in_words(field, back, names))


def _in_words(field: str, value: Any, names: dict[str, str]) -> str:
    if value is None:
        return NOTHING
    if field == "due_date":
        return day(value)
    if isinstance(value, list):
        return ", ".join(names.get(one) or one for one in value)
    return names.get(value, str(value))
