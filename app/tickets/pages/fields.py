"""Editing one field of a ticket in place.

The form sends the value that it showed. If the field has another value, nothing is written, and the
reader sees the new value and decides. Concurrent changes of other fields do not conflict.
"""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.text import normalize_newlines
from app.database.session import reading
from app.http.current import today
from app.projects import labels, states
from app.rest.fields import load
from app.text.diff import Diff, compare
from app.text.merge3 import Keep, Merged, merge
from app.tickets import due_dates, listing, loaders, page_queries, service
from app.tickets.board_sidebar import all_users
from app.tickets.fields import BY_PAGE_NAME, FIELDS
from app.tickets.filters import PRIORITIES
from app.tickets.messages import NO_DUE_DATE, NO_VALUE, VALUE_OF_NOBODY
from app.tickets.models import TicketType
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import messages, show
from app.tickets.pages.blueprint import (
    FIELD_LABELS,
    assignable,
    id_of_number,
    in_page_words,
    open_below_text,
    pages,
    ticket_page,
)
from app.tickets.pages.stream import lay_out
from app.tickets.read import WITHOUT_BODY
from app.tickets.schemas import TicketPatch, Transition
from app.web.forms import Form, json_value, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, render, undo_toast

# The most parents that are suggested, and the longest text by which others are searched.
MAX_PARENTS = 100
MAX_TYPED_LENGTH = 100
# Suggestions for a due date.
DAYS = ("today", "tomorrow", "friday", "next week", "in 2 weeks", "end of month")


@dataclass(frozen=True, slots=True)
class TextConflict:
    """A conflict of texts: the base, the reader's, the merge, and what differs."""

    base: str
    mine: str
    merged: Merged
    # Theirs compared with the base, and the reader's compared with theirs.
    changed: Diff
    differs: Diff


def _check_name(name: str) -> None:
    if name not in FIELD_LABELS:
        raise NotFound("route", request.path)


def value_of(ticket: dict[str, Any], name: str) -> str:
    if name == "labels":
        return ",".join(sorted(label["id"] for label in ticket["labels"]))
    if name == "parent":
        return ticket["parent"]["display_id"] if ticket["parent"] else ""
    value = ticket[BY_PAGE_NAME[name].name]
    return "" if value is None else str(value)


def value_digest(name: str, value: str) -> str:
    """A short digest by which a page checks whether a field has the value that its editor shows."""
    if name != "body":
        return value
    return sha256(_as_sent(value).encode()).hexdigest()[:16]


def options_of(subject: TicketPageData, name: str) -> list[Any]:
    """The options of a field with a closed choice; needs a unit of work."""
    project_id = subject.project["id"]
    if name == "state":
        return [
            {"value": state.id, "name": state.name, "category": state.category}
            for state in states.ordered(project_id)
        ]
    if name == "priority":
        return [{"value": level} for level in PRIORITIES]
    if name == "labels":
        return subject.labels
    if name == "parent":
        found = listing.list_tickets(
            actor(),
            limit=MAX_PARENTS,
            cursor=None,
            shape=WITHOUT_BODY,
            project_id=project_id,
            ticket_type=_kind_of_parent(subject).value,
        ).data
        return _parents(subject.ticket["parent"], found)
    if name in ("assignee", "reporter"):
        users = [
            {"value": row.id, "user": row._asdict()} for row in assignable(all_users(), project_id)
        ]
        return users if name == "reporter" else [{"value": "", "user": None}, *users]
    return []


def _kind_of_parent(subject: TicketPageData) -> TicketType:
    is_story = subject.ticket["type"] == TicketType.STORY
    return TicketType.EPIC if is_story else TicketType.STORY


def _parents(current: dict[str, Any] | None, found: list[Any]) -> list[Any]:
    """The current parent, then open tickets, then done ones."""
    others = [one for one in found if not current or one["id"] != current["id"]]
    others.sort(key=lambda one: bool(one["state"] and one["state"]["category"] == "done"))
    return [current, *others] if current else others


def suggested_days() -> list[tuple[str, str]]:
    """(words, date) of the suggestions for a due date; no date removes it."""
    from_day = today()
    days = [(words.capitalize(), str(due_dates.day_meant(words, from_day))) for words in DAYS]
    return [*days, (NO_DUE_DATE, "")]


def _editor(
    reference: str,
    name: str,
    form: Form,
    *,
    status: int = 200,
    conflict: TextConflict | None = None,
    seen: str | None = None,
) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        options = options_of(subject, name)
    current = value_of(subject.ticket, name)
    shown = current if seen is None else seen
    return ticket_page(
        "tickets/field.html",
        subject,
        name=name,
        field_labels=FIELD_LABELS,
        options=options,
        days=suggested_days(),
        value=current,
        seen=shown,
        digest=value_digest(name, shown),
        chosen=form.values("value", current.split(",")),
        form=form,
        conflict=conflict,
        # The form's content takes precedence over an older draft.
        ignores_draft=conflict is not None or seen is not None,
        status=status,
    )


@pages.get("/tickets/<reference>/fields/<name>")
def edit_field(reference: str, name: str) -> Response:
    """The editor of a field; with ``view``, the field without an editor."""
    _check_name(name)
    if "view" in request.args and is_htmx():
        with reading():
            subject = page_queries.subject(actor(), reference)
            lay_out(subject, [])
        return html(show.fragment("tickets/_ticket_field.html", subject, name=name))
    return _editor(reference, name, Form())


@pages.get("/tickets/<reference>/parents")
def parents(reference: str) -> Response:
    """The options for a parent that match what is typed."""
    typed = request.args.get("value", "").strip()[:MAX_TYPED_LENGTH]
    with reading():
        subject = page_queries.subject(actor(), reference)
        try:
            options = (
                loaders.parents_like(
                    actor(), subject.project["id"], _kind_of_parent(subject), typed
                )
                if typed
                else options_of(subject, "parent")
            )
        except InvalidField:
            # No title contains such characters.
            options = []
    return html(
        render(
            "tickets/_parents.html",
            ticket=subject.ticket,
            options=options,
            value=value_of(subject.ticket, "parent"),
            typed=typed,
        )
    )


@pages.post("/tickets/<reference>/fields/<name>")
def save_field(reference: str, name: str) -> Response:
    """Save a field, unless someone else changed it after the editor was opened."""
    _check_name(name)
    form = Form(raw=request.form.copy(), shown=frozenset({"value"}))
    resolution = form.value("take")
    if resolution == "mine" and "mine" in form.raw:
        form.raw["value"] = form.value("mine")
    elif name == "body" and "merged_from" in form.raw:
        form.raw["value"] = _resolved(form)
    if resolution == "edit" and "value" in form.raw:
        # Nothing is saved yet, so the draft of the text is kept.
        return _editor(reference, name, form, status=409, seen=form.value("seen"))
    stale: list[TicketPageData] = []

    def work(person: Actor) -> None:
        before = change_field(person, reference, name, form)
        stale[:] = [before.subject] if before.is_stale else []

    submit_field(form, work)
    if stale:
        return _show_conflict(reference, name, form, stale[0])
    if form.errors:
        return _editor(reference, name, form, status=422)
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        lay_out(subject, [])
        content = show.fragment("tickets/_ticket_field.html", subject, name=name)
        events = show.new_events(subject)
        below = open_below_text([subject.ticket["id"]]) if events and name == "state" else ""
    if below:
        text = messages.moved_with_open(reference, subject.ticket["state"]["name"], below)
        events += undo_toast(text, f"/tickets/{reference}")
    return html(content + events)


@dataclass(frozen=True, slots=True)
class FieldBeforeChange:
    """The ticket before a change of a field; ``is_stale`` if the change was refused as outdated."""

    subject: TicketPageData
    value: str
    is_stale: bool = False


def change_field(person: Actor, reference: str, name: str, form: Form) -> FieldBeforeChange:
    """Save the submitted value, unless someone changed the field after the form showed ``seen``."""
    if "pick" in form.raw:
        # A selected suggestion replaces the typed text.
        form.raw["value"] = form.value("pick")
    if name != "labels" and "value" not in form.raw:
        # A form without its field must not empty the field.
        raise InvalidField("value", "required", messages.ENTER_A_VALUE)
    # Locked before it is read, so that it cannot change between the comparison and the save.
    loaders.writable(person, reference)
    subject = page_queries.subject(person, reference)
    current = value_of(subject.ticket, name)
    expected = (_as_sent(form.value("seen", current)), _as_sent(form.value("value")))
    if name == "labels":
        label_ids = _merged_labels(form, current)
        created = next(filter(str.strip, form.values("create")), "")
        if created:
            label_ids.append(labels.named(person, subject.project["id"], created).id)
        form.data["label_ids"] = label_ids
    elif _as_sent(current) not in expected:
        return FieldBeforeChange(subject, current, is_stale=True)
    elif normalize_newlines(form.value("value")) == normalize_newlines(current):
        # Browsers normalize line breaks, which is not a change of the text.
        return FieldBeforeChange(subject, current)
    _save(person, reference, name, form)
    return FieldBeforeChange(subject, current)


def _show_conflict(reference: str, name: str, form: Form, subject: TicketPageData) -> Response:
    """The editor after a conflict, with the new value; for a description, with a merge."""
    if name != "body":
        form.refuse("", messages.overtaken(_new_value(subject, name)))
        return _editor(reference, name, form, status=409)
    base, mine = _as_sent(form.value("seen")), _as_sent(form.value("value"))
    theirs = _as_sent(subject.ticket["body"])
    conflict = TextConflict(
        base=base,
        mine=mine,
        merged=merge(base, mine, theirs),
        changed=compare(base, theirs),
        differs=compare(theirs, mine),
    )
    return _editor(reference, name, form, status=409, conflict=conflict)


def _resolved(form: Form) -> str:
    """The merge of a conflict, with the user's choice for each place that both changed."""
    base, mine, theirs = (_as_sent(form.value(name)) for name in ("merged_from", "mine", "seen"))
    merged = merge(base, mine, theirs)
    choices = (form.value(f"keep-{place + 1}") for place in range(merged.conflicts))
    return merged.resolved(Keep(one) if one in set(Keep) else Keep.BOTH for one in choices)


def _merged_labels(form: Form, current: str) -> list[str]:
    """The current labels with the reader's additions and removals applied.

    Labels that someone else changed in the meantime keep that change.
    """
    seen, chosen = set(form.value("seen", current).split(",")), set(form.values("value"))
    return sorted((set(current.split(",")) - (seen - chosen) | (chosen - seen)) - {""})


def _as_sent(value: str) -> str:
    """A text as a browser sends it back: a textarea drops a newline at the start."""
    return normalize_newlines(value).removeprefix("\n")


def _new_value(subject: TicketPageData, name: str) -> str:
    """The new value of a field in words."""
    ticket = subject.ticket
    if name in ("state", "assignee", "reporter"):
        value = ticket[name] or {}
        return str(value.get("display_name") or value.get("name") or VALUE_OF_NOBODY)
    return value_of(ticket, name) or NO_VALUE


def submit_field(form: Form, work: Callable[[Actor], None]) -> None:
    """Run ``work``, and move messages about any field of the API to the one field of the form."""
    # For labels, also the name of a new label.
    names = frozenset(field.name for field in FIELDS) | {"name"}
    form.shown |= names
    submit(form, work)
    for name in names & form.errors.keys():
        form.errors.setdefault("value", form.errors.pop(name))


def _save(person: Actor, reference: str, name: str, form: Form) -> None:
    field = BY_PAGE_NAME[name]
    value = normalize_newlines(form.value("value"))
    if name == "state":
        data = load(Transition, {field.name: value}, "body")
        with in_page_words():
            service.transition_ticket(person, reference, **data)
        return
    if name == "labels":
        change = form.data["label_ids"]
    elif name == "parent" and value.strip():
        change = id_of_number(person, value, field.name)
    elif name == "due_date":
        change = due_dates.iso_of(value, field.name)
    else:
        kind = TicketPatch().fields[field.name]
        change = json_value(kind, value.strip() if kind.allow_none else value)
    service.update_ticket(person, reference, **load(TicketPatch, {field.name: change}, "body"))
