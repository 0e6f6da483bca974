"""Interprets a receipt: whether a bot had read what it changed.

A receipt holds versions, not texts. That something was read is always certain. That it was not
read is certain unless a process ended without storing the bot's reads, or another process may
still hold some: then the status is unknown.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from app.audit.receipts import Receipt
from app.core import ids
from app.core.clock import iso


class ReadStatus(StrEnum):
    """Whether the bot had read what it changed."""

    READ = "read"
    # An earlier version was read.
    OUTDATED = "outdated"
    # Some of the comments were read.
    PARTLY_READ = "partly_read"
    NOT_READ = "not_read"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class _Doubt:
    """Reads that a receipt cannot rule out."""

    known_since: int
    is_open: bool

    def status(self, read: int, version: int, changed_at: int, existed_at: int) -> ReadStatus:
        if read >= version:
            return ReadStatus.READ
        if self.is_open or (changed_at if read else existed_at) <= self.known_since:
            return ReadStatus.UNKNOWN
        return ReadStatus.OUTDATED if read else ReadStatus.NOT_READ


def receipt_json(stored: Receipt | None, ticket_id: str | None) -> dict[str, Any] | None:
    """The API's form of the receipt of an event, whose ticket this is, if any."""
    if stored is None:
        return None
    doubt = _Doubt(stored.get("known_since", 0), bool(stored.get("other_readers")))
    shown: dict[str, Any] = {
        "ticket": None,
        "comments": None,
        "page": _page_json(stored.get("page"), doubt),
        "house_rules": _page_json(stored.get("house_rules"), doubt),
    }
    if ticket_id is not None and (ticket := stored.get("ticket")) is not None:
        read, version = ticket["read"], ticket["version"]
        existed_at = ids.created_ms(ticket_id)
        shown["ticket"] = {
            "status": doubt.status(read, version, version, existed_at),
            "version": iso(version),
            "read_version": iso(read) if read else None,
        }
    if (comments := stored.get("comments")) is not None:
        shown["comments"] = _comments_json(comments, doubt)
    return shown


def _page_json(page: dict[str, Any] | None, doubt: _Doubt) -> dict[str, Any] | None:
    if page is None:
        return None
    read, revision = page["read"], page["revision"]
    existed_at = ids.created_ms(page["page_id"])
    return {
        "page_id": page["page_id"],
        "status": doubt.status(read, revision, page["changed_at"], existed_at),
        "revision_number": revision,
        "read_revision_number": read or None,
    }


def _comments_json(comments: dict[str, Any], doubt: _Doubt) -> dict[str, Any]:
    unread = comments["unread"]
    is_certain = not doubt.is_open and all(
        ids.created_ms(comment_id) > doubt.known_since for comment_id, _ in unread
    )
    status = ReadStatus.READ
    if unread:
        some = ReadStatus.PARTLY_READ if comments["read"] else ReadStatus.NOT_READ
        status = some if is_certain else ReadStatus.UNKNOWN
    return {
        "status": status,
        "count": comments["count"],
        "read_count": comments["read"],
        "unread": [{"id": key, "created_at": iso(moment)} for key, moment in unread],
    }


def lacks_reading(receipt: Mapping[str, Any] | None) -> bool:
    """Whether the bot certainly had not read what it changed, or its discussion."""
    parts = [receipt[part] for part in ("ticket", "comments", "page")] if receipt else []
    fine = (ReadStatus.READ, ReadStatus.UNKNOWN)
    return any(part is not None and part["status"] not in fine for part in parts)
