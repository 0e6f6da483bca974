"""Home, the inbox, and what the header of every page shows of it."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.accounts import read_markers
from app.activity.pages.blueprint import ROWS, address
from app.activity.pages.log import rows
from app.core.actor import Actor
from app.core.errors import Conflict, DomainError, Gone, InvalidField, NotFound
from app.core.text import unified
from app.database.session import reading, session
from app.inbox import home as seen
from app.inbox import service as verbs
from app.inbox.mentions import mention_of
from app.projects.models import StateCategory
from app.tickets import comments, listing, service
from app.tickets.models import Ticket
from app.web.guard import actor, write
from app.web.render import go, html, is_htmx, page, render

pages = Blueprint("inbox_pages", __name__)


INBOX = "/inbox"
SNIPPET = 240
# Of each ticket on a page; its own page has all of them.
SHOWN = 5


@pages.get("/inbox")
def inbox() -> Response:
    """Show what others did to one's tickets, by ticket, the newest first."""
    cursor = request.args.get("cursor") or None
    with reading():
        try:
            found = verbs.unread(actor(), limit=ROWS, cursor=cursor)
        except InvalidField:
            # A cursor that was cut off on its way: start at the top.
            return go(INBOX)
        groups = _by_ticket(rows(found.data))
    next_url = address(INBOX, {}, cursor=found.next_cursor) if found.next_cursor else ""
    newest = found.data[0]["id"] if found.data else ""
    return page(
        "home/inbox.html", groups=groups, newest=newest, next_url=next_url, is_older=bool(cursor)
    )


def _by_ticket(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tickets of these events in their order, each with its own."""
    found = session.execute(
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.type).where(
            Ticket.id.in_({event["ticket_id"] for event in events})
        )
    )
    known = {row.id: row for row in found}
    mention = mention_of(actor().username)
    groups: dict[str, dict[str, Any]] = {}
    for event in events:
        body = event["payload"].get("body") or ""
        said = {"said": body[:SNIPPET], "is_cut": len(body) > SNIPPET, "calls": False}
        if event["event_type"] == "comment.created":
            said["calls"] = bool(mention.search(body))
        group = groups.setdefault(
            event["ticket_id"],
            {"ticket": known[event["ticket_id"]], "newest": event["id"], "all": []},
        )
        group["all"].append({**event, **said})
    return [
        {**group, "events": group["all"][:SHOWN], "more": len(group["all"][SHOWN:])}
        for group in groups.values()
    ]


@pages.post("/inbox/read")
def read_all() -> Response:
    """Everything up to the newest event of the page was read."""
    event_id = request.form.get("event_id", "")
    write(lambda present: verbs.mark_read(present, event_id))
    return go(INBOX)


@pages.post("/inbox/<reference>/read")
def read_ticket(reference: str) -> Response:
    """What the page showed of this ticket was read; with a script its entry goes away."""
    event_id = request.form.get("event_id", "")

    def work(present: Actor) -> None:
        verbs.mark_ticket_read(present, reference, event_id)

    write(work)
    if not is_htmx():
        return go(INBOX)
    return html(_standing(is_beside=True))


@pages.get("/standing")
def standing() -> Response:
    """The entries of the header that tell of news, fetched once a page stands."""
    return html(_standing(is_beside=False))


def _standing(*, is_beside: bool) -> str:
    with reading():
        found = verbs.standing(actor())
    shown = "99+" if found.tickets >= verbs.COUNTED else str(found.tickets)
    return render("home/_standing.html", standing=found, shown=shown, out_of_band=is_beside)


HOME_ROWS = 100


@dataclass(frozen=True, slots=True)
class RefusedReply:
    """An answer that was not sent: on which ticket, its text, why, and if the ticket is there."""

    reference: str
    typed: str
    problem: str
    is_there: bool


@pages.get("/")
def home() -> Response:
    """Show what needs the person, their open tickets, what bots did, and the ways on."""
    return _show()


def _show(refused: RefusedReply | None = None, *, status: int = 200) -> Response:
    with reading():
        mine = listing.list_tickets(
            actor(),
            limit=HOME_ROWS,
            cursor=None,
            with_body=False,
            assignee_user_id=actor().id,
            state_category=[str(one) for one in StateCategory if one is not StateCategory.DONE],
        )
        needs = seen.needs(actor())
        doings = seen.since_last_time(actor())
        places = seen.destinations(actor())
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
        refused = RefusedReply(reference, body, _words(reference, error), is_there)
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
