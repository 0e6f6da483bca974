"""The Markdown files of an export: live items for people to read, not for restoring."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Table, false, or_, select

from app.accounts.models import User
from app.core.clock import iso
from app.core.ids import NIL_ID
from app.projects.models import Label, Project, WorkflowState
from app.sticky_notes.models import StickyNote
from app.tickets.models import (
    Comment,
    CommentReaction,
    ExternalLink,
    Ticket,
    TicketLabel,
    TicketRelation,
    TicketWatcher,
)
from app.tickets.reactions import EMOJI
from app.wiki.models import WikiPage

Row = dict[str, Any]
# The path of a file, and its content.
File = tuple[str, bytes]
# Opens a unit of work. None is open while a file is yielded, so the consumer may be slow.
Reading = Callable[[], AbstractContextManager[Connection]]

# Rows per unit of work; a wiki page may be a megabyte.
TICKETS, PAGES, NOTES = 50, 10, 200


@dataclass(frozen=True, slots=True)
class ExportScope:
    """All projects or one, and the personal notes of everyone or of one user.

    A single project is exported without global pages and personal notes.
    """

    project_id: str | None = None
    notes_of: str | None = None

    def projects(self, column: Any) -> list[ColumnElement[bool]]:
        return [] if self.project_id is None else [column == self.project_id]

    def notes(self) -> list[ColumnElement[bool]]:
        if self.project_id is not None:
            return [StickyNote.project_id == self.project_id]
        if self.notes_of is None:
            return []
        own = StickyNote.created_by_user_id == self.notes_of
        return [or_(StickyNote.project_id.is_not(None), own)]


@dataclass(slots=True)
class Names:
    """Names by id; for tickets, only those that the current rows refer to."""

    users: dict[str, str]
    projects: dict[str, str]
    states: dict[str, str]
    labels: dict[str, str]
    tickets: dict[str, str] = field(default_factory=dict)


def files(reading: Reading, scope: ExportScope) -> Iterator[File]:
    """A file for each live project, ticket, wiki page and sticky note, few in memory at a time."""
    live = (Project.deleted_at.is_(None), *scope.projects(Project.id))
    yield from _in_batches(reading, Project, PAGES, _projects, *live)
    live = (Ticket.deleted_at.is_(None), *scope.projects(Ticket.project_id))
    yield from _in_batches(reading, Ticket, TICKETS, _tickets, *live)
    live = (WikiPage.deleted_at.is_(None), *scope.projects(WikiPage.project_id))
    yield from _in_batches(reading, WikiPage, PAGES, _wiki_pages, *live)
    yield from _in_batches(reading, StickyNote, NOTES, _notes, *scope.notes())


def _in_batches(
    reading: Reading,
    model: type[Any],
    limit: int,
    write: Callable[[Connection, Names, list[Row]], list[File]],
    *conditions: ColumnElement[bool],
) -> Iterator[File]:
    table: Table = model.__table__
    after = NIL_ID
    while True:
        with reading() as connection:
            statement = select(table).where(table.c.id > after, *conditions)
            result = connection.execute(statement.order_by(table.c.id).limit(limit))
            rows = [dict(row) for row in result.mappings()]
            # Read the names again for each batch, as rows may refer to new ones.
            batch = write(connection, _all_names(connection), rows) if rows else []
        yield from batch
        if len(rows) < limit:
            return
        after = rows[-1]["id"]


def _all_names(connection: Connection) -> Names:
    return Names(
        users=_names(connection, User, "username"),
        projects=_names(connection, Project, "key", Project.deleted_at.is_(None)),
        states=_names(connection, WorkflowState, "name"),
        labels=_names(connection, Label, "name"),
    )


def _names(
    connection: Connection, model: type[Any], column: str, *conditions: ColumnElement[bool]
) -> dict[str, str]:
    rows = connection.execute(select(model.id, getattr(model, column)).where(*conditions))
    return {row[0]: row[1] for row in rows}


def _load_ticket_names(connection: Connection, names: Names, ticket_ids: set[str | None]) -> None:
    ids = [ticket_id for ticket_id in ticket_ids if ticket_id is not None]
    named = Ticket.id.in_(ids) if ids else false()
    names.tickets = _names(connection, Ticket, "display_id", named, Ticket.deleted_at.is_(None))


def _document(fields: dict[str, Any], body: str) -> bytes:
    """Front matter with one JSON value per line, then the unchanged text."""
    lines = [f"{name}: {orjson.dumps(value).decode()}\n" for name, value in fields.items()]
    return f"---\n{''.join(lines)}---\n\n{body}".encode()


def _times(row: Row) -> dict[str, str]:
    return {"created_at": iso(row["created_at"]), "updated_at": iso(row["updated_at"])}


def _projects(connection: Connection, names: Names, projects: list[Row]) -> list[File]:
    return [_project(connection, names, project) for project in projects]


def _project(connection: Connection, names: Names, project: Row) -> File:
    states = connection.execute(
        select(WorkflowState.name, WorkflowState.category)
        .where(WorkflowState.project_id == project["id"])
        .order_by(WorkflowState.position)
    )
    labels = connection.execute(
        select(Label.name, Label.color).where(Label.project_id == project["id"]).order_by(Label.id)
    )
    fields = {
        "id": project["id"],
        "key": project["key"],
        "name": project["name"],
        "owner": names.users[project["owner_user_id"]],
        "workflow_states": [f"{row.name} ({row.category})" for row in states],
        "labels": [f"{row.name} ({row.color})" for row in labels],
        **_times(project),
    }
    return f"projects/{project['key']}.md", _document(fields, project["description"])


def _tickets(connection: Connection, names: Names, tickets: list[Row]) -> list[File]:
    ids = [ticket["id"] for ticket in tickets]
    labels = _grouped(connection, TicketLabel, TicketLabel.ticket_id, ids)
    watchers = _grouped(connection, TicketWatcher, TicketWatcher.ticket_id, ids)
    relations = _grouped(connection, TicketRelation, TicketRelation.source_ticket_id, ids)
    links = _grouped(connection, ExternalLink, ExternalLink.ticket_id, ids)
    live = Comment.deleted_at.is_(None)
    comments = _grouped(connection, Comment, Comment.ticket_id, ids, live)
    comment_ids = [row["id"] for rows in comments.values() for row in rows]
    reactions = _grouped(connection, CommentReaction, CommentReaction.comment_id, comment_ids)
    targets = {row["target_ticket_id"] for rows in relations.values() for row in rows}
    parents = {ticket["parent_ticket_id"] for ticket in tickets}
    _load_ticket_names(connection, names, targets | parents)
    files = []
    for ticket in tickets:
        key = names.projects.get(ticket["project_id"])
        if key is None:  # of a deleted project
            continue
        ticket_id = ticket["id"]
        fields = {
            "id": ticket_id,
            "display_id": ticket["display_id"],
            "title": ticket["title"],
            "type": ticket["type"],
            "state": names.states.get(ticket["state_id"]),
            "priority": ticket["priority"],
            "assignee": names.users.get(ticket["assignee_user_id"]),
            "reporter": names.users[ticket["reporter_user_id"]],
            "parent": names.tickets.get(ticket["parent_ticket_id"]),
            "labels": sorted(names.labels[row["label_id"]] for row in labels.get(ticket_id, ())),
            "due_date": ticket["due_date"],
            "relations": [
                f"{row['type']} {names.tickets[row['target_ticket_id']]}"
                for row in relations.get(ticket_id, ())
                if row["target_ticket_id"] in names.tickets
            ],
            "links": [f"{row['title']} {row['url']}" for row in links.get(ticket_id, ())],
            "watchers": sorted(names.users[row["user_id"]] for row in watchers.get(ticket_id, ())),
            **_times(ticket),
        }
        thread = "".join(
            _comment(names, row, reactions.get(row["id"], []))
            for row in sorted(comments.get(ticket_id, ()), key=_age)
        )
        body = f"{ticket['body']}\n\n## Comments\n{thread}" if thread else ticket["body"]
        files.append((f"tickets/{key}/{ticket['display_id']}.md", _document(fields, body)))
    return files


def _grouped(
    connection: Connection,
    model: type[Any],
    column: Any,
    owner_ids: list[str],
    *conditions: ColumnElement[bool],
) -> dict[str, list[Row]]:
    """The rows of each owner (ticket or comment), which ``column`` refers to."""
    table: Table = model.__table__
    statement = select(table).where(column.in_(owner_ids), *conditions)
    result = connection.execute(statement.order_by(*table.primary_key.columns))
    by_owner: dict[str, list[Row]] = {}
    for row in result.mappings():
        by_owner.setdefault(row[column.key], []).append(dict(row))
    return by_owner


def _age(row: Row) -> tuple[int, str]:
    return row["created_at"], row["id"]


def _comment(names: Names, comment: Row, reactions: list[Row]) -> str:
    author = names.users[comment["author_user_id"]]
    users = {
        emoji: sorted(names.users[row["user_id"]] for row in reactions if row["reaction"] == name)
        for name, emoji in EMOJI.items()
    }
    reacted = " · ".join(f"{emoji} {', '.join(found)}" for emoji, found in users.items() if found)
    text = f"\n### {author}, {iso(comment['created_at'])}\n\n{comment['body']}\n"
    return f"{text}\n{reacted}\n" if reacted else text


def _wiki_pages(_: Connection, names: Names, pages: list[Row]) -> list[File]:
    return [_wiki_page(names, page) for page in pages if _is_live(names, page)]


def _is_live(names: Names, row: Row) -> bool:
    """Whether the row belongs to no project, or to a live one."""
    return row["project_id"] is None or row["project_id"] in names.projects


def _wiki_page(names: Names, page: Row) -> File:
    scope = "global" if page["project_id"] is None else names.projects[page["project_id"]]
    fields = {
        "id": page["id"],
        "title": page["title"],
        "slug": page["slug"],
        "revision_number": page["revision_number"],
        "created_by": names.users[page["created_by_user_id"]],
        "updated_by": names.users[page["updated_by_user_id"]],
        **_times(page),
    }
    return f"wiki/{scope}/{page['slug']}.md", _document(fields, page["body"])


def _notes(connection: Connection, names: Names, notes: list[Row]) -> list[File]:
    _load_ticket_names(connection, names, {note["converted_to_ticket_id"] for note in notes})
    return [_note(names, note) for note in notes if _is_live(names, note)]


def _note(names: Names, note: Row) -> File:
    author = names.users[note["created_by_user_id"]]
    project_id = note["project_id"]
    scope = f"personal/{author}" if project_id is None else names.projects[project_id]
    fields = {
        "id": note["id"],
        "author": author,
        "color": note["color"],
        "converted_to": names.tickets.get(note["converted_to_ticket_id"]),
        **_times(note),
    }
    return f"sticky-notes/{scope}/{note['id']}.md", _document(fields, note["body"])
