"""A receipt in words, for every page that shows what a bot did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.audit.reading_status import ReadStatus, lacks_reading, receipt_json
from app.audit.receipts import Receipt
from app.tickets.pages import messages

# If there are more unread comments, they are counted instead.
MAX_NAMED_COMMENTS = 3
_OF_PAGES = {
    ReadStatus.READ: messages.READ_PAGE,
    ReadStatus.OUTDATED: messages.READ_EARLIER_PAGE,
    ReadStatus.NOT_READ: messages.PAGE_NOT_READ,
    ReadStatus.UNKNOWN: messages.PAGE_MAY_NOT_BE_READ,
}
_OF_TICKETS = {
    ReadStatus.READ: messages.READ_TICKET,
    ReadStatus.OUTDATED: messages.READ_EARLIER_TICKET,
    ReadStatus.NOT_READ: messages.TICKET_NOT_READ,
    ReadStatus.UNKNOWN: messages.TICKET_MAY_NOT_BE_READ,
}
_OF_RULES = {
    ReadStatus.OUTDATED: messages.READ_EARLIER_RULES,
    ReadStatus.NOT_READ: messages.RULES_NOT_READ,
}


@dataclass(frozen=True, slots=True)
class CommentTime:
    """A comment that a sentence names by its time."""

    id: str
    at: str


@dataclass(frozen=True, slots=True)
class ReadingWords:
    """The pieces of a sentence, and whether the bot changed something without reading it."""

    pieces: Sequence[str | CommentTime]
    is_lacking: bool


def what_was_read(stored: Receipt | None, ticket_id: str | None) -> ReadingWords | None:
    """What the bot of an event had read; None without a receipt."""
    receipt = receipt_json(stored, ticket_id)
    if receipt is None:
        return None
    pieces: list[str | CommentTime] = []
    if (page := receipt["page"]) is not None:
        latest, read = page["revision_number"], page["read_revision_number"]
        pieces.append(_OF_PAGES[page["status"]].format(latest=latest, read=read))
    if (ticket := receipt["ticket"]) is not None:
        pieces += _discussion(ticket, receipt["comments"])
    rules = receipt["house_rules"]
    if rules is not None and rules["status"] in _OF_RULES:
        words = _OF_RULES[rules["status"]]
        pieces.append(f"; {words}" if pieces else words.capitalize())
    return ReadingWords(pieces, lacks_reading(receipt)) if pieces else None


def _discussion(ticket: Mapping[str, Any], comments: Mapping[str, Any]) -> list[str | CommentTime]:
    count, read = comments["count"], comments["read_count"]
    words = _OF_TICKETS[ticket["status"]]
    was_read = ticket["status"] in (ReadStatus.READ, ReadStatus.OUTDATED)
    if count and read:
        some = (
            messages.all_comments(count)
            if read == count > 1
            else messages.some_comments(read, count)
        )
        some = messages.ITS_COMMENT if read == count == 1 else some
        words += messages.and_comments(some) if was_read else messages.but_comments(some)
    elif count and was_read:
        words += messages.AND_NO_COMMENTS if count > 1 else messages.NOT_ITS_COMMENT
    return [words, *_unread(comments)]


def _unread(comments: Mapping[str, Any]) -> list[str | CommentTime]:
    """A sentence about the comments that were not read."""
    unread = comments["unread"]
    if not unread:
        return []
    missing = comments["count"] - comments["read_count"]
    is_unknown = comments["status"] == ReadStatus.UNKNOWN
    end = messages.MAY_NOT_HAVE_BEEN_READ if is_unknown else messages.NOT_READ
    if missing > MAX_NAMED_COMMENTS:
        # The named comments are the newest.
        return [
            messages.comments_until(missing),
            CommentTime(unread[-1]["id"], unread[-1]["created_at"]),
            end,
        ]
    pieces: list[str | CommentTime] = [
        messages.COMMENT_FROM if missing == 1 else messages.COMMENTS_FROM
    ]
    for place, one in enumerate(unread):
        if place:
            pieces.append(" and " if place == len(unread) - 1 else ", ")
        pieces.append(CommentTime(one["id"], one["created_at"]))
    return [*pieces, end]
