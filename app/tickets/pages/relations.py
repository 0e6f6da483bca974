"""Relations on the ticket page."""

from flask import Response, request

from app.core.actor import Actor
from app.core.errors import InvalidField
from app.database.session import reading
from app.tickets import loaders, page_queries, relations
from app.tickets.pages import show
from app.tickets.pages.blueprint import pages
from app.tickets.pages.feed import RELATION_TYPES, RELATION_WORDS, grouped
from app.web.forms import Form, submit
from app.web.guard import actor
from app.web.render import go, html, is_htmx

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
