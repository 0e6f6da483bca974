"""What the columns of an export must hold, so that no page or verb fails on them later.

These are the JSON columns, and texts that no constraint of the database limits.
"""

from collections.abc import Callable, Mapping
from typing import Any

from app.core.clock import LATEST_MS, is_day
from app.core.ids import UUID_PATTERN
from app.exporting import messages
from app.projects.models import StateCategory
from app.tickets.models import Priority, Reaction, RelationType, TicketType
from app.webhooks.models import WebhookForm

# Raises ValueError, which names the place of the value.
Check = Callable[[str, Any], None]

# The largest of both databases.
MAX_INTEGER = (1 << 63) - 1


def _of(kind: str, fits: Callable[[Any], bool]) -> Check:
    def check(place: str, value: Any) -> None:
        if not fits(value):
            raise ValueError(messages.must_be(place, kind))

    return check


def _or_null(of_value: Check) -> Check:
    def check(place: str, value: Any) -> None:
        if value is not None:
            of_value(place, value)

    return check


def _list(of_item: Check) -> Check:
    def check(place: str, value: Any) -> None:
        if not isinstance(value, list):
            raise ValueError(messages.must_be(place, messages.AN_ARRAY))  # noqa: TRY004 - as all
        for number, item in enumerate(value):
            of_item(f"{place}[{number}]", item)

    return check


def _object(
    needed: Mapping[str, Check] | None = None,
    other: Callable[[str], Check] | None = None,
) -> Check:
    """``other`` has the check of each other field, by its name."""

    def check(place: str, value: Any) -> None:
        if not isinstance(value, dict):
            raise ValueError(messages.must_be(place, messages.AN_OBJECT))  # noqa: TRY004 - as all
        for name, of_value in (needed or {}).items():
            if name not in value:
                raise ValueError(messages.lacks_column(f"{place}.{name}"))
            of_value(f"{place}.{name}", value[name])
        if other is not None:
            for name in value.keys() - (needed or {}).keys():
                other(name)(f"{place}.{name}", value[name])

    return check


def _pair(first: Check, second: Check) -> Check:
    def check(place: str, value: Any) -> None:
        if not isinstance(value, list) or len(value) != 2:
            raise ValueError(messages.must_be(place, messages.A_PAIR))
        first(f"{place}[0]", value[0])
        second(f"{place}[1]", value[1])

    return check


def _named(checks: Mapping[str, Check]) -> Callable[[str], Check]:
    return lambda name: checks.get(name, _anything)


def _anything(_place: str, _value: Any) -> None:
    """Fields that a later or an earlier release writes are kept as they are."""


def _is_whole(value: Any) -> bool:
    return type(value) is int and 0 <= value <= MAX_INTEGER


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and 0 <= value <= MAX_INTEGER


_TEXT = _of(messages.KINDS[str], lambda value: isinstance(value, str))
_FLAG = _of(messages.KINDS[bool], lambda value: isinstance(value, bool))
_ID = _of(
    messages.A_UUID, lambda value: isinstance(value, str) and bool(UUID_PATTERN.fullmatch(value))
)
_WHOLE = _of(messages.A_COUNT, _is_whole)
_NUMBER = _of(messages.A_NUMBER, _is_number)
_MOMENT = _of(messages.MILLISECONDS, lambda value: _is_whole(value) and value <= LATEST_MS)
_DAY_OR_NULL = _or_null(_of(messages.A_DAY, lambda value: isinstance(value, str) and is_day(value)))
_IDS = _list(_ID)
_NO_PROJECT = _of(messages.OF_A_PROJECT, lambda _: False)
_STATES = _object(other=lambda name: _ID if UUID_PATTERN.fullmatch(name) else _NO_PROJECT)


def _word(*words: type[Any]) -> Check:
    known = [str(one) for kind in words for one in kind]
    return _of(messages.one_of(known), lambda value: value in known)


_EDITS = _list(_object({"body": _TEXT, "edited_at": _MOMENT}))

# Fields of payloads and changes. Ids and lists of ids are known by their names.
_FIELDS = {
    **dict.fromkeys(
        (
            *("title", "body", "previous_body", "description", "name", "username", "slug", "url"),
            *("display_id", "source_display_id", "target_display_id", "color", "display_name"),
            *("from_state_name", "to_state_name", "assignee_username", "summary", "action"),
        ),
        _or_null(_TEXT),
    ),
    "type": _word(TicketType, RelationType),
    "priority": _word(Priority),
    "category": _word(StateCategory),
    "reaction": _word(Reaction),
    "due_date": _DAY_OR_NULL,
    "body_changed": _FLAG,
    "revision_number": _WHOLE,
    "position": _WHOLE,
    "wip_limit": _or_null(_WHOLE),
    "fields": _list(_TEXT),
    "event_types": _or_null(_list(_TEXT)),
    # Here with times in words.
    "edit_history": _list(_object({"body": _TEXT})),
    "on_merge": _or_null(_STATES),
}


def _of_field(name: str) -> Check:
    if name in _FIELDS:
        return _FIELDS[name]
    if name == "changes":
        return _object(other=_of_change)
    if name.endswith("_ids"):
        return _or_null(_IDS)
    return _or_null(_ID) if name.endswith("_id") or name == "undo_of" else _anything


def _of_change(name: str) -> Check:
    return _object({"from": _of_field(name), "to": _of_field(name)})


_RELATION = "type source_ticket_id target_ticket_id source_display_id target_display_id"
_STATE = "state_id name category position"
# The fields that are read of each event of a type.
NEEDED = {
    "ticket.updated": "changes",
    "ticket.state_changed": "from_state_id from_state_name to_state_id to_state_name",
    "ticket.assigned": "from_user_id assignee_user_id assignee_username",
    "ticket.watcher_added": "user_id username",
    "ticket.watcher_removed": "user_id username",
    "ticket.relation_added": _RELATION,
    "ticket.relation_removed": _RELATION,
    "ticket.link_added": "url title kind",
    "ticket.link_removed": "url title kind",
    "comment.created": "comment_id body",
    "comment.updated": "comment_id body previous_body",
    "comment.deleted": "comment_id",
    "comment.restored": "comment_id",
    "comment.reacted": "comment_id reaction action",
    "file.added": "file_id",
    "file.deleted": "file_id",
    "wiki.updated": "body_changed revision_number",
    "sticky_note.converted": "ticket_id",
    "label.created": "label_id name color",
    "label.updated": "label_id changes",
    "label.deleted": "label_id name color",
    "workflow_state.created": _STATE,
    "workflow_state.updated": "state_id changes",
    "workflow_state.deleted": _STATE,
    "workflow_state.reordered": "state_ids",
}
_PAYLOADS = {
    event_type: _object({name: _of_field(name) for name in names.split()}, _of_field)
    for event_type, names in NEEDED.items()
}
_PAYLOAD = _object(other=_of_field)

_PAGE = _object({"page_id": _ID, "revision": _WHOLE, "changed_at": _MOMENT, "read": _WHOLE})
_UNREAD = _list(_pair(_ID, _MOMENT))
_COMMENTS = _object(
    {"count": _WHOLE, "read": _WHOLE, "unread": _UNREAD}, _named({"more_unread": _UNREAD})
)
_RECEIPT = _object(
    other=_named(
        {
            "ticket": _object({"version": _MOMENT, "read": _MOMENT}),
            "comments": _COMMENTS,
            "page": _PAGE,
            "house_rules": _PAGE,
            "known_since": _MOMENT,
            "other_readers": _IDS,
            "at": _WHOLE,
        }
    )
)
_ANSWER = _object(
    other=_named(dict.fromkeys(("ticket", "page", "house_rules"), _WHOLE) | {"comments": _IDS})
)
_USAGE = _object({"input_tokens": _WHOLE, "output_tokens": _WHOLE, "cost_usd": _NUMBER})

# By table and column.
CHECKS: dict[tuple[str, str], Check] = {
    ("audit_events", "receipt"): _or_null(_RECEIPT),
    ("code_changes", "moved_ticket_ids"): _IDS,
    ("code_changes", "ticket_ids"): _IDS,
    ("code_connections", "on_merge"): _STATES,
    ("comments", "edit_history"): _EDITS,
    ("imported_issues", "gone_files"): _or_null(_list(_TEXT)),
    ("preferences", "choices"): _object(
        other=lambda _: _of(messages.A_CHOICE, lambda value: isinstance(value, str | bool))
    ),
    ("receipt_answers", "answer"): _or_null(_ANSWER),
    ("ticket_templates", "label_ids"): _IDS,
    ("tickets", "due_date"): _DAY_OR_NULL,
    ("tool_invocations", "arguments"): _object(),
    ("tool_invocations", "usage"): _or_null(_USAGE),
    ("users", "project_ids"): _or_null(_IDS),
    ("webhooks", "event_types"): _list(_TEXT),
    ("webhooks", "form"): _word(WebhookForm),
    ("webhooks", "project_ids"): _IDS,
}


def check(table: str, row: Mapping[str, Any]) -> None:
    """Check a row's values; raises ValueError, which names the field."""
    for name, value in row.items():
        of_column = CHECKS.get((table, name))
        if of_column is not None:
            of_column(name, value)
    if table == "audit_events":
        _PAYLOADS.get(row["event_type"], _PAYLOAD)("payload", row["payload"])
