"""Children, relations and watchers on the ticket page."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import reading
from app.tickets import creating, loaders, page_queries, relations, watchers
from app.tickets.board_sidebar import all_users
from app.tickets.models import TicketType
from app.tickets.pages import show
from app.tickets.pages.blueprint import pages, user_options
from app.tickets.pages.feed import RELATION_TYPES, RELATION_WORDS, grouped
from app.web.forms import Form, create, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx, page, render


@pages.get("/tickets/<reference>/watchers/new")
def choose_watcher(reference: str) -> Response:
    """Ask who is to watch."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        users = user_options(all_users(), subject.project["id"])
    context: dict[str, Any] = {
        "project": subject.project,
        "ticket": subject.ticket,
        "users": users,
        "watcher_form": None,
    }
    if is_htmx():
        return html(render("tickets/_watcher_form.html", **context))
    return page("tickets/watcher_new.html", **context)


@pages.post("/tickets/<reference>/watch")
def watch(reference: str) -> Response:
    """Watch, stop watching, or do so for someone else."""
    form = Form(raw=request.form.copy(), shown=frozenset({"user_id"}))
    user_id = form.value("user_id") or actor().id

    def work(present: Actor) -> None:
        if form.value("watch") == "no":
            watchers.remove_watcher(present, reference, user_id)
        else:
            watchers.add_watcher(present, reference, user_id=user_id)

    submit(form, work)
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        shown = show.fragment(
            "tickets/_watchers.html",
            subject,
            watchers=subject.watchers,
            watching=any(row["user_id"] == actor().id for row in subject.watchers),
            watcher_form=form if form.errors else None,
            users=user_options(all_users(), subject.project["id"]) if form.errors else [],
        )
        shown += show.new_events(subject)
    return html(shown, 422 if form.errors else 200)


WORDS = {word: kind for kind, word in reversed(RELATION_WORDS.items())}
FIELDS = frozenset({"type", "target_ticket_id"})


def _answer(reference: str, form: Form) -> Response:
    """The list of relations as it is now, and what was done in the thread."""
    if not is_htmx() and not form.errors:
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        related = relations.of_ticket(actor(), subject.ticket["id"])
        shown = show.fragment(
            "tickets/_relations.html",
            subject,
            relations=grouped(related),
            relation_types=RELATION_TYPES,
            relation_form=form if form.errors else None,
        )
        shown += show.new_events(subject)
    return html(shown, 422 if form.errors else 200)


@pages.post("/tickets/<reference>/relations")
def add_relation(reference: str) -> Response:
    """Relate this ticket to another one, in words that may look from either end."""
    form = Form(raw=request.form.copy(), shown=FIELDS)
    other = form.value("target_ticket_id").strip().upper()
    found = WORDS.get(form.value("type"))
    if found is None:
        form.refuse("type", "Choose what this ticket is to the other one.")
        return _answer(reference, form)
    kind, outgoing = found

    def work(present: Actor) -> None:
        if outgoing:
            relations.create_relation(present, reference, type=kind, target_ticket_id=other)
        else:
            _from_other(present, kind, other, reference)

    submit(form, work)
    return _answer(reference, form)


def _from_other(present: Actor, kind: str, other: str, reference: str) -> None:
    """Relate from the other end: a ticket that is missing is one that the form names wrongly."""
    if loaders.named_in_body(present, other) is None:
        raise InvalidField("target_ticket_id", "not_found", "There is no such ticket.")
    relations.create_relation(present, other, type=kind, target_ticket_id=reference)


@pages.post("/tickets/<reference>/relations/<relation_id>/delete")
def remove_relation(reference: str, relation_id: str) -> Response:
    """Remove a relation."""
    form = Form(shown=FIELDS)
    submit(form, lambda present: relations.delete_relation(present, reference, relation_id))
    return _answer(reference, form)


BELOW = {TicketType.EPIC: TicketType.STORY, TicketType.STORY: TicketType.SUBTASK}


@pages.post("/tickets/<reference>/children")
def add_child(reference: str) -> Response:
    """Create a story below an epic, or a subtask below a story, from its title."""
    form = Form(raw=request.form.copy(), shown=frozenset({"title"}))

    def work(present: Actor) -> str:
        parent = loaders.visible(present, reference)
        kind = BELOW.get(TicketType(parent.type))
        if kind is None:
            raise InvalidField("title", "wrong_type", "A subtask has nothing below it.")
        made = creating.create_ticket(
            present,
            parent.project_id,
            title=form.value("title"),
            type=kind.value,
            parent_ticket_id=parent.id,
        )
        return made.display_id

    made = create(form, work)
    if not is_htmx() and made:
        return go(f"/tickets/{reference}#children-title")
    with reading():
        subject = page_queries.subject(actor(), reference)
        context: dict[str, Any] = {
            **show.below(page_queries.children(subject.ticket["id"])),
            "child_form": None if made else form,
        }
    if not is_htmx():
        return page(
            "tickets/child_new.html",
            ticket=subject.ticket,
            project=subject.project,
            status=422,
            **context,
        )
    shown = show.fragment("tickets/_children.html", subject, **context)
    return html(shown, 200 if made else 422)
