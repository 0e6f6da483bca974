"""Editing one field of a ticket in place.

The editor sends what it showed. If the field has another value by now, nothing is written: the
reader sees what it became and decides. Other fields may change meanwhile without harm.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.text import unified
from app.database.session import reading
from app.projects import states
from app.rest.fields import load
from app.text.diff import Diff, compare
from app.text.merge3 import Merged, merge
from app.tickets import listing, loaders, page_queries, service
from app.tickets.board_sidebar import all_users
from app.tickets.fields import BY_PART, FIELDS
from app.tickets.filters import PRIORITIES
from app.tickets.models import TicketType
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import show
from app.tickets.pages.blueprint import FACTS, may_be_assigned, pages
from app.tickets.pages.texts import lay_out
from app.tickets.schemas import TicketPatch, Transition
from app.web.forms import Form, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page

# Suggestions for a parent.
PARENTS = 100


@dataclass(frozen=True, slots=True)
class Both:
    """Two changes of one text: mine, both together, what they changed, how mine differs."""

    mine: str
    merged: Merged
    changed: Diff
    differs: Diff


def _check_name(name: str) -> None:
    if name not in FACTS:
        raise NotFound("route", request.path)


def value_of(ticket: dict[str, Any], name: str) -> str:
    """A field of a ticket as its editor sends it."""
    if name == "labels":
        return ",".join(sorted(label["id"] for label in ticket["labels"]))
    if name == "parent":
        return ticket["parent"]["display_id"] if ticket["parent"] else ""
    value = ticket[BY_PART[name].name]
    return "" if value is None else str(value)


def _options(subject: TicketPageData, name: str) -> list[Any]:
    """What can be chosen for a field; needs a unit of work."""
    project_id = subject.project["id"]
    if name == "state":
        ordered = states.ordered(project_id)
        return [{"value": one.id, "name": one.name, "category": one.category} for one in ordered]
    if name == "priority":
        return [{"value": level} for level in PRIORITIES]
    if name == "labels":
        return subject.labels
    if name == "parent":
        return _parents(subject)
    if name in ("assignee", "reporter"):
        users = [
            {"value": row.id, "user": row._asdict()}
            for row in all_users()
            if may_be_assigned(row, project_id)
        ]
        users.sort(key=lambda one: one["value"] != actor().id)
        return users if name == "reporter" else [{"value": "", "user": None}, *users]
    return []


def _parents(subject: TicketPageData) -> list[dict[str, Any]]:
    """The newest tickets that may be its parent."""
    kind = TicketType.EPIC if subject.ticket["type"] == TicketType.STORY else TicketType.STORY
    return listing.list_tickets(
        actor(),
        limit=PARENTS,
        cursor=None,
        with_body=False,
        project_id=subject.project["id"],
        ticket_type=kind.value,
    ).data


def _editor(
    reference: str, name: str, form: Form, *, status: int = 200, both: Both | None = None
) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        options = _options(subject, name)
    current = value_of(subject.ticket, name)
    return page(
        "tickets/field.html",
        block="sheet",
        project=subject.project,
        ticket=subject.ticket,
        name=name,
        facts=FACTS,
        options=options,
        value=current,
        seen=current,
        chosen=form.values("value", current.split(",")),
        form=form,
        both=both,
        status=status,
    )


@pages.get("/tickets/<reference>/fields/<name>")
def edit_field(reference: str, name: str) -> Response:
    """The editor of a field, or with ``view`` the field as it reads."""
    _check_name(name)
    if "view" in request.args and is_htmx():
        with reading():
            subject = page_queries.subject(actor(), reference)
            lay_out(subject, [])
        return html(show.fragment("tickets/_fact.html", subject, name=name))
    return _editor(reference, name, Form())


@pages.post("/tickets/<reference>/fields/<name>")
def save_field(reference: str, name: str) -> Response:
    """Save a field, unless it changed since the editor showed it."""
    _check_name(name)
    form = Form(raw=request.form.copy(), shown=frozenset({"value"}))
    if form.value("take") == "mine":
        form.raw["value"] = form.value("mine")
    overtaken: list[TicketPageData] = []

    def work(present: Actor) -> None:
        overtaken.clear()
        # Held before it is looked at, so that nobody changes it between the look and the save.
        loaders.writable(present, reference)
        subject = page_queries.subject(present, reference)
        current = value_of(subject.ticket, name)
        wanted = (_as_sent(form.value("seen", current)), _as_sent(form.value("value")))
        if name == "labels":
            form.data["label_ids"] = _merged_labels(form, current)
        elif _as_sent(current) not in wanted:
            overtaken.append(subject)
            return
        elif unified(form.value("value")) == unified(current):
            # Browsers know one kind of line break; that is no change of the text.
            return
        _save(present, reference, name, form)

    with_field(form, lambda: submit(form, work))
    if overtaken:
        return _overtaken(reference, name, form, overtaken[0])
    if form.errors:
        return _editor(reference, name, form, status=422)
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        lay_out(subject, [])
        shown = show.fragment("tickets/_fact.html", subject, name=name)
        shown += show.new_events(subject)
    return html(shown)


def _overtaken(reference: str, name: str, form: Form, subject: TicketPageData) -> Response:
    """Someone else changed the field: what it became; of a text both versions, put together."""
    if name != "body":
        told = _new_value(subject, name)
        form.refuse("", f"This changed meanwhile{told}. Save again to put yours in place.")
        return _editor(reference, name, form, status=409)
    base, mine = _as_sent(form.value("seen")), _as_sent(form.value("value"))
    theirs = _as_sent(subject.ticket["body"])
    both = Both(
        mine=mine,
        merged=merge(base, mine, theirs),
        changed=compare(base, theirs),
        differs=compare(theirs, mine),
    )
    return _editor(reference, name, form, status=409, both=both)


def _merged_labels(form: Form, current: str) -> list[str]:
    """The labels of now, with what the reader added to those seen and without what was taken off.

    So labels that someone else changed meanwhile stay as they are.
    """
    seen, wanted = set(form.value("seen", current).split(",")), set(form.values("value"))
    return sorted((set(current.split(",")) - (seen - wanted) | (wanted - seen)) - {""})


def _as_sent(value: str) -> str:
    """A text as browsers send it back: textareas drop a newline at the start."""
    return unified(value).removeprefix("\n")


def _new_value(subject: TicketPageData, name: str) -> str:
    """What a field became, for fields that fit in a sentence."""
    ticket = subject.ticket
    if name in ("state", "assignee", "reporter"):
        found = ticket[name] or {}
        return f" to {found.get('display_name') or found.get('name') or 'nobody'}"
    return f" to {value_of(ticket, name) or 'none'}"


def with_field(form: Form, work: Callable[[], Any]) -> None:
    """Run ``work`` and put what was refused beside the one field there is."""
    names = frozenset(one.name for one in FIELDS)
    form.shown |= names
    work()
    for name in names & form.errors.keys():
        form.errors.setdefault("value", form.errors.pop(name))


def _save(present: Actor, reference: str, name: str, form: Form) -> None:
    """Call the verb that changes this field, through the schema that REST uses."""
    field = BY_PART[name]
    value = unified(form.value("value"))
    if name == "state":
        data = load(Transition, {field.name: value}, "body")
        service.transition_ticket(present, reference, **data)
        return
    sent: Any = value
    if name == "labels":
        sent = form.data["label_ids"]
    elif name == "parent" and value.strip():
        sent = _parent_id(present, value)
    elif field.is_optional:
        sent = value.strip() or None
    service.update_ticket(present, reference, **load(TicketPatch, {field.name: sent}, "body"))


def _parent_id(present: Actor, number: str) -> str:
    found = loaders.named_in_body(present, number.strip().upper())
    if found is None:
        raise InvalidField("parent_ticket_id", "not_found", f"There is no ticket {number.strip()}.")
    return found.id
