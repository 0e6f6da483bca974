"""The orders and groups of lists on pages, and the cursors of their pages."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from sqlalchemy import (
    BigInteger,
    ColumnElement,
    Text,
    and_,
    bindparam,
    case,
    func,
    literal,
    or_,
    select,
)

from app.accounts.models import User
from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.columns import Id, shared_alias
from app.database.pagination import content_of, opaque
from app.projects.models import Label, StateCategory, WorkflowState
from app.tickets import messages
from app.tickets.discussion import LAST_ACTIVITY_AT
from app.tickets.models import (
    DUE_DATE_OR_LAST,
    LEVEL_OF_PRIORITY,
    NO_DUE_DATE,
    Ticket,
    TicketLabel,
    TicketType,
)

# The longest names and titles take 3,362: six bytes for each character, in base64.
CURSOR_LENGTH = 3500
_SORT_VALUE_LIMIT = 1 << 53
# Sorts after every id.
LAST_ID = "ffffffff-ffff-ffff-ffff-ffffffffffff"


@dataclass(frozen=True, slots=True)
class OrderKey:
    """A part of an order: an expression that is never null, and the type of its values."""

    expression: Any
    type: Literal["number", "text", "id"] = "number"
    is_ascending: bool = True

    @property
    def sql_type(self) -> Any:
        return {"number": BigInteger(), "text": Text(), "id": Id()}[self.type]

    def is_value(self, value: Any) -> bool:
        """Whether a value from a cursor may be compared with this part."""
        if self.type == "number":
            return type(value) is int and -_SORT_VALUE_LIMIT < value < _SORT_VALUE_LIMIT
        if not isinstance(value, str) or "\0" in value:
            return False
        return self.type == "text" or UUID_PATTERN.fullmatch(value) is not None


@dataclass(frozen=True, slots=True)
class Sort:
    """An order of a list. A menu shows ``text``; the head of ``column`` links to it."""

    name: str
    column: str
    text: str
    key: OrderKey
    # The key across projects, if it differs.
    key_of_all: OrderKey | None = None
    # Whether an index has this order in a project, and across projects.
    is_indexed: bool = False
    is_indexed_for_all: bool = False
    # Ranks and numbers only compare tickets of one project.
    is_for_all: bool = True
    # If the index has the last tickets first: conditions for those before them, and for them.
    stretches: tuple[ColumnElement[bool], ...] = ()

    def keys(self, *, is_cross_project: bool) -> tuple[OrderKey, ...]:
        """The parts of the order; the last is the id, as in the index, or newest first.

        If there are stretches, the first part is the number of the ticket's stretch.
        """
        key = self.key_of_all if is_cross_project and self.key_of_all else self.key
        own = (key, OrderKey(Ticket.id, "id", is_ascending=self.is_indexed and key.is_ascending))
        if not self.stretches:
            return own
        numbers = [(condition, number) for number, condition in enumerate(self.stretches)]
        return (OrderKey(case(*numbers)), *own)

    def has_index(self, *, is_cross_project: bool) -> bool:
        return self.is_indexed_for_all if is_cross_project else self.is_indexed

    def reversed(self, name: str, text: str) -> "Sort":
        of_all = self.key_of_all
        return replace(
            self,
            name=name,
            text=text,
            key=replace(self.key, is_ascending=not self.key.is_ascending),
            key_of_all=of_all and replace(of_all, is_ascending=not of_all.is_ascending),
        )


_category: Any = case(
    {str(category): number for number, category in enumerate(StateCategory)},
    value=WorkflowState.category,
    else_=9,
)


def _or_last(name: Any) -> Any:
    """A name to sort by; rows without a name come last."""
    return func.coalesce(literal("0", Text()) + name, "1")


_assignee_name = _or_last(
    select(func.lower(User.display_name))
    .where(User.id == Ticket.assignee_user_id)
    .correlate(Ticket)
    .scalar_subquery()
)
_first_label = _or_last(
    select(func.min(Label.name_key))
    .select_from(TicketLabel)
    .join(Label, Label.id == TicketLabel.label_id)
    .where(TicketLabel.ticket_id == Ticket.id)
    .correlate(Ticket)
    .scalar_subquery()
)
_last_id: Any = literal(LAST_ID, Id())
_Above = shared_alias(Ticket, "above")
# The epic that the ticket is or belongs to.
EPIC_ID: Any = case(
    (Ticket.type == TicketType.EPIC.value, Ticket.id),
    else_=select(
        case((_Above.type == TicketType.EPIC.value, _Above.id), else_=_Above.parent_ticket_id)
    )
    .where(_Above.id == Ticket.parent_ticket_id)
    .correlate(Ticket)
    .scalar_subquery(),
)
_position = OrderKey(WorkflowState.position)
_by_category = OrderKey(_category)


def _both(sort: Sort, *, back: str, text: str) -> tuple[Sort, Sort]:
    return sort, sort.reversed(back, text)


_CREATED = Sort(
    "created",
    "created",
    messages.NEWEST,
    OrderKey(Ticket.created_at, is_ascending=False),
    is_indexed=True,
    is_indexed_for_all=True,
)
_UPDATED = Sort(
    "updated",
    "updated",
    messages.RECENTLY_UPDATED,
    OrderKey(Ticket.updated_at, is_ascending=False),
    is_indexed=True,
    is_indexed_for_all=True,
)
_ACTIVE = Sort(
    "active",
    "active",
    messages.RECENTLY_ACTIVE,
    OrderKey(LAST_ACTIVITY_AT, is_ascending=False),
    is_indexed=True,
    is_indexed_for_all=True,
)
_RANK = Sort(
    "rank",
    "rank",
    messages.MANUAL_ORDER,
    OrderKey(Ticket.rank, "text"),
    is_indexed=True,
    is_for_all=False,
)
_NUMBER = Sort("number", "id", messages.NUMBER, OrderKey(Ticket.ticket_number), is_for_all=False)
_TITLE = Sort("title", "title", messages.TITLE, OrderKey(func.lower(Ticket.title), "text"))
_STATE = Sort("state", "state", messages.STATE, _position, _by_category)
_PRIORITY = Sort(
    "priority",
    "priority",
    messages.PRIORITY,
    OrderKey(LEVEL_OF_PRIORITY),
    is_indexed=True,
    is_indexed_for_all=True,
)
_ASSIGNEE = Sort("assignee", "assignee", messages.ASSIGNEE, OrderKey(_assignee_name, "text"))
_PARENT = Sort(
    "parent",
    "parent",
    messages.PARENT,
    OrderKey(func.coalesce(Ticket.parent_ticket_id, _last_id), "id"),
)
# Tickets without a date come last in both directions.
_DUE = Sort(
    "due",
    "due",
    messages.DUE_DATE,
    OrderKey(DUE_DATE_OR_LAST, "text"),
    is_indexed=True,
    is_indexed_for_all=True,
)
_LATEST_DUE = replace(
    _DUE.reversed("-due", messages.LATEST_DUE_FIRST),
    stretches=(DUE_DATE_OR_LAST < NO_DUE_DATE, DUE_DATE_OR_LAST >= NO_DUE_DATE),
)

SORTS = {
    sort.name: sort
    for pair in (
        _both(_CREATED, back="oldest", text=messages.OLDEST),
        _both(_UPDATED, back="stale", text=messages.LEAST_RECENTLY_UPDATED),
        _both(_ACTIVE, back="quiet", text=messages.LEAST_RECENTLY_ACTIVE),
        _both(_RANK, back="-rank", text=messages.MANUAL_ORDER_REVERSED),
        _both(_PRIORITY, back="-priority", text=messages.PRIORITY_LOW_FIRST),
        (_DUE, _LATEST_DUE),
        _both(_STATE, back="-state", text=messages.STATE_LAST_FIRST),
        _both(_ASSIGNEE, back="-assignee", text=messages.ASSIGNEE_Z_TO_A),
        _both(_NUMBER, back="-number", text=messages.NUMBER_HIGHEST_FIRST),
        _both(_TITLE, back="-title", text=messages.TITLE_Z_TO_A),
        _both(_PARENT, back="-parent", text=messages.PARENT_REVERSED),
    )
    for sort in pair
}
NEWEST = SORTS["created"]
# The orders in the menu; the other orders are in the heads of columns.
IN_MENU = (
    "created",
    "oldest",
    "updated",
    "stale",
    "active",
    "rank",
    "priority",
    "due",
    "state",
    "assignee",
)

# Groups by name: the parts of the order that come first.
GROUPS: dict[str, tuple[OrderKey, ...]] = {
    "state": (_position,),
    "assignee": (
        OrderKey(_assignee_name, "text"),
        OrderKey(func.coalesce(Ticket.assignee_user_id, _last_id), "id"),
    ),
    "priority": (OrderKey(LEVEL_OF_PRIORITY),),
    "epic": (OrderKey(func.coalesce(EPIC_ID, _last_id), "id"),),
    "label": (OrderKey(_first_label, "text"),),
}
GROUPS_OF_ALL = {**GROUPS, "state": (_by_category,)}
del GROUPS_OF_ALL["label"]


def groups_of(*, is_cross_project: bool) -> dict[str, tuple[OrderKey, ...]]:
    """The groups that a list offers; a label belongs to one project."""
    return GROUPS_OF_ALL if is_cross_project else GROUPS


# -- cursors -------------------------------------------------------------------------------------


def encode(kind: str, values: Sequence[Any]) -> str:
    """The text of a cursor: a list of its kind and values."""
    return opaque([kind, *values])


def decode(cursor: str, kind: str, keys: Sequence[OrderKey]) -> list[Any]:
    """The values of a cursor; raises InvalidField (400) unless it is one of this kind."""
    try:
        content = content_of(cursor, CURSOR_LENGTH)
        found_kind, values = content[0], list(content[1:])
        fits = [key.is_value(value) for key, value in zip(keys, values, strict=True)]
        if found_kind != kind or not all(fits):
            raise ValueError("a cursor of another list")
    except (ValueError, LookupError, TypeError) as error:
        message = messages.CURSOR_OF_ANOTHER_LIST
        raise InvalidField("cursor", "malformed", message, status=400) from error
    return values


def turned(keys: Sequence[OrderKey]) -> list[OrderKey]:
    """The opposite order."""
    return [replace(key, is_ascending=not key.is_ascending) for key in keys]


def order_by(keys: Sequence[OrderKey]) -> list[Any]:
    return [key.expression if key.is_ascending else key.expression.desc() for key in keys]


def after(keys: Sequence[OrderKey], values: Sequence[Any]) -> ColumnElement[bool]:
    """The tickets after these values in an order; the outermost condition lets an index seek."""
    condition: ColumnElement[bool] | None = None
    for number, (key, value) in reversed(list(enumerate(zip(keys, values, strict=True)))):
        limit = bindparam(f"after_{number}", value, type_=key.sql_type)
        column = key.expression
        beyond = column > limit if key.is_ascending else column < limit
        if condition is None:
            condition = beyond
        else:
            at_least = column >= limit if key.is_ascending else column <= limit
            condition = and_(at_least, or_(beyond, condition))
    return literal(value=True) if condition is None else condition


def stretches(
    sort: Sort, keys: Sequence[OrderKey], position: Sequence[Any] | None, *, backwards: bool
) -> Iterator[tuple[list[ColumnElement[bool]], Sequence[OrderKey]]]:
    """The stretches to read beyond a position, one after the other: conditions, and their order."""
    if not sort.stretches:
        yield ([] if position is None else [after(keys, position)]), keys
        return
    numbered = list(enumerate(sort.stretches))
    for number, stretch in reversed(numbered) if backwards else numbered:
        if position is None or (number < position[0] if backwards else number > position[0]):
            yield [stretch], keys[1:]
        elif number == position[0]:
            yield [stretch, after(keys[1:], position[1:])], keys[1:]


def columns_of(keys: Sequence[OrderKey], table: Any) -> list[OrderKey]:
    """The same order over a subquery that selects the parts as ``key_0``, ``key_1``..."""
    return [replace(key, expression=table.c[f"key_{number}"]) for number, key in enumerate(keys)]


def selected(keys: Sequence[OrderKey]) -> list[Any]:
    return [key.expression.label(f"key_{number}") for number, key in enumerate(keys)]
