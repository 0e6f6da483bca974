"""The home page, the inbox, and their part of every page's header."""

from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response, request
from sqlalchemy import select

from app.accounts import personal
from app.activity.pages.log import ROWS, address, rows
from app.core.actor import Actor
from app.core.errors import Conflict, DomainError, Gone, InvalidField, NotFound
from app.core.text import unified
from app.database.session import reading, session
from app.inbox import home as home_verbs
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
# Events shown per ticket of the inbox.
SHOWN = 5
HOME_ROWS = 100


@dataclass(frozen=True, slots=True)
class RefusedReply:
    """A reply that was refused, and whether its ticket can still be opened."""

    reference: str
    typed: str
    problem: str
    is_there: bool


@pages.get("/inbox")
def inbox() -> Response:
    cursor = request.args.get("cursor") or None
    with reading():
        try:
            unread = verbs.unread(actor(), limit=ROWS, cursor=cursor)
        except InvalidField:
            # A bad cursor, such as one of a truncated address.
            return go(INBOX)
        groups = _by_ticket(rows(unread.data))
    next_url = address(INBOX, {}, cursor=unread.next_cursor) if unread.next_cursor else ""
    newest = unread.data[0]["id"] if unread.data else ""
    return page(
        "home/inbox.html", groups=groups, newest=newest, next_url=next_url, is_older=bool(cursor)
    )


def _by_ticket(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The tickets of these events, in their order, each with its events."""
    tickets = session.execute(
        select(Ticket.id, Ticket.display_id, Ticket.title, Ticket.type).where(
            Ticket.id.in_({event["ticket_id"] for event in events})
        )
    )
    by_id = {row.id: row for row in tickets}
    mention = mention_of(actor().username)
    groups: dict[str, dict[str, Any]] = {}
    for event in events:
        body = event["payload"].get("body") or ""
        is_comment = event["event_type"] == "comment.created"
        shown = {
            "said": body[:SNIPPET],
            "is_cut": len(body) > SNIPPET,
            "calls": is_comment and bool(mention.search(body)),
        }
        group = groups.setdefault(
            event["ticket_id"],
            {"ticket": by_id[event["ticket_id"]], "newest": event["id"], "all": []},
        )
        group["all"].append({**event, **shown})
    return [
        {**group, "events": group["all"][:SHOWN], "more": len(group["all"][SHOWN:])}
        for group in groups.values()
    ]


@pages.post("/inbox/read")
def read_all() -> Response:
    """Mark everything up to the page's newest event as read."""
    event_id = request.form.get("event_id", "")
    write(lambda present: verbs.mark_read(present, event_id))
    return go(INBOX)


@pages.post("/inbox/<reference>/read")
def read_ticket(reference: str) -> Response:
    """Mark what the page shows of this ticket as read; htmx gets the header out of band."""
    event_id = request.form.get("event_id", "")
    write(lambda present: verbs.mark_ticket_read(present, reference, event_id))
    return html(_standing(out_of_band=True)) if is_htmx() else go(INBOX)


@pages.get("/standing")
def standing() -> Response:
    """The header's entries for bots and the inbox, which a script loads after the page."""
    return html(_standing(out_of_band=False))


def _standing(*, out_of_band: bool) -> str:
    with reading():
        news = verbs.standing(actor())
    shown = "99+" if news.tickets >= verbs.COUNTED else str(news.tickets)
    return render("home/_standing.html", standing=news, shown=shown, out_of_band=out_of_band)


@pages.get("/")
def home() -> Response:
    return _home()


def _home(refused: RefusedReply | None = None, *, status: int = 200) -> Response:
    with reading():
        own = listing.list_tickets(
            actor(),
            limit=HOME_ROWS,
            cursor=None,
            with_body=False,
            assignee_user_id=actor().id,
            state_category=[str(kind) for kind in StateCategory if kind is not StateCategory.DONE],
        )
        needs = home_verbs.needs(actor())
        doings = home_verbs.since_last_time(actor())
        places = home_verbs.destinations(actor())
    handed = {need.ticket.display_id for need in needs if need.is_handed_over}
    return page(
        "home/index.html",
        tickets=own.data,
        more=own.next_cursor is not None,
        needs=needs,
        doings=doings,
        projects=[one for one in places if one.kind == "project"],
        watched=[one for one in places if one.kind == "ticket"],
        recent=[one for one in places if one.kind == "page"],
        refused=refused,
        # The ticket of the reply is no longer listed, so the page shows the typed text apart.
        is_apart=refused is not None and refused.reference not in handed,
        status=status,
    )


@pages.post("/seen")
def all_seen() -> Response:
    """Move the person's read marker to the newest event."""

    def work(present: Actor) -> None:
        personal.move_marker(present, home_verbs.SUBJECT, home_verbs.newest_event(present))

    write(work)
    return go("/")


@pages.post("/tickets/<reference>/hand-back")
def hand_back(reference: str) -> Response:
    """Comment on a ticket that a bot handed over and assign it to the bot, in one transaction."""
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
        refused = RefusedReply(reference, body, _reason(reference, error), is_there)
        return _home(refused, status=error.status)
    return go("/")


def _reason(reference: str, error: DomainError) -> str:
    details = error.details or {}
    if details.get("reason") != "assignee_mismatch":
        return error.message
    holder = details["assignee"]
    name = holder["display_name"] if holder else "nobody"
    return f"{reference} is no longer yours to hand back: {name} has it now."
