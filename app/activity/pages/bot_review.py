"""The page on which a person reviews what a bot did, undoes it, or marks it as reviewed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby

from flask import Response, request

from app.activity import bot_review, messages
from app.activity.bot_review import References, Review
from app.activity.pages.log import pages
from app.activity.sentences import as_mapping, sentence
from app.audit.event_types import may_be_undone
from app.audit.models import AuditEvent
from app.database.session import reading
from app.text.diff import Diff, compare
from app.tickets import stream_queries
from app.tickets.pages import feed
from app.tickets.pages.messages import THIS_TICKET
from app.tickets.pages.reading_words import ReadingWords, what_was_read
from app.web.guard import actor, write
from app.web.render import go, page
from app.web.wiki_addresses import address_of

UNREAD = "unread"
FILTERS = (("", messages.ALL), (UNREAD, messages.CHANGED_WITHOUT_READING))


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """One event: its sentence, its new text, and whether it can be undone."""

    id: str
    at: int
    sentence: str
    is_undone: bool
    may_be_undone: bool
    diff: Diff | None = None
    said: str = ""
    reading: ReadingWords | None = None


@dataclass(frozen=True, slots=True)
class ReviewedSubject:
    """The ticket, page or other target of several events of a request."""

    name: str
    title: str
    href: str
    changes: list[ReviewedChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    request_id: str | None
    tool: str | None
    traceparent: str | None
    at: int
    subjects: list[ReviewedSubject]

    @property
    def can_be_undone(self) -> bool:
        """Whether to offer undoing the whole request: more than one event can be undone."""
        changes = [change for subject in self.subjects for change in subject.changes]
        undoable = [change for change in changes if change.may_be_undone]
        return self.request_id is not None and len(undoable) > 1


@pages.get("/bots/<username>/review")
def review(username: str) -> Response:
    unread = request.args.get("show") == UNREAD
    with reading():
        content = bot_review.review(actor(), username, unread=unread)
        mentioned = feed.mentioned([as_mapping(event) for event in content.events])
        names = stream_queries.names_of(mentioned)
        calls = _calls(content, names)
    return page(
        "bots/review.html",
        bot=content.bot,
        filters=FILTERS,
        shown=UNREAD if unread else "",
        looked_at=content.looked_at,
        since=content.since,
        days=bot_review.FIRST_LOOK_DAYS,
        calls=calls,
        count=len(content.events),
        left=content.left,
        counted=bot_review.MAX_COUNT,
        last=content.events[-1].id if content.events else "",
    )


@pages.post("/bots/<username>/review")
def approve(username: str) -> Response:
    """Mark all events up to one as reviewed."""
    event_id = request.form.get("event_id", "")
    write(lambda person: bot_review.mark_reviewed(person, username, event_id))
    return go(f"/bots/{username}/review")


def _calls(content: Review, names: Mapping[str, str]) -> list[ReviewedCall]:
    """The events by request and, within a request, by subject."""
    references = content.references
    calls = []
    for request_id, group in groupby(content.events, key=lambda one: one.request_id or one.id):
        events = list(group)
        subjects: dict[str, ReviewedSubject] = {}
        for event in events:
            subject_id = event.ticket_id or event.target_id or event.id
            if subject_id not in subjects:
                subjects[subject_id] = _subject(event, references)
            subjects[subject_id].changes.append(reviewed_change(event, references, names))
        calls.append(
            ReviewedCall(
                request_id=events[0].request_id,
                tool=references.tools.get(request_id),
                traceparent=references.traces.get(request_id),
                at=events[0].created_at,
                subjects=list(subjects.values()),
            )
        )
    return calls


def _subject(event: AuditEvent, references: References) -> ReviewedSubject:
    if event.ticket_id in references.tickets:
        display_id, title = references.tickets[event.ticket_id]
        return ReviewedSubject(display_id, title, f"/tickets/{display_id}")
    page_id = event.target_id or ""
    wiki_page = references.pages.get(page_id)
    if wiki_page is not None:
        href = address_of(wiki_page.key, wiki_page.slug, page_id)
        return ReviewedSubject(messages.WIKI, wiki_page.title, href)
    return ReviewedSubject("", event.target_kind.replace("_", " ").capitalize(), "")


def reviewed_change(
    event: AuditEvent, references: References, names: Mapping[str, str]
) -> ReviewedChange:
    words = sentence(as_mapping(event), names)
    words = words.replace(THIS_TICKET, "it").replace(" this ", " it ")
    is_undone = event.id in references.undone
    return ReviewedChange(
        id=event.id,
        at=event.created_at,
        sentence=words,
        is_undone=is_undone,
        may_be_undone=not is_undone
        and may_be_undone(event.event_type, event.actor_user_id, actor().user_id),
        diff=_diff(event, references),
        said=event.payload.get("body") or "" if event.event_type == "comment.created" else "",
        reading=what_was_read(references.receipts[event.id], event.ticket_id),
    )


def _diff(event: AuditEvent, references: References) -> Diff | None:
    """The difference between the old and the new text, if the event changed one."""
    if event.event_type == "comment.updated":
        return compare(event.payload["previous_body"], event.payload["body"])
    if event.event_type == "wiki.updated" and event.payload["body_changed"]:
        number, page_id = event.payload["revision_number"], event.target_id or ""
        before = references.bodies.get((page_id, number - 1), "")
        return compare(before, references.bodies.get((page_id, number), ""))
    change = event.payload.get("changes", {}).get("body")
    if event.event_type == "ticket.updated" and change:
        return compare(change["from"], change["to"])
    return None
