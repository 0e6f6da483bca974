"""The stream of a ticket: comments and events in one list, the oldest first."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from flask import Response

from app.accounts.builders import UserSummary
from app.audit.catalogue import may_be_undone
from app.audit.models import AuditEvent
from app.core.clock import MINUTE_MS
from app.core.errors import NotFound
from app.database.session import by_id, reading
from app.text.diff import compare
from app.tickets import page_queries, stream_queries
from app.tickets.page_queries import TicketPageData
from app.tickets.pages import feed
from app.tickets.pages.blueprint import pages
from app.tickets.pages.texts import lay_out
from app.web.filters import moment_ms
from app.web.guard import actor
from app.web.render import page


@pages.get("/tickets/<reference>/changes/<event_id>")
def show_change(reference: str, event_id: str) -> Response:
    """The diff of the texts before and after; raises NotFound for an event without one."""
    with reading():
        subject = page_queries.subject(actor(), reference)
        event = by_id(AuditEvent, event_id)
    change = event.payload.get("changes", {}).get("body") if event else None
    if event is None or change is None or event.ticket_id != subject.ticket["id"]:
        raise NotFound("audit_event", event_id)
    return page(
        "tickets/change.html",
        block="diff",
        ticket=subject.ticket,
        project=subject.project,
        event=event,
        diff=compare(change["from"], change["to"]),
    )


# Changes by one actor within this time, with nothing in between, are one line ...
TOGETHER_MS = 5 * MINUTE_MS
# ... if they are at least so many; two lines read as well.
RUN_LENGTH = 3
# The cursor of live updates looks back so far: on PostgreSQL an earlier event may commit later.
OVERLAP_MS = 5000
COMMENT = "comment."
NOT_SHOWN = {"body", "edit_history"}


class Show(StrEnum):
    """Which part of the stream is shown."""

    ALL = "all"
    COMMENTS = "comments"
    CHANGES = "changes"
    BOTS = "bots"


FILTERS = [
    (Show.ALL, "All"),
    (Show.COMMENTS, "Comments"),
    (Show.CHANGES, "Changes"),
    (Show.BOTS, "Bots"),
]


@dataclass(frozen=True, slots=True)
class StreamLine:
    """One event: who did what, and what a reader can do about it."""

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
    # Whether a text changed, so that words can be compared.
    has_diff: bool

    @property
    def is_bots(self) -> bool:
        """Whether a bot did it."""
        return self.actor is not None and self.actor["type"] == "bot"


@dataclass(frozen=True, slots=True)
class Said:
    """One comment, with the tool that wrote it, and who deleted it by which event."""

    comment: dict[str, Any]
    at: int
    tool: str | None = None
    request_id: str | None = None
    deleted_by: UserSummary | None = None
    deletion_id: str | None = None

    @property
    def is_bots(self) -> bool:
        """Whether a bot wrote it."""
        return bool(self.comment["author"]["type"] == "bot")


@dataclass(frozen=True, slots=True)
class StreamRun:
    """Several changes by one actor, folded into one line."""

    lines: tuple[StreamLine, ...]

    @property
    def words(self) -> list[str]:
        """What changed, each thing once."""
        return list(dict.fromkeys(word for line in self.lines for word in line.short))

    @property
    def is_bots(self) -> bool:
        """Whether a bot did it."""
        return self.lines[0].is_bots


Entry = StreamLine | Said | StreamRun


@dataclass(frozen=True, slots=True)
class Stream:
    """The entries that a reader asked for, and where live updates go on."""

    entries: list[Entry] = field(default_factory=list)
    show: Show = Show.ALL
    # Whether older ones are left out, and whether the reader's own comments are among them.
    is_cut: bool = False
    has_own: bool = False
    since: str = ""
    overlap: int = 0


def chosen(value: str | None) -> Show:
    """The part of the stream that an address asks for."""
    return Show(value) if value in set(Show) else Show.ALL


def read(subject: TicketPageData, show: Show, *, with_body: bool = True) -> Stream:
    """The stream, in a unit of work; with ``with_body`` the ticket's own text is laid out too."""
    ticket_id = subject.ticket["id"]
    events = stream_queries.events_of(ticket_id)
    comments = stream_queries.comments_of(ticket_id)
    laid_out = lay_out(subject, comments, only_comments=not with_body)
    since = events[-1]["id"] if events else ticket_id
    newest = events[-1]["created_at"] if events else 0
    return Stream(
        entries=[_as_shown(one) for one in entries(subject, events, laid_out, show)],
        show=show,
        is_cut=len(events) == stream_queries.EVENTS_SHOWN
        or len(comments) == stream_queries.COMMENTS_SHOWN,
        has_own=any(one["author_user_id"] == actor().id for one in comments),
        since=since,
        overlap=sum(newest - one["created_at"] <= OVERLAP_MS for one in events),
    )


def _as_shown(entry: Entry) -> Entry:
    """An entry without the texts of a comment that nothing shows: what it said, and said before."""
    if not isinstance(entry, Said):
        return entry
    seen = {name: it for name, it in entry.comment.items() if name not in NOT_SHOWN}
    return replace(entry, comment=seen)


def entries(
    subject: TicketPageData,
    events: list[dict[str, Any]],
    comments: list[dict[str, Any]],
    show: Show,
) -> list[Entry]:
    """Comments and events as the entries of a part of the stream."""
    found: list[StreamLine | Said] = []
    if show is not Show.COMMENTS:
        found += lines(subject, events)
    if show is not Show.CHANGES:
        found += said(comments, events)
    if show is Show.BOTS:
        found = [one for one in found if one.is_bots]
    return folded(sorted(found, key=lambda one: one.at))


def lines(subject: TicketPageData, events: Sequence[dict[str, Any]]) -> list[StreamLine]:
    """The events that are lines of their own; those of comments show on the comments."""
    undone = undone_among(events)
    names = {label["id"]: label["name"] for label in subject.labels}
    names |= stream_queries.names_of(feed.mentioned(events))
    reader = actor().user_id
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
        )
        for event in events
        if not event["event_type"].startswith(COMMENT)
    ]


def _id(user: UserSummary | None) -> str | None:
    return user["id"] if user else None


def undone_among(events: Iterable[dict[str, Any]]) -> set[str]:
    """The events that others undo, unless those were undone in turn; from the newest back."""
    undone: set[str] = set()
    for event in sorted(events, key=lambda one: one["id"], reverse=True):
        if event["undo_of"] and event["id"] not in undone:
            undone.add(event["undo_of"])
    return undone


def said(comments: Iterable[dict[str, Any]], events: Iterable[dict[str, Any]]) -> list[Said]:
    """The comments, each with what its events say of it."""
    written: dict[str, dict[str, Any]] = {}
    deleted: dict[str, dict[str, Any]] = {}
    for event in events:
        if event["event_type"] == "comment.created":
            written[event["comment_id"]] = event
        elif event["event_type"] == "comment.deleted":
            deleted[event["comment_id"]] = event
    found = []
    for comment in comments:
        by, end = written.get(comment["id"], {}), deleted.get(comment["id"], {})
        found.append(
            Said(
                comment={**comment, "edits": len(comment["edit_history"])},
                at=moment_ms(comment["created_at"]),
                tool=by.get("tool"),
                request_id=by.get("request_id"),
                deleted_by=end.get("actor"),
                deletion_id=end.get("id"),
            )
        )
    return found


def folded(entries: Iterable[StreamLine | Said]) -> list[Entry]:
    """Runs of changes by one actor as one entry each."""
    made: list[Entry] = []
    run: list[StreamLine] = []

    def close() -> None:
        made.extend([StreamRun(tuple(run))] if len(run) >= RUN_LENGTH else run)
        run.clear()

    for one in entries:
        if isinstance(one, StreamLine) and one.event_type != "ticket.created":
            if run and not _goes_on(run[-1], one):
                close()
            run.append(one)
        else:
            close()
            made.append(one)
    close()
    return made


def _goes_on(before: StreamLine, line: StreamLine) -> bool:
    return _id(before.actor) == _id(line.actor) and line.at - before.at <= TOGETHER_MS
