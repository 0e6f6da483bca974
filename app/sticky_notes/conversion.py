"""Turning a sticky note into a ticket, once."""

import re
from typing import Any

from app.audit.service import Target, record
from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, InvalidField, NotFound
from app.database.session import session
from app.database.versions import apply_changes
from app.projects import loaders as projects
from app.projects.loaders import SeenProject
from app.sticky_notes.models import StickyNote
from app.sticky_notes.service import writable
from app.tickets import creating as tickets
from app.tickets.creating import CreatedTicket

ELLIPSIS = "…"

# What may stand before the words of a line: quotes, headings, list markers, task boxes.
_LEADING = re.compile(
    r"(?:>|#{1,6}(?=\s|$)|[-*+](?=\s)|[0-9]{1,9}[.)](?=\s)|\[[ xX]\](?=\s|$)|\s)+"
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\S*\s*")
_CLOSING = re.compile(r"(?:^|\s)#+\s*$")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!(?<=_)\w)")
# A sign that stands for itself, and code, in which all do.
_LITERAL = re.compile(
    r"\\(?P<sign>[!-/:-@\[-`{-~])|(?:(?<!`)|(?<=\\`))(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
)
# What stands for one of those meanwhile; no text has NUL.
_HELD = re.compile("\x00([0-9]+)\x00")


def default_title(body: str) -> str:
    """The first line that says something, its Markdown markers taken off, cut at 200."""
    for line in filter(str.strip, body.splitlines()):
        title = _plain(line)
        if title:
            if len(title) <= text.NAME_LENGTH:
                return title
            return title[: text.NAME_LENGTH - 1].rstrip() + ELLIPSIS
    return ""


def _plain(line: str) -> str:
    # Longer lines could only be cut anyway; this bounds the work on hostile ones.
    line = line[:2000]
    if _FENCE.fullmatch(line):
        return ""
    if leading := _LEADING.match(line):
        line = line[leading.end() :]
        if "#" in leading[0]:
            line = _CLOSING.sub("", line)
    literal: list[str] = []

    def set_aside(found: re.Match[str]) -> str:
        literal.append(found["sign"] or found["code"].strip() or found["code"])
        return f"\x00{len(literal) - 1}\x00"

    line = _LITERAL.sub(set_aside, line)
    for _ in range(3):
        line = _EMPHASIS.sub(r"\2", line)
    return _HELD.sub(lambda found: literal[int(found[1])], line).strip()


@operation(Access.WRITE)
def convert_note(
    actor: Actor,
    note_id: str,
    /,
    *,
    project_id: str | None = None,
    title: str | None = None,
    **fields: Any,
) -> CreatedTicket:
    """Create a ticket from the note; the note stays and names it.

    A personal note needs ``project_id``; a project's note allows only its own. Raises Conflict
    ``already_converted``, InvalidField, and what creating a ticket raises.
    """
    note = writable(actor, note_id)
    if note.converted_to_ticket_id is not None:
        raise Conflict(
            "already_converted",
            "This note became a ticket already.",
            ticket_id=note.converted_to_ticket_id,
        )
    into = _project_of(actor, note, project_id)
    if title is None:
        title = default_title(note.body) or note.body.strip()[: text.NAME_LENGTH]
    ticket = tickets.create_ticket(actor, into, title=title, body=note.body, **fields)
    apply_changes(note, {"converted_to_ticket_id": ticket.id})
    session.flush()
    record(
        actor,
        "sticky_note.converted",
        Target(
            "sticky_note",
            note.id,
            project_id=ticket.project_id,
            ticket_id=ticket.id,
            may_be_told=not note.is_personal,
        ),
        sticky_note_id=note.id,
        ticket_id=ticket.id,
        display_id=ticket.display_id,
    )
    return ticket


def _project_of(actor: Actor, note: StickyNote, project_id: str | None) -> str | SeenProject:
    if note.project_id is not None:
        if project_id not in (None, note.project_id):
            raise InvalidField("project_id", "wrong_project", "The note belongs to a project.")
        return note.project_id
    if project_id is None:
        raise InvalidField("project_id", "required", "A personal note needs a project_id.")
    try:
        return projects.writable(actor, project_id)
    except NotFound as error:
        raise InvalidField("project_id", "not_found", "There is no such project.") from error
