"""Making receipts: what a bot has read of what it is about to change.

``audit/reading_status.py`` says what a receipt means.
"""

from typing import Any

import orjson
from sqlalchemy import Text, and_, bindparam, cast, func, literal, select, true

from app.accounts import bot_reads
from app.accounts.bot_reads import GAP, Shown
from app.accounts.models import BotRead, BotReader
from app.accounts.read_notes import notes, shared_us
from app.audit.receipts import NAMED, Receipt, Subject, VersionedKind
from app.core.actor import Actor
from app.core.clock import now_ms
from app.database.columns import Id
from app.database.session import Prepared
from app.database.sql_functions import ClockMicros, JsonRows
from app.tickets.models import Comment
from app.wiki.models import WikiPage

# The slug of the house rules.
RULES = "agents"
# The newest comments of a ticket that a receipt is about.
COMMENTS = 200
# Where the parts of a receipt have the version that there was.
VERSION_OF = {"ticket": "version", "page": "revision", "house_rules": "revision"}

_USER = bindparam("user_id", type_=Id())
_IS_RULES = and_(WikiPage.slug == RULES, WikiPage.deleted_at.is_(None))
_project_rules = select(WikiPage.id).where(
    _IS_RULES, WikiPage.project_id == bindparam("project_id", type_=Id())
)
_global_rules = select(WikiPage.id).where(_IS_RULES, WikiPage.project_id.is_(None))
_rules = (
    select(WikiPage.id, WikiPage.revision_number, WikiPage.updated_at)
    .where(
        WikiPage.id
        == func.coalesce(_project_rules.scalar_subquery(), _global_rules.scalar_subquery())
    )
    .subquery("rules")
)
_subjects = [
    *(bindparam(name, type_=Text()) for name in ("ticket", "comments", "page")),
    literal(GAP, Text()),
    literal("page:", Text()) + cast(_rules.c.id, Text),
]
_reads = (
    select(JsonRows(BotRead.subject, BotRead.version, BotRead.seen))
    .where(BotRead.user_id == _USER, BotRead.subject.in_(_subjects))
    .correlate(_rules)
    .scalar_subquery()
)
_readers = (
    select(JsonRows(BotReader.process_id))
    .where(
        BotReader.user_id == _USER,
        BotReader.process_id != bindparam("process_id", type_=Id()),
    )
    .scalar_subquery()
)
_newest = (
    select(Comment.id, Comment.author_user_id, Comment.created_at)
    .where(Comment.ticket_id == bindparam("ticket_id", type_=Id()), Comment.deleted_at.is_(None))
    .order_by(Comment.created_at.desc(), Comment.id.desc())
    .limit(COMMENTS)
    .subquery("newest")
)
_comments = select(
    JsonRows(_newest.c.id, _newest.c.author_user_id, _newest.c.created_at)
).scalar_subquery()
_one = select(literal(1).label("one")).subquery("one")


def _known(*more: Any) -> Prepared:
    columns = (_rules.c.id, _rules.c.revision_number, _rules.c.updated_at)
    return Prepared(
        select(
            *columns,
            _reads.label("reads"),
            _readers.label("readers"),
            ClockMicros().label("at"),
            *more,
        )
        .select_from(_one)
        .outerjoin(_rules, true())
    )


_KNOWN, _KNOWN_OF_TICKET = _known(), _known(_comments.label("discussion"))


class _KnownReads:
    """What is known of the reads of a bot, and what it could have read."""

    def __init__(self, actor: Actor, subject: Subject) -> None:
        kept = notes()
        key = subject.row.id if subject.row is not None else ""
        self.user_id = actor.id
        # The unread comments that a receipt does not name, oldest first.
        self.more_unread: list[list[Any]] = []
        values = {
            "user_id": actor.id,
            "process_id": kept.process_id,
            "project_id": subject.project_id,
            "ticket": bot_reads.of_ticket(key),
            "comments": bot_reads.of_comments(key),
            "page": bot_reads.of_page(key),
        }
        if subject.kind is VersionedKind.TICKET:
            row = _KNOWN_OF_TICKET.first(**values, ticket_id=key)
            self.discussion = orjson.loads(row.discussion or "[]")
        else:
            row = _KNOWN.first(**values)
        self.at: int | None = row.at
        self.rules = (row.id, row.revision_number, row.updated_at) if row.id else None
        # What it knows to be lost is not stored yet.
        self.since = now_ms() if actor.id in kept.lost else 0
        self.readers = [one for (one,) in orjson.loads(row.readers or "[]")]
        self._reads: dict[str, Shown] = {}
        for name, version, seen in orjson.loads(row.reads or "[]"):
            if name == GAP:
                self.since = max(self.since, version)
            else:
                marks = bot_reads.marks_in(seen) if name == values["comments"] else frozenset()
                self._reads[name] = Shown(name, version, marks)

    def of(self, subject: str) -> Shown:
        # Asked last: what was noted before is stored by now, or still here.
        noted = notes().known(self.user_id, subject)
        return noted.with_more(self._reads.get(subject, noted))


def build(actor: Actor, subject: Subject) -> Receipt:
    """The receipt of a change that is about to be made, in its transaction."""
    known = _KnownReads(actor, subject)
    receipt: Receipt = {}
    if subject.kind is VersionedKind.TICKET:
        read = known.of(bot_reads.of_ticket(subject.row.id)).version
        receipt["ticket"] = {"version": subject.version, "read": read}
        receipt["comments"] = _discussion(actor, known, subject.row.id)
    elif subject.kind is VersionedKind.PAGE:
        page = (subject.row.id, subject.version, subject.row.updated_at)
        receipt["page"] = _page(known, *page)
    if known.rules is not None:
        receipt["house_rules"] = _page(known, *known.rules)
    if not _lacks_something(receipt):
        # Nothing that others know, or that was lost, could be more.
        return receipt
    if known.since:
        receipt["known_since"] = known.since
    if known.readers:
        receipt["other_readers"] = known.readers
        # What they showed before this time counts.
        receipt["at"] = known.at or shared_us()
        if known.more_unread:
            receipt["comments"]["more_unread"] = known.more_unread
    return receipt


def _lacks_something(receipt: Receipt) -> bool:
    """Whether anything of what it is about was not read in its newest version."""
    return any(
        part["unread"] if name == "comments" else part["read"] < part[VERSION_OF[name]]
        for name, part in receipt.items()
    )


def _page(known: _KnownReads, page_id: str, revision: int, changed_at: int) -> dict[str, Any]:
    read = known.of(bot_reads.of_page(page_id)).version
    return {"page_id": page_id, "revision": revision, "changed_at": changed_at, "read": read}


def _discussion(actor: Actor, known: _KnownReads, ticket_id: str) -> dict[str, Any]:
    marks = known.of(bot_reads.of_comments(ticket_id)).marks
    unread = [
        [comment_id, created_at]
        for comment_id, author, created_at in known.discussion
        if author != actor.id and bot_reads.mark_of(comment_id) not in marks
    ]
    count = len(known.discussion)
    known.more_unread = unread[NAMED:][::-1]
    # The newest, oldest first.
    return {"count": count, "read": count - len(unread), "unread": unread[:NAMED][::-1]}
