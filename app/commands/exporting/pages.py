"""The Markdown of an export: what is live, as people read it. Nothing is restored from it."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import ColumnElement, Connection, Table, select

from app.accounts.models import User
from app.commands.exporting.matter import document
from app.commands.exporting.writing import BATCH, Folder
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

Row = dict[str, Any]


@dataclass(slots=True)
class Names:
    """What ids are called."""

    users: dict[str, str]
    projects: dict[str, str]
    states: dict[str, str]
    labels: dict[str, str]
    tickets: dict[str, str] = field(default_factory=dict)


def write_pages(connection: Connection, folder: Folder) -> None:
    """Write a file for every live project, ticket, wiki page and sticky note."""
    names = Names(
        users=_names(connection, User, "username"),
        projects=_names(connection, Project, "key", Project.deleted_at.is_(None)),
        states=_names(connection, WorkflowState, "name"),
        labels=_names(connection, Label, "name"),
        tickets=_names(connection, Ticket, "display_id", Ticket.deleted_at.is_(None)),
    )
    for project in _rows(connection, Project, Project.deleted_at.is_(None)):
        _write_project(connection, folder, names, project)
    for batch in _batches(connection, Ticket, Ticket.deleted_at.is_(None)):
        _write_tickets(connection, folder, names, batch)
    for batch in _batches(connection, WikiPage, WikiPage.deleted_at.is_(None)):
        for page in batch:
            _write_wiki_page(folder, names, page)
    for batch in _batches(connection, StickyNote):
        for note in batch:
            _write_note(folder, names, note)


def _names(
    connection: Connection, model: type[Any], column: str, *which: ColumnElement[bool]
) -> dict[str, str]:
    found = connection.execute(select(model.id, getattr(model, column)).where(*which))
    return {row[0]: row[1] for row in found}


def _rows(connection: Connection, model: type[Any], *which: ColumnElement[bool]) -> list[Row]:
    table: Table = model.__table__
    found = connection.execute(select(table).where(*which).order_by(*table.primary_key.columns))
    return [dict(row) for row in found.mappings()]


def _batches(
    connection: Connection, model: type[Any], *which: ColumnElement[bool]
) -> Iterator[list[Row]]:
    """The rows, few enough at a time; a cursor kept open would meet the queries in between."""
    table: Table = model.__table__
    after = "00000000-0000-0000-0000-000000000000"
    while True:
        found = connection.execute(
            select(table).where(table.c.id > after, *which).order_by(table.c.id).limit(BATCH)
        )
        rows = [dict(row) for row in found.mappings()]
        if rows:
            yield rows
            after = rows[-1]["id"]
        if len(rows) < BATCH:
            return


def _times(row: Row) -> dict[str, str]:
    return {"created_at": iso(row["created_at"]), "updated_at": iso(row["updated_at"])}


def _write_project(connection: Connection, folder: Folder, names: Names, project: Row) -> None:
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
    folder.write(f"projects/{project['key']}.md", document(matter, project["description"]))


def _write_tickets(
    connection: Connection, folder: Folder, names: Names, tickets: list[Row]
) -> None:
    wanted = [ticket["id"] for ticket in tickets]
    labels = _of(connection, TicketLabel, TicketLabel.ticket_id, wanted)
    watchers = _of(connection, TicketWatcher, TicketWatcher.ticket_id, wanted)
    relations = _of(connection, TicketRelation, TicketRelation.source_ticket_id, wanted)
    comments = _of(connection, Comment, Comment.ticket_id, wanted, Comment.deleted_at.is_(None))
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
        folder.write(f"tickets/{key}/{ticket['display_id']}.md", document(matter, body))


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


def _write_wiki_page(folder: Folder, names: Names, page: Row) -> None:
    scope = "global"
    if page["project_id"] is not None:
        if page["project_id"] not in names.projects:
            return
        scope = names.projects[page["project_id"]]
    matter = {
        "id": page["id"],
        "title": page["title"],
        "slug": page["slug"],
        "revision_number": page["revision_number"],
        "created_by": names.users[page["created_by_user_id"]],
        "updated_by": names.users[page["updated_by_user_id"]],
        **_times(page),
    }
    folder.write(f"wiki/{scope}/{page['slug']}.md", document(matter, page["body"]))


def _write_note(folder: Folder, names: Names, note: Row) -> None:
    author = names.users[note["created_by_user_id"]]
    scope = f"personal/{author}"
    if note["project_id"] is not None:
        if note["project_id"] not in names.projects:
            return
        scope = names.projects[note["project_id"]]
    matter = {
        "id": note["id"],
        "author": author,
        "color": note["color"],
        "converted_to": names.tickets.get(note["converted_to_ticket_id"]),
        **_times(note),
    }
    folder.write(f"sticky-notes/{scope}/{note['id']}.md", document(matter, note["body"]))
