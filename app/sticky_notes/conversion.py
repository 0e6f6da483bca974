"""Converting a sticky note to a ticket, once; its first line is the default title."""

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
from app.sticky_notes import messages
from app.sticky_notes.models import StickyNote
from app.sticky_notes.service import writable
from app.tickets import creating as tickets
from app.tickets.creating import CreatedTicket

ELLIPSIS = "…"

# The markers before the words of a line: quotes, headings, list items, task boxes.
_LEADING = re.compile(
    r"(?:>|#{1,6}(?=\s|$)|[-*+](?=\s)|[0-9]{1,9}[.)](?=\s)|\[[ xX]\](?=\s|$)|\s)+"
)
_FENCE = re.compile(r"\s*(?:`{3,}|~{3,})\S*\s*")
_CLOSING = re.compile(r"(?:^|\s)#+\s*$")
_EMPHASIS = re.compile(r"(\*{1,3}|(?<!\w)_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1(?!(?<=_)\w)")
# Escaped signs, and code, in which all signs are literal.
_LITERAL = re.compile(
    r"\\(?P<sign>[!-/:-@\[-`{-~])|(?:(?<!`)|(?<=\\`))(?P<ticks>`+)(?!`)(?P<code>.+?)(?<!`)(?P=ticks)(?!`)"
)
# The placeholder of a literal while emphasis is removed; no text has NUL.
_PLACEHOLDER = re.compile("\x00([0-9]+)\x00")


def default_title(body: str) -> str:
    """The first line with words, without Markdown markers, cut to 200 characters."""
    for line in filter(str.strip, body.splitlines()):
        title = _plain(line)
        if title:
            if len(title) <= text.NAME_LENGTH:
                return title
            return title[: text.NAME_LENGTH - 1].rstrip() + ELLIPSIS
    return ""


def _plain(line: str) -> str:
    # A title is shorter anyway; the limit bounds the work on hostile lines.
    line = line[:2000]
    if _FENCE.fullmatch(line):
        return ""
    if leading := _LEADING.match(line):
        line = line[leading.end() :]
        if "#" in leading[0]:
            line = _CLOSING.sub("", line)
    literals: list[str] = []

    def set_aside(match: re.Match[str]) -> str:
        literals.append(match["sign"] or match["code"].strip() or match["code"])
        return f"\x00{len(literals) - 1}\x00"

    line = _LITERAL.sub(set_aside, line)
    for _ in range(3):
        line = _EMPHASIS.sub(r"\2", line)
    return _PLACEHOLDER.sub(lambda match: literals[int(match[1])], line).strip()


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
    """Create a ticket from the note; the note stays and refers to it.

    A personal note needs ``project_id``; a project's note allows only its own. Raises Conflict
    ``already_converted``, InvalidField, and what ``create_ticket`` raises.
    """
    note = writable(actor, note_id)
    if note.converted_to_ticket_id is not None:
        raise Conflict(
            "already_converted",
            messages.ALREADY_CONVERTED,
            ticket_id=note.converted_to_ticket_id,
        )
    project = _project_of(actor, note, project_id)
    if title is None:
        title = default_title(note.body) or note.body.strip()[: text.NAME_LENGTH]
    ticket = tickets.create_ticket(actor, project, title=title, body=note.body, **fields)
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
            may_be_forwarded=not note.is_personal,
        ),
        sticky_note_id=note.id,
        ticket_id=ticket.id,
        display_id=ticket.display_id,
    )
    return ticket


def _project_of(actor: Actor, note: StickyNote, project_id: str | None) -> str | SeenProject:
    if note.project_id is not None:
        if project_id not in (None, note.project_id):
            raise InvalidField("project_id", "wrong_project", messages.BELONGS_TO_A_PROJECT)
        return note.project_id
    if project_id is None:
        raise InvalidField("project_id", "required", messages.PROJECT_REQUIRED)
    try:
        return projects.writable(actor, project_id)
    except NotFound as error:
        raise InvalidField("project_id", "not_found", messages.PROJECT_NOT_FOUND) from error
