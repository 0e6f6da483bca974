"""The formats of feeds: iCalendar (RFC 5545) and Atom (RFC 4287)."""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from app.core.clock import iso
from app.database.session import AnyRow
from app.feeds import messages

# The most bytes of an iCalendar line; the rest continues on the next line.
LINE_BYTES = 75
QUOTE_LENGTH = 500
# Control characters and other code points that neither format may contain.
_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_BREAK = re.compile(r"\r\n|[\r\n\u2028\u2029]")
# A calendar needs at least one component; without tickets, this is the only one.
_TIME_ZONE = (
    "BEGIN:VTIMEZONE\nTZID:Etc/UTC\nBEGIN:STANDARD\nDTSTART:19700101T000000\n"
    "TZOFFSETFROM:+0000\nTZOFFSETTO:+0000\nEND:STANDARD\nEND:VTIMEZONE"
)


def calendar(name: str, tickets: Iterable[AnyRow], base_url: str, product: str) -> bytes:
    """A calendar with an all-day event for each ticket."""
    lines = ["BEGIN:VCALENDAR", "VERSION:2.0", f"PRODID:-//{_text(product)}//EN"]
    lines += [
        "METHOD:PUBLISH",
        f"X-WR-CALNAME:{_text(name)}",
        "REFRESH-INTERVAL;VALUE=DURATION:PT1H",
        *_TIME_ZONE.splitlines(),
    ]
    for ticket in tickets:
        lines += [
            "BEGIN:VEVENT",
            f"UID:{ticket.id}",
            f"DTSTAMP:{datetime.fromtimestamp(ticket.updated_at // 1000, UTC):%Y%m%dT%H%M%SZ}",
            f"DTSTART;VALUE=DATE:{ticket.due_date.replace('-', '')}",
            f"SUMMARY:{_text(f'{ticket.display_id} {ticket.title}')}",
            f"DESCRIPTION:{_text(f'{ticket.state}, {ticket.priority} priority')}",
            f"URL:{base_url}/tickets/{ticket.display_id}",
            "TRANSP:TRANSPARENT",
            "END:VEVENT",
        ]
    lines.append("END:VCALENDAR")
    return b"".join(piece + b"\r\n" for line in lines for piece in folded(line))


def _text(value: str) -> str:
    """A value of the type TEXT (RFC 5545, 3.3.11)."""
    plain = _CONTROL.sub("", _BREAK.sub("\n", value))
    escaped = re.sub(r"[\\;,]", r"\\\g<0>", plain)
    return escaped.replace("\n", "\\n")


def folded(line: str) -> Iterator[bytes]:
    """The line in pieces of at most 75 bytes that do not split characters (RFC 5545, 3.1)."""
    piece, size = "", 0
    for character in line:
        width = len(character.encode())
        if size + width > LINE_BYTES:
            yield piece.encode()
            piece, size = " ", 1
        piece, size = piece + character, size + width
    yield piece.encode()


def atom(
    feed_id: str, title: str, page: str, events: Iterable[Mapping[str, Any]], base_url: str
) -> bytes:
    """A feed with an entry for each event; if it is empty, ``updated`` is the epoch."""
    events = list(events)
    updated = events[0]["created_at"] if events else iso(0)
    entries = "".join(_entry(event, page, base_url) for event in events)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<feed xmlns="http://www.w3.org/2005/Atom">\n'
        f"<title>{_xml(title)}</title>\n"
        f"<id>urn:uuid:{feed_id}</id>\n"
        f"<updated>{updated}</updated>\n"
        f"<link rel={quoteattr('alternate')} href={quoteattr(page)}/>\n"
        f"{entries}</feed>\n"
    ).encode()


def _entry(event: Mapping[str, Any], page: str, base_url: str) -> str:
    actor = event["actor"] or {"display_name": messages.SYSTEM, "type": "human"}
    name = actor["display_name"] + (" (bot)" if actor["type"] == "bot" else "")
    address = f"{base_url}/tickets/{event['display_id']}" if event["display_id"] else page
    said = event["text"] if event["event_type"] == "comment.created" else ""
    content = f'<content type="text">{_xml(said[:QUOTE_LENGTH])}</content>\n' if said else ""
    return (
        f"<entry>\n<id>urn:uuid:{event['id']}</id>\n"
        f"<title>{_xml(f'{name} ' + event['sentence'])}</title>\n"
        f"<updated>{event['created_at']}</updated>\n"
        f"<author><name>{_xml(name)}</name></author>\n"
        f"<link rel={quoteattr('alternate')} href={quoteattr(address)}/>\n{content}</entry>\n"
    )


def _xml(value: str) -> str:
    return escape(_CONTROL.sub("", value))
