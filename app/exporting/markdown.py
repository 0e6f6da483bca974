"""The Markdown of an export: what is live, as people read it. Nothing is restored from it."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, Table, false, or_, select

from app.accounts.models import User
from app.core.clock import iso
from app.projects.models import Label, Project, WorkflowState
from app.sticky_notes.models import StickyNote
from app.tickets.models import (
    Comment,
    Ticket,
    TicketLabel,
    TicketRelation,
    TicketWatcher,
)
from app.wiki.models import WikiPage


def document(matter: dict[str, Any], body: str) -> bytes:
    """A Markdown file of these fields and this text, which stands in it as it is."""
    lines = [f"{name}: {orjson.dumps(value).decode()}\n" for name, value in matter.items()]
    return f"---\n{''.join(lines)}---\n\n{body}".encode()


Row = dict[str, Any]
# The name of a file in its folder, and what is in it.
File = tuple[str, bytes]
# Opens a unit of work. Between files none is open, so whoever takes them may be slow.
Reading = Callable[[], AbstractContextManager[Connection]]

# Rows of a unit of work; a wiki page may be a megabyte.
TICKETS, PAGES, NOTES = 50, 10, 200


@dataclass(frozen=True, slots=True)
class ExportScope:
    """What is written: all or one project, everyone's personal notes or those of one user.

    One project comes without what belongs to none: pages of the workspace, and personal notes.
    """

    project_id: str | None = None
    notes_of: str | None = None

    def of_projects(self, column: Any) -> list[ColumnElement[bool]]:
        """What keeps to the project."""
        return [] if self.project_id is None else [column == self.project_id]

    def notes(self) -> list[ColumnElement[bool]]:
        """What keeps to the project, or away from the personal notes of others."""
        if self.project_id is not None:
            return [StickyNote.project_id == self.project_id]
        if self.notes_of is None:
            return []
        own = StickyNote.created_by_user_id == self.notes_of
        return [or_(StickyNote.project_id.is_not(None), own)]


@dataclass(slots=True)
class Names:
    """What ids are called; of tickets only those that a few others name."""

    users: dict[str, str]
    projects: dict[str, str]
    states: dict[str, str]
    labels: dict[str, str]
    tickets: dict[str, str] = field(default_factory=dict)


def files(reading: Reading, scope: ExportScope) -> Iterator[File]:
    """A file for every live project, ticket, wiki page and sticky note.

    However many there are, a few are in memory at a time.
    """
    live = Project.deleted_at.is_(None)
    yield from _each(reading, Project, PAGES, _projects, live, *scope.of_projects(Project.id))
    mine = (Ticket.deleted_at.is_(None), *scope.of_projects(Ticket.project_id))
    yield from _each(reading, Ticket, TICKETS, _tickets, *mine)
    theirs = (WikiPage.deleted_at.is_(None), *scope.of_projects(WikiPage.project_id))
    yield from _each(reading, WikiPage, PAGES, _wiki_pages, *theirs)
    yield from _each(reading, StickyNote, NOTES, _notes, *scope.notes())


def _each(
    reading: Reading,
    model: type[Any],
    limit: int,
    written: Callable[[Connection, Names, list[Row]], list[File]],
    *which: ColumnElement[bool],
) -> Iterator[File]:
    """The files of a table's rows, some rows at a time."""
    table: Table = model.__table__
    after = "00000000-0000-0000-0000-000000000000"
    while True:
        with reading() as connection:
            found = connection.execute(
                select(table).where(table.c.id > after, *which).order_by(table.c.id).limit(limit)
            )
            rows = [dict(row) for row in found.mappings()]
            # Anew each time: others may have come since.
            made = written(connection, _all_names(connection), rows) if rows else []
        yield from made
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
    connection: Connection, model: type[Any], column: str, *which: ColumnElement[bool]
) -> dict[str, str]:
    found = connection.execute(select(model.id, getattr(model, column)).where(*which))
    return {row[0]: row[1] for row in found}


def _name_tickets(connection: Connection, names: Names, wanted: set[str | None]) -> None:
    ids = [one for one in wanted if one is not None]
    which = Ticket.id.in_(ids) if ids else false()
    names.tickets = _names(connection, Ticket, "display_id", which, Ticket.deleted_at.is_(None))


def _rows(connection: Connection, model: type[Any], *which: ColumnElement[bool]) -> list[Row]:
    table: Table = model.__table__
    found = connection.execute(select(table).where(*which).order_by(*table.primary_key.columns))
    return [dict(row) for row in found.mappings()]


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
    matter = {
        "id": project["id"],
        "key": project["key"],
        "name": project["name"],
        "owner": names.users[project["owner_user_id"]],
        "workflow_states": [f"{row.name} ({row.category})" for row in states],
        "labels": [f"{row.name} ({row.color})" for row in labels],
        **_times(project),
    }
    return f"projects/{project['key']}.md", document(matter, project["description"])


def _tickets(connection: Connection, names: Names, tickets: list[Row]) -> list[File]:
    wanted = [ticket["id"] for ticket in tickets]
    labels = _of(connection, TicketLabel, TicketLabel.ticket_id, wanted)
    watchers = _of(connection, TicketWatcher, TicketWatcher.ticket_id, wanted)
    relations = _of(connection, TicketRelation, TicketRelation.source_ticket_id, wanted)
    comments = _of(connection, Comment, Comment.ticket_id, wanted, Comment.deleted_at.is_(None))
    named = {row["target_ticket_id"] for rows in relations.values() for row in rows}
    _name_tickets(connection, names, named | {ticket["parent_ticket_id"] for ticket in tickets})
    found = []
    for ticket in tickets:
        key = names.projects.get(ticket["project_id"])
        if key is None:  # of a deleted project
            continue
        mine = ticket["id"]
        matter = {
            "id": mine,
            "display_id": ticket["display_id"],
            "title": ticket["title"],
            "type": ticket["type"],
            "state": names.states.get(ticket["state_id"]),
            "priority": ticket["priority"],
            "assignee": names.users.get(ticket["assignee_user_id"]),
            "reporter": names.users[ticket["reporter_user_id"]],
            "parent": names.tickets.get(ticket["parent_ticket_id"]),
            "labels": sorted(names.labels[row["label_id"]] for row in labels.get(mine, ())),
            "due_date": ticket["due_date"],
            "relations": [
                f"{row['type']} {names.tickets[row['target_ticket_id']]}"
                for row in relations.get(mine, ())
                if row["target_ticket_id"] in names.tickets
            ],
            "watchers": sorted(names.users[row["user_id"]] for row in watchers.get(mine, ())),
            **_times(ticket),
        }
        said = "".join(_comment(names, row) for row in sorted(comments.get(mine, ()), key=_age))
        body = f"{ticket['body']}\n\n## Comments\n{said}" if said else ticket["body"]
        found.append((f"tickets/{key}/{ticket['display_id']}.md", document(matter, body)))
    return found


def _of(
    connection: Connection,
    model: type[Any],
    column: Any,
    wanted: list[str],
    *which: ColumnElement[bool],
) -> dict[str, list[Row]]:
    """The rows that belong to each of these tickets."""
    found: dict[str, list[Row]] = {}
    for row in _rows(connection, model, column.in_(wanted), *which):
        found.setdefault(row[column.key], []).append(row)
    return found


def _age(row: Row) -> tuple[int, str]:
    return row["created_at"], row["id"]


def _comment(names: Names, comment: Row) -> str:
    author = names.users[comment["author_user_id"]]
    return f"\n### {author}, {iso(comment['created_at'])}\n\n{comment['body']}\n"


def _wiki_pages(_: Connection, names: Names, pages: list[Row]) -> list[File]:
    return [_wiki_page(names, page) for page in pages if _is_live(names, page)]


def _is_live(names: Names, row: Row) -> bool:
    """Whether it belongs to no project, or to one that is not deleted."""
    return row["project_id"] is None or row["project_id"] in names.projects


def _wiki_page(names: Names, page: Row) -> File:
    scope = "global" if page["project_id"] is None else names.projects[page["project_id"]]
    matter = {
        "id": page["id"],
        "title": page["title"],
        "slug": page["slug"],
        "revision_number": page["revision_number"],
        "created_by": names.users[page["created_by_user_id"]],
        "updated_by": names.users[page["updated_by_user_id"]],
        **_times(page),
    }
    return f"wiki/{scope}/{page['slug']}.md", document(matter, page["body"])


def _notes(connection: Connection, names: Names, notes: list[Row]) -> list[File]:
    _name_tickets(connection, names, {note["converted_to_ticket_id"] for note in notes})
    return [_note(names, note) for note in notes if _is_live(names, note)]


def _note(names: Names, note: Row) -> File:
    author = names.users[note["created_by_user_id"]]
    project_id = note["project_id"]
    scope = f"personal/{author}" if project_id is None else names.projects[project_id]
    matter = {
        "id": note["id"],
        "author": author,
        "color": note["color"],
        "converted_to": names.tickets.get(note["converted_to_ticket_id"]),
        **_times(note),
    }
    return f"sticky-notes/{scope}/{note['id']}.md", document(matter, note["body"])
