"""Children, relations, links and watchers on the ticket page."""

from typing import Any

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import reading
from app.tickets import creating, links, loaders, page_queries, relations, watchers
from app.tickets.board_sidebar import all_users
from app.tickets.link_schemas import LinkCreate
from app.tickets.messages import SUBTASK_WITHOUT_CHILDREN, TICKET_NOT_FOUND
from app.tickets.models import TicketType
from app.tickets.pages import messages, show
from app.tickets.pages.blueprint import pages, ticket_page, user_options
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor, write
from app.web.render import go, html, is_htmx


@pages.get("/tickets/<reference>/watchers/new")
def choose_watcher(reference: str) -> Response:
    with reading():
        subject = page_queries.subject(actor(), reference)
        users = user_options(all_users(), subject.project["id"])
    template = "tickets/_watcher_form.html" if is_htmx() else "tickets/watcher_new.html"
    return ticket_page(template, subject, block="", users=users, watcher_form=None)


@pages.post("/tickets/<reference>/watch")
def watch(reference: str) -> Response:
    """Add or remove a watcher, the reader by default."""
    form = Form(raw=request.form.copy(), shown=frozenset({"user_id"}))
    user_id = form.value("user_id") or actor().id

    def work(person: Actor) -> None:
        if form.value("watch") == "no":
            watchers.remove_watcher(person, reference, user_id)
        else:
            watchers.add_watcher(person, reference, user_id=user_id)

    submit(form, work)
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        content = show.fragment(
            "tickets/_watchers.html",
            subject,
            **show.watchers_of(subject, form if form.errors else None),
            users=user_options(all_users(), subject.project["id"]) if form.errors else [],
        )
        content += show.new_events(subject)
    return html(content, 422 if form.errors else 200)


@pages.post("/tickets/<reference>/mute")
def mute(reference: str) -> Response:
    """Keep the ticket out of the reader's inbox, or let it in again."""
    is_muted = request.form.get("mute") != "no"
    work = watchers.mute if is_muted else watchers.unmute
    write(lambda person: work(person, reference))
    if not is_htmx():
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        return html(show.fragment("tickets/_watchers.html", subject, **show.watchers_of(subject)))


# Reversed, so that a word for both directions means the outgoing one.
WORDS = {word: kind for kind, word in reversed(messages.RELATION_WORDS.items())}
FIELDS = frozenset({"type", "target_ticket_id"})


def _answer(reference: str, form: Form) -> Response:
    """The list of relations, with the new entries of the stream."""
    if not is_htmx() and not form.errors:
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        context = show.relations_of(subject, form if form.errors else None)
        content = show.fragment("tickets/_relations.html", subject, **context)
        content += show.new_events(subject)
    return html(content, 422 if form.errors else 200)


@pages.post("/tickets/<reference>/relations")
def add_relation(reference: str) -> Response:
    """Add a relation by a word of either direction, such as "is blocked by"."""
    form = Form(raw=request.form.copy(), shown=FIELDS)
    other = form.value("target_ticket_id").strip().upper()
    relation = WORDS.get(form.value("type"))
    if relation is None:
        form.refuse("type", messages.SELECT_A_RELATION)
        return _answer(reference, form)
    kind, outgoing = relation

    def work(person: Actor) -> None:
        if outgoing:
            relations.create_relation(person, reference, type=kind, target_ticket_id=other)
        elif loaders.named_in_body(person, other) is None:
            # A missing ticket as the source would return 404 instead of a message at the field.
            raise InvalidField("target_ticket_id", "not_found", TICKET_NOT_FOUND)
        else:
            relations.create_relation(person, other, type=kind, target_ticket_id=reference)

    submit(form, work)
    return _answer(reference, form)


@pages.post("/tickets/<reference>/relations/<relation_id>/delete")
def remove_relation(reference: str, relation_id: str) -> Response:
    form = Form(shown=FIELDS)
    submit(form, lambda person: relations.delete_relation(person, reference, relation_id))
    return _answer(reference, form)


def _links(reference: str, form: Form | None) -> Response:
    """The list of links, with the new entries of the stream."""
    is_refused = form is not None and bool(form.errors)
    if not is_htmx() and not is_refused:
        return go(f"/tickets/{reference}")
    with reading():
        subject = page_queries.subject(actor(), reference)
        context = show.links_of(subject, form if is_refused else None)
        content = show.fragment("tickets/_links.html", subject, **context)
        content += show.new_events(subject)
    return html(content, 422 if is_refused else 200)


@pages.post("/tickets/<reference>/links")
def add_link(reference: str) -> Response:
    form = load_form(LinkCreate)
    submit(form, lambda person: links.add_link(person, reference, **form.data))
    return _links(reference, form)


@pages.post("/tickets/<reference>/links/<link_id>/delete")
def remove_link(reference: str, link_id: str) -> Response:
    write(lambda person: links.remove_link(person, reference, link_id))
    return _links(reference, None)


@pages.post("/tickets/<reference>/children")
def add_child(reference: str) -> Response:
    """Create a story of an epic, or a subtask of a story, from a title."""
    form = Form(raw=request.form.copy(), shown=frozenset({"title"}))

    def work(person: Actor) -> str:
        parent = loaders.visible(person, reference)
        kind = creating.CHILD_TYPE.get(TicketType(parent.type))
        if kind is None:
            raise InvalidField("title", "wrong_type", SUBTASK_WITHOUT_CHILDREN)
        child = creating.create_ticket(
            person,
            parent.project_id,
            title=form.value("title"),
            type=kind.value,
            parent_ticket_id=parent.id,
        )
        return child.display_id

    is_created = create(form, work) is not None
    if not is_htmx() and is_created:
        return go(f"/tickets/{reference}#children-title")
    with reading():
        subject = page_queries.subject(actor(), reference)
        context: dict[str, Any] = {
            **show.below(page_queries.children(subject.ticket["id"])),
            "child_form": None if is_created else form,
        }
    if not is_htmx():
        return ticket_page("tickets/child_new.html", subject, status=422, **context)
    content = show.fragment("tickets/_children.html", subject, **context)
    return html(content, 200 if is_created else 422)
