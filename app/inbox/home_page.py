"""Home: what waits for a person, what bots did meanwhile, and where to go."""

from dataclasses import dataclass

from flask import Response, request

from app.accounts import read_markers
from app.core.actor import Actor
from app.core.errors import Conflict, DomainError, Gone, InvalidField, NotFound
from app.core.text import unified
from app.database.session import reading
from app.inbox import home as seen
from app.inbox.inbox_page import pages
from app.projects.models import StateCategory
from app.tickets import comments, listing, service
from app.tickets.models import Ticket
from app.web.guard import actor, write
from app.web.render import go, page

ROWS = 100


@dataclass(frozen=True, slots=True)
class Refused:
    """An answer that was not sent: on which ticket, its text, why, and if the ticket is there."""

    reference: str
    typed: str
    problem: str
    is_there: bool


@pages.get("/")
def home() -> Response:
    """Show what needs the person, their open tickets, what bots did, and the ways on."""
    return _show()


def _show(refused: Refused | None = None, *, status: int = 200) -> Response:
    with reading():
        mine = listing.list_tickets(
            actor(),
            limit=ROWS,
            cursor=None,
            with_body=False,
            assignee_user_id=actor().id,
            state_category=[str(one) for one in StateCategory if one is not StateCategory.DONE],
        )
        needs = seen.needs(actor())
        doings = seen.since_last_time(actor())
        places = seen.places(actor())
    handed = {need.ticket.display_id for need in needs if need.is_handed_over}
    return page(
        "home/index.html",
        tickets=mine.data,
        more=mine.next_cursor is not None,
        needs=needs,
        doings=doings,
        projects=[one for one in places if one.kind == "project"],
        watched=[one for one in places if one.kind == "ticket"],
        recent=[one for one in places if one.kind == "page"],
        refused=refused,
        # Its ticket is with somebody else by now, or gone: what was typed stands by itself.
        is_apart=refused is not None and refused.reference not in handed,
        status=status,
    )


@pages.post("/seen")
def all_seen() -> Response:
    """Move the person's marker to now: what bots did up to here was seen."""

    def work(present: Actor) -> None:
        read_markers.move_marker(present, seen.SUBJECT, seen.newest_event(present))

    write(work)
    return go("/")


@pages.post("/tickets/<reference>/hand-back")
def hand_back(reference: str) -> Response:
    """Answer a bot on a ticket that it handed over, and give the ticket back to it, in one."""
    body = unified(request.form.get("body", "")).strip()
    bot_id = request.form.get("bot_id", "")

    def work(present: Actor) -> None:
        ticket: Ticket = service.update_ticket(
            present, reference, assignee_user_id=bot_id, expected_assignee_user_id=present.id
        )
        if body:
            comments.create_comment(present, ticket.id, body=body)

    try:
        write(work)
    except (InvalidField, Conflict, Gone, NotFound) as error:
        is_there = not isinstance(error, Gone | NotFound)
        refused = Refused(reference, body, _words(reference, error), is_there)
        return _show(refused, status=error.status)
    return go("/")


def _words(reference: str, error: DomainError) -> str:
    """Why an answer was refused, for a person."""
    details = error.details or {}
    if details.get("reason") != "assignee_mismatch":
        return error.message
    holder = details["assignee"]
    name = holder["display_name"] if holder else "nobody"
    return f"{reference} is no longer yours to hand back: {name} has it now."
