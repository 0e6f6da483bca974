"""The stream of a ticket: comments and events in one list, oldest first."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from operator import itemgetter
from typing import Any

from flask import Response

from app.accounts.builders import UserSummary
from app.audit.event_types import may_be_undone
from app.audit.models import AuditEvent
from app.core import ids
from app.core.clock import MINUTE_MS
from app.core.errors import NotFound
from app.database.session import by_id, reading
from app.markdown import Targets
from app.text.diff import compare
from app.tickets import page_queries, stream_queries
from app.tickets.importing import history_of
from app.tickets.links import LINK_CHANGED
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import feed
from app.tickets.pages.blueprint import pages, ticket_page
from app.tickets.pages.reading_words import ReadingWords, what_was_read
from app.web.filters import moment_ms
from app.web.guard import actor
from app.web.texts import html_of, link_targets

# At least RUN_LENGTH consecutive changes by one actor, each within this time of the previous one,
# are folded into one entry.
TOGETHER_MS = 5 * MINUTE_MS
RUN_LENGTH = 3
# Live updates look back this far: on PostgreSQL an earlier event may commit later.
OVERLAP_MS = 5000
# The key of the ticket's own text; anchors of its headings begin with it.
BODY = "h"
COMMENT = "comment."

Comments = list[dict[str, Any]]


class Show(StrEnum):
    ALL = "all"
    COMMENTS = "comments"
    CHANGES = "changes"
    BOTS = "bots"


FILTERS = [(show, show.capitalize()) for show in Show]


@dataclass(frozen=True, slots=True)
class StreamLine:
    """One event, and whether the reader can undo or compare it."""

    id: str
    event_type: str
    actor: UserSummary | None
    at: int
    sentence: str
    short: tuple[str, ...]
    request_id: str | None
    tool: str | None
    undo_of: str | None
    is_undone: bool
    may_be_undone: bool
    # Whether the description changed, so that a diff can be shown.
    has_diff: bool
    reading: ReadingWords | None

    @property
    def is_bots(self) -> bool:
        return self.actor is not None and self.actor["type"] == "bot"


@dataclass(frozen=True, slots=True)
class Said:
    """One comment, with the tool that wrote it and the event that deleted it."""

    comment: dict[str, Any]
    at: int
    tool: str | None = None
    request_id: str | None = None
    deleted_by: UserSummary | None = None
    deletion_id: str | None = None
    reading: ReadingWords | None = None

    @property
    def is_bots(self) -> bool:
        return bool(self.comment["author"]["type"] == "bot")


@dataclass(frozen=True, slots=True)
class Reacted:
    """The reactions to a comment that is already on the page."""

    reacted: dict[str, Any]


@dataclass(frozen=True, slots=True)
class StreamRun:
    lines: tuple[StreamLine, ...]

    @property
    def words(self) -> list[str]:
        return list(dict.fromkeys(word for line in self.lines for word in line.short))

    @property
    def is_bots(self) -> bool:
        return self.lines[0].is_bots


Entry = StreamLine | Said | StreamRun


@dataclass(frozen=True, slots=True)
class Stream:
    entries: list[Entry] = field(default_factory=list)
    show: Show = Show.ALL
    # Whether older changes are omitted.
    is_cut: bool = False
    # The id of the oldest comment in it, if there are older ones.
    oldest: str = ""
    # The last event, and the number of events in the overlap before it.
    since: str = ""
    overlap: int = 0


def chosen(value: str | None) -> Show:
    return Show(value) if value in set(Show) else Show.ALL


@dataclass(frozen=True, slots=True)
class StreamRows:
    """The data of a stream, before any text is rendered."""

    show: Show
    events: list[dict[str, Any]]
    comments: Comments
    # Of the users and tickets that the events mention, by id.
    names: dict[str, str]
    targets: Targets


def rows(subject: TicketPageData, show: Show) -> StreamRows:
    """The rows of the stream. Needs a unit of work."""
    events = stream_queries.events_of(subject.ticket["id"])
    # The page requests news after its last event, so it must have the comment of each event.
    has_comments = subject.has_comments or any(event["comment_id"] for event in events)
    comments = stream_queries.comments_of(subject.ticket["id"]) if has_comments else []
    names = stream_queries.names_of(feed.mentioned(events))
    return StreamRows(show, events, comments, names, _targets(subject, comments))


def render_rows(subject: TicketPageData, rows: StreamRows) -> Stream:
    """The stream; also renders the ticket's own text."""
    events = rows.events
    comments, oldest = newest(lay_out(subject, rows.comments, rows.targets))
    return Stream(
        entries=entries(subject, events, comments, rows.show, rows.names),
        show=rows.show,
        is_cut=len(events) == stream_queries.EVENTS_SHOWN,
        oldest=oldest,
        **position(subject.ticket["id"], events),
    )


def newest(comments: Comments) -> tuple[Comments, str]:
    """The comments that one page shows, and the id of the first of them if there are older ones."""
    shown = comments[-stream_queries.COMMENTS_SHOWN :]
    return shown, shown[0]["id"] if len(shown) < len(comments) else ""


def position(ticket_id: str, events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """``since`` and ``overlap`` of a ``Stream`` after these events."""
    if not events:
        return {"since": ticket_id, "overlap": 0}
    newest = events[-1]["created_at"]
    overlap = sum(newest - event["created_at"] <= OVERLAP_MS for event in events)
    return {"since": events[-1]["id"], "overlap": overlap}


def _bodies(subject: TicketPageData, comments: Comments) -> dict[str, str]:
    bodies = {
        f"c{comment['id']}": history[1] if (history := _history(comment)) else comment["body"]
        for comment in comments
        if comment["deleted_at"] is None
    }
    return {BODY: subject.ticket["body"], **bodies}


def _history(comment: dict[str, Any]) -> tuple[str, str] | None:
    """The title and the list of an imported history, which is folded; None for other comments.

    A comment that is written here has the time of its id; only an import sets a different one.
    """
    history = None if comment["edit_history"] else history_of(comment["body"])
    if history and moment_ms(comment["created_at"]) == ids.created_ms(comment["id"]):
        return None
    return history


def _titled(comment: dict[str, Any]) -> dict[str, Any]:
    history = _history(comment)
    return {"history": history[0]} if history else {}


def _targets(subject: TicketPageData, comments: Comments) -> Targets:
    bodies = _bodies(subject, comments).values()
    return link_targets(bodies, subject.project["id"], subject.project["key"])


def lay_out(
    subject: TicketPageData, comments: Comments, targets: Targets | None = None
) -> Comments:
    """Render the bodies: set ``html`` of the ticket, and return copies of the comments with it.

    Without ``targets`` all links are resolved in one query, which needs a unit of work.
    """
    html = html_of(_bodies(subject, comments), targets or _targets(subject, comments))
    subject.ticket["html"] = html[BODY].html
    return [
        {**comment, "html": html[key].html, **_titled(comment)}
        if (key := f"c{comment['id']}") in html
        else comment
        for comment in comments
    ]


def entries(
    subject: TicketPageData,
    events: list[dict[str, Any]],
    comments: Comments,
    show: Show,
    names: Mapping[str, str] | None = None,
) -> list[Entry]:
    found: list[StreamLine | Said] = []
    if show is not Show.COMMENTS:
        found += lines(subject, events, names)
    if show is not Show.CHANGES:
        found += said(comments, events)
    if show is Show.BOTS:
        found = [entry for entry in found if entry.is_bots]
    return folded(sorted(found, key=lambda entry: entry.at))


def lines(
    subject: TicketPageData,
    events: Sequence[dict[str, Any]],
    names: Mapping[str, str] | None = None,
) -> list[StreamLine]:
    """The events as lines, except those of comments, which belong to the comment's entry.

    Without ``names``, the names that the events mention are looked up in a unit of work.
    """
    undone = undone_among(events)
    if names is None:
        names = stream_queries.names_of(feed.mentioned(events))
    reader = actor().user_id
    readings = _readings(subject.ticket["id"], events)
    return [
        StreamLine(
            id=event["id"],
            event_type=event["event_type"],
            actor=event["actor"],
            at=event["created_at"],
            sentence=feed.sentence(event, subject.ticket["id"], names),
            short=tuple(feed.short(event)),
            request_id=event["request_id"],
            tool=event["tool"],
            undo_of=event["undo_of"],
            is_undone=event["id"] in undone,
            may_be_undone=event["id"] not in undone
            and may_be_undone(event["event_type"], _id(event["actor"]), reader),
            has_diff="body" in event["payload"].get("changes", ()),
            reading=readings.get(event["id"]),
        )
        for event in events
        if not event["event_type"].startswith((COMMENT, LINK_CHANGED))
    ]


def _readings(ticket_id: str, events: Sequence[dict[str, Any]]) -> dict[str, ReadingWords]:
    """What bots had read, by the first event of each request, as those share a receipt."""
    found: dict[str, ReadingWords] = {}
    requests: set[str | None] = set()
    for event in events:
        if event["receipt"] is not None and event["request_id"] not in requests:
            requests.add(event["request_id"])
            words = what_was_read(event["receipt"], ticket_id)
            if words is not None:
                found[event["id"]] = words
    return found


def _id(user: UserSummary | None) -> str | None:
    return user["id"] if user else None


def undone_among(events: Iterable[dict[str, Any]]) -> set[str]:
    """The events that a later event undoes, unless that event is undone itself."""
    undone: set[str] = set()
    for event in sorted(events, key=itemgetter("id"), reverse=True):
        if event["undo_of"] and event["id"] not in undone:
            undone.add(event["undo_of"])
    return undone


def said(comments: Comments, events: Sequence[dict[str, Any]]) -> list[Said]:
    """The comments as entries, with details of the events that created and deleted them."""
    latest = {(event["comment_id"], event["event_type"]): event for event in events}
    readings = _readings(comments[0]["ticket_id"], events) if comments else {}
    found = []
    for comment in comments:
        creation = latest.get((comment["id"], "comment.created"), {})
        deletion = latest.get((comment["id"], "comment.deleted"), {})
        found.append(
            Said(
                comment={**comment, "edits": len(comment["edit_history"])},
                at=moment_ms(comment["created_at"]),
                tool=creation.get("tool"),
                request_id=creation.get("request_id"),
                deleted_by=deletion.get("actor"),
                deletion_id=deletion.get("id"),
                reading=readings.get(creation.get("id", "")),
            )
        )
    return found


def folded(entries: Iterable[StreamLine | Said]) -> list[Entry]:
    """The entries, with each run of changes by one actor folded into one entry."""
    result: list[Entry] = []
    run: list[StreamLine] = []

    def close() -> None:
        result.extend([StreamRun(tuple(run))] if len(run) >= RUN_LENGTH else run)
        run.clear()

    for entry in entries:
        if isinstance(entry, StreamLine) and entry.event_type != "ticket.created":
            if run and not _continues(run[-1], entry):
                close()
            run.append(entry)
        else:
            close()
            result.append(entry)
    close()
    return result


def _continues(before: StreamLine, line: StreamLine) -> bool:
    return _id(before.actor) == _id(line.actor) and line.at - before.at <= TOGETHER_MS


@pages.get("/tickets/<reference>/changes/<event_id>")
def show_change(reference: str, event_id: str) -> Response:
    """The diff of a changed description; raises NotFound for any other event."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        event = by_id(AuditEvent, event_id)
    change = event.payload.get("changes", {}).get("body") if event else None
    if event is None or change is None or event.ticket_id != subject.ticket["id"]:
        raise NotFound("audit_event", event_id)
    diff = compare(change["from"], change["to"])
    return ticket_page("tickets/change.html", subject, block="diff", event=event, diff=diff)
