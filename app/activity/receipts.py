"""Making receipts: how much a bot has read of what it is about to change.

``audit/reading_status.py`` interprets receipts.
"""

from typing import Any

import orjson
from sqlalchemy import Text, and_, bindparam, cast, func, literal, select

from app.accounts import bot_reads
from app.accounts.bot_reads import GAP
from app.accounts.models import BotRead, BotReader
from app.accounts.read_notes import notes, shared_us
from app.audit.receipts import MAX_NAMED_COMMENTS, Begun, Receipt, Subject, VersionedKind
from app.core.actor import Actor
from app.core.clock import now_ms
from app.database.columns import Id, shared_alias
from app.database.session import Prepared
from app.database.sql_functions import ClockMicros, JsonRows
from app.projects.loaders import SEEN, SeenProject
from app.projects.models import Project
from app.tickets.models import Comment
from app.wiki.models import WikiPage

HOUSE_RULES_SLUG = "agents"
# A receipt covers this many of a ticket's newest comments.
COMMENTS = 200
_USER = bindparam("user_id", type_=Id())
_KEY = cast(bindparam("key", type_=Id()), Text)
_PAGE = literal("page:", Text())
_own, _global = shared_alias(WikiPage, "own"), shared_alias(WikiPage, "global_rules")
_OWN_RULES = and_(
    _own.slug == HOUSE_RULES_SLUG, _own.deleted_at.is_(None), _own.project_id == Project.id
)
_GLOBAL_RULES = and_(
    _global.slug == HOUSE_RULES_SLUG, _global.deleted_at.is_(None), _global.project_id.is_(None)
)
_RULES_ID = func.coalesce(_own.id, _global.id)


def _read(column: Any, subject: Any) -> Any:
    """A column of the stored reads of a subject."""
    statement = select(column).where(BotRead.user_id == _USER, BotRead.subject == subject)
    return statement.correlate(_own, _global).scalar_subquery()


_IS_OTHER = BotReader.process_id != bindparam("process_id", type_=Id())
_readers = select(JsonRows(BotReader.process_id)).where(BotReader.user_id == _USER, _IS_OTHER)
_newest = (
    select(Comment.id, Comment.author_user_id, Comment.created_at)
    .where(Comment.ticket_id == bindparam("key", type_=Id()), Comment.deleted_at.is_(None))
    .order_by(Comment.created_at.desc(), Comment.id.desc())
    .limit(COMMENTS)
    .subquery("newest")
)
_comments = select(
    JsonRows(_newest.c.id, _newest.c.author_user_id, _newest.c.created_at)
).scalar_subquery()


def _known(is_project: Any, *more: Any) -> Prepared:
    """The house rules, what is stored of the bot's reads, and the project, if any."""
    return Prepared(
        select(
            _RULES_ID.label("rules_id"),
            func.coalesce(_own.revision_number, _global.revision_number).label("rules_revision"),
            func.coalesce(_own.updated_at, _global.updated_at).label("rules_changed_at"),
            _read(BotRead.version, _PAGE + cast(_RULES_ID, Text)).label("rules_read"),
            _read(BotRead.version, literal(GAP, Text())).label("gap"),
            _readers.scalar_subquery().label("readers"),
            ClockMicros().label("at"),
            *more,
            *SEEN,
        )
        .select_from(select(literal(1).label("one")).subquery("one"))
        .outerjoin(Project, is_project)
        .outerjoin(_own, _OWN_RULES)
        .outerjoin(_global, _GLOBAL_RULES)
    )


_BY_ID = Project.id == bindparam("project_id", type_=Id())
_KNOWN: dict[str | None, Prepared] = {
    None: _known(_BY_ID),
    "by key": _known(Project.key == bindparam("project_key")),
    VersionedKind.TICKET: _known(
        _BY_ID,
        _read(BotRead.version, literal("ticket:", Text()) + _KEY).label("read"),
        _read(BotRead.seen, literal("comments:", Text()) + _KEY).label("seen"),
        _comments.label("discussion"),
    ),
    VersionedKind.PAGE: _known(_BY_ID, _read(BotRead.version, _PAGE + _KEY).label("read")),
}


def build(actor: Actor, subject: Subject) -> Begun:
    """The receipt of a pending change, made in its transaction, and its project."""
    kept, user_id, kind, key = notes(), actor.id, subject.kind, subject.id
    is_incomplete = kept.is_incomplete(user_id)
    row = _KNOWN["by key" if subject.project_key else kind].first(
        user_id=user_id,
        process_id=kept.process_id,
        key=key,
        project_id=subject.project_id,
        project_key=subject.project_key,
    )

    # Runs after the query: an earlier read was either stored in time or is still in the notes.
    def newest(name: str, stored: int | None) -> int:
        noted = kept.known(user_id, name)
        return max(stored or 0, noted.version if noted else 0)

    receipt, more_unread, is_lacking = Receipt(), list[Any](), False
    if kind is VersionedKind.TICKET:
        read = newest(bot_reads.of_ticket(key), row.read)
        receipt["ticket"] = {"version": subject.version, "read": read}
        receipt["comments"], more_unread = _discussion(user_id, key, row)
        is_lacking = read < subject.version or bool(receipt["comments"]["unread"])
    elif kind is VersionedKind.PAGE:
        read = newest(bot_reads.of_page(key), row.read)
        receipt["page"] = _page(key, subject.version, subject.row.updated_at, read)
        is_lacking = read < subject.version
    if row.rules_id:
        read = newest(bot_reads.of_page(row.rules_id), row.rules_read)
        revision = row.rules_revision
        receipt["house_rules"] = _page(row.rules_id, revision, row.rules_changed_at, read)
        is_lacking = is_lacking or read < row.rules_revision
    # If everything was read, reads of other processes or lost reads would add nothing.
    if is_lacking:
        # Checked before and after the query, so that a loss stored in between is not missed.
        is_incomplete = is_incomplete or kept.is_incomplete(user_id)
        known_since = max(row.gap or 0, now_ms() if is_incomplete else 0)
        if known_since:
            receipt["known_since"] = known_since
        if row.readers and (readers := orjson.loads(row.readers)):
            receipt["other_readers"] = [one for (one,) in readers]
            # Only reads before this time count.
            receipt["at"] = row.at or shared_us()
            if more_unread:
                receipt["comments"]["more_unread"] = more_unread
    return Begun(subject, receipt, SeenProject(*row[-len(SEEN) :]) if row.id else None)


def _page(page_id: str, revision: int, changed_at: int, read: int) -> dict[str, Any]:
    return {"page_id": page_id, "revision": revision, "changed_at": changed_at, "read": read}


def _discussion(user_id: str, ticket_id: str, row: Any) -> tuple[dict[str, Any], list[Any]]:
    """The receipt's part about comments, and the unread comments that it does not name."""
    discussion = orjson.loads(row.discussion or "[]")
    if not discussion:
        return {"count": 0, "read": 0, "unread": []}, []
    noted = notes().known(user_id, bot_reads.of_comments(ticket_id))
    marks = bot_reads.marks_in(row.seen or "") | (noted.marks if noted else frozenset())
    unread = [
        [comment_id, created_at]
        for comment_id, author, created_at in discussion
        if author != user_id and bot_reads.mark_of(comment_id) not in marks
    ]
    read = len(discussion) - len(unread)
    # The newest unread comments, oldest first.
    named = {"count": len(discussion), "read": read, "unread": unread[:MAX_NAMED_COMMENTS][::-1]}
    return named, unread[MAX_NAMED_COMMENTS:][::-1]
