"""The review of a bot: all that it did since one last looked, to take back or to find good."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from flask import Response, request

from app.activity import bot_review
from app.activity.bot_review import Around, Review
from app.activity.pages.blueprint import pages
from app.activity.sentences import sentence
from app.audit.catalogue import may_be_undone
from app.audit.models import AuditEvent
from app.database.session import reading
from app.text.diff import Diff, compare
from app.tickets import stream_queries
from app.tickets.pages import feed
from app.web.guard import actor, write
from app.web.render import go, page
from app.web.wiki_addresses import address_of

# Types whose sentence the page of a ticket says better.
OF_TICKETS = ("ticket.", "comment.")


@dataclass(frozen=True, slots=True)
class ReviewedChange:
    """One event: what it says, the text that it brought, and whether it can be taken back."""

    id: str
    at: int
    sentence: str
    is_undone: bool
    may_be_undone: bool
    diff: Diff | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class ReviewedSubject:
    """What several events of a request are about."""

    name: str
    title: str
    href: str
    deeds: list[ReviewedChange] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class ReviewedCall:
    """One request of the bot."""

    request_id: str | None
    tool: str | None
    at: int
    subjects: list[ReviewedSubject]

    @property
    def can_be_undone(self) -> bool:
        """Whether undoing all of it is worth offering: more than one event has a way back."""
        ways = [deed for one in self.subjects for deed in one.deeds if deed.may_be_undone]
        return self.request_id is not None and len(ways) > 1


@pages.get("/bots/<username>/review")
def review(username: str) -> Response:
    """Show what the bot did since the reader last looked."""
    with reading():
        found = bot_review.review(actor(), username)
        names = stream_queries.names_of(feed.mentioned([_mapping(one) for one in found.events]))
        calls = _calls(found, names | found.around.labels)
    return page(
        "bots/review.html",
        bot=found.bot,
        looked_at=found.looked_at,
        since=found.since,
        days=bot_review.FIRST_LOOK_DAYS,
        calls=calls,
        count=len(found.events),
        left=found.left,
        counted=bot_review.COUNTED,
        last=found.events[-1].id if found.events else "",
    )


@pages.post("/bots/<username>/review")
def approve(username: str) -> Response:
    """Remember that the reader saw all up to an event and found it good."""
    event_id = request.form.get("event_id", "")
    write(lambda present: bot_review.mark_reviewed(present, username, event_id))
    return go(f"/bots/{username}/review")


def _mapping(event: AuditEvent) -> dict[str, Any]:
    return {"event_type": event.event_type, "payload": event.payload, "actor": None}


def _calls(found: Review, names: Mapping[str, str]) -> list[ReviewedCall]:
    """The events by request and, within one, by what they are about."""
    made = []
    for request_id, events in groupby(found.events, key=lambda one: one.request_id or one.id):
        together = list(events)
        subjects: dict[str, ReviewedSubject] = {}
        for event in together:
            about = event.ticket_id or event.target_id or event.id
            if about not in subjects:
                subjects[about] = _subject(event, found.around)
            subjects[about].deeds.append(_deed(event, found.around, names))
        first = together[0]
        made.append(
            ReviewedCall(
                request_id=first.request_id,
                tool=found.around.tools.get(request_id),
                at=first.created_at,
                subjects=list(subjects.values()),
            )
        )
    return made


def _subject(event: AuditEvent, around: Around) -> ReviewedSubject:
    if event.ticket_id in around.tickets:
        display_id, title = around.tickets[event.ticket_id]
        return ReviewedSubject(display_id, title, f"/tickets/{display_id}")
    one = around.pages.get(event.target_id or "")
    if one is not None:
        return ReviewedSubject(
            "Wiki", one.title, address_of(one.key, one.slug, event.target_id or "")
        )
    return ReviewedSubject("", event.target_kind.replace("_", " ").capitalize(), "")


def _deed(event: AuditEvent, around: Around, names: Mapping[str, str]) -> ReviewedChange:
    if event.event_type.startswith(OF_TICKETS):
        words = feed.sentence(_mapping(event), event.ticket_id or "", names)
        words = words.replace("this ticket", "it").replace(" this ", " it ")
    else:
        words = sentence(event.event_type, event.payload, None)
    is_undone = event.id in around.undone
    return ReviewedChange(
        id=event.id,
        at=event.created_at,
        sentence=words,
        is_undone=is_undone,
        may_be_undone=not is_undone
        and may_be_undone(event.event_type, event.actor_user_id, actor().user_id),
        diff=_diff(event, around),
        said=event.payload.get("body") or "" if event.event_type == "comment.created" else "",
    )


def _diff(event: AuditEvent, around: Around) -> Diff | None:
    """What a text says now and did not before."""
    if event.event_type == "comment.updated":
        return compare(event.payload["previous_body"], event.payload["body"])
    if event.event_type == "wiki.updated" and event.payload["body_changed"]:
        number, page_id = event.payload["revision_number"], event.target_id or ""
        before, after = (around.bodies.get((page_id, at), "") for at in (number - 1, number))
        return compare(before, after)
    change = event.payload.get("changes", {}).get("body")
    if event.event_type == "ticket.updated" and change:
        return compare(change["from"], change["to"])
    return None
