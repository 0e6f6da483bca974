"""The home page, the inbox, and their part of every page's header."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
from flask import Blueprint, Response, request

from app.activity.bot_review import References, undone_of
from app.activity.pages.audit_filters import address, id_or_nil
from app.activity.pages.bot_review import ReviewedChange, reviewed_change
from app.activity.sentences import as_mapping
from app.audit.receipt_answers import with_answers
from app.core.actor import Actor
from app.core.errors import Conflict, DomainError, Gone, InvalidField, NotFound
from app.core.text import normalize_newlines
from app.database.session import reading
from app.inbox import home as home_verbs
from app.inbox import messages, sign_offs
from app.inbox import service as verbs
from app.inbox.home import Need
from app.inbox.mentions import COMMENT_CREATED, is_mentioned, mention_pattern
from app.inbox.service import TicketNews
from app.inbox.sign_offs import AwaitedSignOff
from app.markdown import Html
from app.projects.models import StateCategory
from app.search.snippets import without_markdown
from app.tickets import comments, listing, service
from app.tickets.models import Ticket
from app.tickets.pages import feed
from app.tickets.pages.blueprint import in_page_words
from app.tickets.read import WITHOUT_BODY
from app.tickets.stream_queries import names_of
from app.web.forms import sentence
from app.web.guard import actor, write
from app.web.render import go, html, is_htmx, page, render
from app.web.texts import laid_out

pages = Blueprint("inbox_pages", __name__)


INBOX = "/inbox"
# Characters of a comment that are shown, and that are read to find them.
EXCERPT_LENGTH = 240
READ_LENGTH = 2_000
TICKETS = 25
HOME_ROWS = 100
ALL = "all"


@dataclass(frozen=True, slots=True)
class RefusedReply:
    """A reply that was refused, and whether its ticket can still be opened."""

    reference: str
    typed: str
    problem: str
    is_there: bool


@pages.get(INBOX)
def inbox() -> Response:
    cursor = request.args.get("cursor") or None
    show = ALL if request.args.get("show") == ALL else ""
    here = {"show": show} if show else {}
    with reading():
        try:
            listed = verbs.news(actor(), limit=TICKETS, cursor=cursor, with_read=show == ALL)
        except InvalidField:
            # The cursor is invalid, for example because the URL was cut off.
            return go(address(INBOX, here))
        groups = _in_words(listed.data)
        latest = home_verbs.newest_event(actor())
    next_url = address(INBOX, here, cursor=listed.next_cursor) if listed.next_cursor else ""
    return page(
        "home/inbox.html",
        groups=groups,
        newest=max((one.newest for one in listed.data if not one.is_read), default=""),
        latest=latest,
        show=show,
        first_url=address(INBOX, here) if cursor else "",
        next_url=next_url,
    )


def _in_words(found: list[TicketNews]) -> list[dict[str, Any]]:
    """The page's data of each ticket with news; needs a unit of work."""
    events = [event for one in found for event in one.events]
    names = names_of(feed.mentioned(events)) | {actor().id: "you"}
    username = actor().username
    return [
        {
            "ticket": one.ticket,
            "events": _described(one.events, names, username),
            "more": one.more,
            "newest": one.newest,
            "oldest": one.oldest,
            "is_read": one.is_read,
            "asks": any(_mentions(event, username) for event in one.events),
        }
        for one in found
    ]


def _described(
    events: list[dict[str, Any]], names: dict[str, str], username: str
) -> list[dict[str, Any]]:
    """The events, newest first, with sentences; only a comment's newest event has its text."""
    newest = {one["payload"]["comment_id"]: one["id"] for one in events[::-1] if one["text"]}
    shown = []
    for event in events:
        text = event["text"] if event["id"] in newest.values() else ""
        said, is_cut = excerpt(text, mention_pattern(username))
        words = sentence_of(event, names, username)
        shown.append({**event, "said": said, "is_cut": is_cut, "sentence": words})
    return shown


def _mentions(event: dict[str, Any], username: str) -> bool:
    """Whether an event is a comment whose current text mentions the reader."""
    return event["event_type"] == COMMENT_CREATED and is_mentioned(username, event["text"])


def sentence_of(
    event: dict[str, Any], names: dict[str, str], username: str, ticket: str = ""
) -> str:
    if _mentions(event, username):
        return messages.mentioned_on(ticket) if ticket else messages.MENTIONED
    return feed.sentence(event, event["ticket_id"], names, ticket)


def excerpt(body: str, mention: re.Pattern[str]) -> tuple[str, bool]:
    """The first words of a comment, or those around the mention, without Markdown syntax.

    The second value is whether more text follows.
    """
    match = mention.search(body)
    first = max(0, match.start() - EXCERPT_LENGTH) if match else 0
    part = body[first : first + READ_LENGTH].strip()
    # A comment that is only an image has no plain text.
    plain = without_markdown(part).strip() or part
    match = mention.search(plain)
    start = max(0, match.start() - EXCERPT_LENGTH // 3) if match else 0
    said = plain[start : start + EXCERPT_LENGTH]
    if start + EXCERPT_LENGTH < len(plain) and " " in said[EXCERPT_LENGTH // 2 :]:
        said = said[: said.rindex(" ")]
    is_cut = start + EXCERPT_LENGTH < len(plain) or first + READ_LENGTH < len(body)
    return f"{'…' if first or start else ''}{said.strip()}", is_cut


@pages.get("/inbox/newest")
def newest() -> Response:
    """The newest news since an event, for a notification of the browser; 204 without any."""
    after = id_or_nil(request.args.get("after", ""))
    with reading():
        found = verbs.news(actor(), limit=1, cursor=None, after=after).data
        if not found:
            return Response(status=204)
        ticket, event = found[0].ticket, found[0].events[0]
        names = names_of(feed.mentioned([event])) | {actor().id: "you"}
        words = sentence_of(event, names, actor().username, ticket.display_id)
    name = event["actor"]["display_name"] if event["actor"] else messages.SYSTEM
    news = {
        "id": found[0].newest,
        "title": f"{name} {words}",
        "body": ticket.title,
        "address": f"/tickets/{ticket.display_id}",
    }
    return Response(orjson.dumps(news), mimetype="application/json")


@pages.post("/inbox/read")
def read_all() -> Response:
    """Mark everything up to the page's newest event as read."""
    event_id = request.form.get("event_id", "")
    write(lambda person: verbs.mark_read(person, event_id))
    return go(_back())


@pages.post("/inbox/<reference>/read")
def read_ticket(reference: str) -> Response:
    """Mark what the page shows of this ticket as read; htmx gets the header out of band."""
    event_id = request.form.get("event_id", "")
    write(lambda person: verbs.mark_ticket_read(person, reference, event_id))
    return _marked(reference, is_read=True)


@pages.post("/inbox/<reference>/unread")
def unread_ticket(reference: str) -> Response:
    """Make news again of what the page shows of this ticket."""
    oldest = request.form.get("oldest", "")
    write(lambda person: verbs.mark_ticket_unread(person, reference, oldest))
    return _marked(reference, is_read=False)


def _marked(reference: str, *, is_read: bool) -> Response:
    if not is_htmx():
        return go(_back())
    group = {
        "ticket": {"display_id": reference},
        "newest": request.form.get("event_id", ""),
        "oldest": request.form.get("oldest", ""),
        "is_read": is_read,
    }
    form = render("home/_mark.html", group=group, show=request.form.get("show", ""))
    return html(form + _header_status(out_of_band=True))


def _back() -> str:
    return address(INBOX, {"show": ALL}) if request.form.get("show") == ALL else INBOX


@pages.get("/header-status")
def header_status() -> Response:
    """The header's entries for bots and the inbox, which a script loads after the page."""
    return html(_header_status(out_of_band=False))


def _header_status(*, out_of_band: bool) -> str:
    with reading():
        header = verbs.header_status(actor())
    shown = "99+" if header.unread_tickets >= verbs.MAX_COUNT else str(header.unread_tickets)
    return render("home/_header_status.html", header=header, shown=shown, out_of_band=out_of_band)


@pages.get("/")
def home() -> Response:
    return _home()


def _home(refused: RefusedReply | None = None, *, status: int = 200) -> Response:
    with reading():
        own = listing.list_tickets(
            actor(),
            limit=HOME_ROWS,
            cursor=None,
            shape=WITHOUT_BODY,
            assignee_user_id=actor().id,
            state_category=[str(kind) for kind in StateCategory if kind is not StateCategory.DONE],
        )
        all_awaited = sign_offs.awaited(actor())
        waiting = {one.ticket.id for one in all_awaited}
        all_needs = home_verbs.needs(actor(), besides=waiting)
        awaited = all_awaited[: sign_offs.MAX_SHOWN_TICKETS]
        needs = all_needs[: home_verbs.NEEDS_SHOWN]
        activities = home_verbs.since_last_time(actor())
        places = home_verbs.destinations(actor())
        said = _laid_out([*needs, *awaited])
    listed = {need.ticket.display_id for need in needs}
    listed |= {one.ticket.display_id for one in awaited}
    return page(
        "home/index.html",
        tickets=own.data,
        more=own.next_cursor is not None,
        needs=needs,
        awaited=awaited,
        is_more_needed=len(awaited) < len(all_awaited) or len(needs) < len(all_needs),
        said=said,
        newest=max((one.newest for one in activities), default=""),
        activities=activities,
        projects=[one for one in places if one.kind == "project"],
        watched=[one for one in places if one.kind == "ticket"],
        recent=[one for one in places if one.kind == "page"],
        refused=refused,
        # If the reply's ticket is no longer listed, the page shows the typed text separately.
        is_apart=refused is not None and refused.reference not in listed,
        status=status,
    )


def _laid_out(needs: Sequence[Need | AwaitedSignOff]) -> dict[str, Html]:
    """The HTML of the comments, by event id; needs a unit of work."""
    by_project: dict[tuple[str, str], dict[str, str]] = {}
    for need in needs:
        if need.said:
            project = (need.ticket.project_id, need.ticket.key)
            by_project.setdefault(project, {})[need.event_id] = need.said
    html: dict[str, Html] = {}
    for (project_id, key), bodies in by_project.items():
        html |= laid_out(bodies, project_id, key)
    return html


@pages.post("/seen")
def all_seen() -> Response:
    """Mark what the page counts as seen."""
    event_id = request.form.get("event_id", "")
    write(lambda person: home_verbs.mark_seen(person, event_id))
    return go("/")


@pages.post("/tickets/<reference>/hand-back")
def hand_back(reference: str) -> Response:
    """Comment on a ticket that a bot handed over and assign it to the bot, in one transaction."""
    body = normalize_newlines(request.form.get("body", "")).strip()
    bot_id = request.form.get("bot_id", "")

    def work(person: Actor) -> None:
        ticket: Ticket = service.update_ticket(
            person, reference, assignee_user_id=bot_id, expected_assignee_user_id=person.id
        )
        if body:
            comments.create_comment(person, ticket.id, body=body)

    return _reply_or_refuse(reference, body, work, "/")


@pages.post("/tickets/<reference>/reply")
def reply(reference: str) -> Response:
    """Comment on a ticket from the home page or from the inbox, where its news is then read."""
    body = normalize_newlines(request.form.get("body", ""))
    event_id = request.form.get("event_id", "")

    def work(person: Actor) -> None:
        with in_page_words():
            comments.create_comment(person, reference, body=body)
        if event_id:
            verbs.mark_ticket_read(person, reference, event_id)

    return _reply_or_refuse(reference, body, work, _back() if event_id else "/")


def _reply_or_refuse(
    reference: str, body: str, work: Callable[[Actor], None], target: str
) -> Response:
    """Go to ``target`` after a reply, or show the home page with the refused reply."""
    try:
        write(work)
    except (InvalidField, Conflict, Gone, NotFound) as error:
        is_there = not isinstance(error, Gone | NotFound)
        refused = RefusedReply(reference, body, _reason(reference, error), is_there)
        return _home(refused, status=error.status)
    return go(target)


@pages.get("/tickets/<reference>/sign-off")
def show_sign_off(reference: str) -> Response:
    """What bots did on the ticket since a person last did anything; htmx gets the list alone."""
    with reading():
        ticket, events = sign_offs.done_by_bots(actor(), reference)
        names = names_of(feed.mentioned([as_mapping(event) for event in events]))
        references = References(
            undone=undone_of(events) if events else frozenset(),
            receipts=with_answers((event.id, event.receipt) for event in events),
        )
        changes: list[ReviewedChange] = [
            reviewed_change(event, references, names) for event in events
        ]
    return page("home/sign_off.html", block="changes", ticket=ticket, changes=changes)


@pages.post("/tickets/<reference>/sign-off")
def decide_sign_off(reference: str) -> Response:
    """Sign the ticket off, or send it back with a comment."""
    body = normalize_newlines(request.form.get("body", "")).strip()
    seen = request.form.get("seen", "")
    is_good = request.form.get("decision") == "sign_off"
    verb = sign_offs.sign_off if is_good else sign_offs.send_back

    def work(person: Actor) -> None:
        verb(person, reference, seen=seen, comment=body)

    return _reply_or_refuse(reference, body, work, "/")


def _reason(reference: str, error: DomainError) -> str:
    details = error.details or {}
    if details.get("reason") != "assignee_mismatch":
        return sentence(error.message)
    holder = details["assignee"]
    now = messages.assigned_to(holder["display_name"]) if holder else messages.UNASSIGNED
    return messages.cannot_hand_back(reference, now)
