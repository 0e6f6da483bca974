"""Tickets, wiki pages and house rules as resources, read as Markdown."""

from typing import Any
from urllib.parse import unquote

from sqlalchemy import bindparam, select

from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.ids import is_display_id
from app.database.session import Prepared, session
from app.mcp.registry import Resource, ResourceKind
from app.tickets import comments, read
from app.tickets.models import Ticket
from app.wiki import loaders
from app.wiki.models import WikiPage

SLUG = "agents"
URI = f"wiki://page/{SLUG}"


_GUIDE = Prepared(
    select(WikiPage.id).where(
        WikiPage.slug == SLUG,
        WikiPage.project_id == bindparam("project_id"),
        WikiPage.deleted_at.is_(None),
    )
)


def of_project(project_id: str) -> dict[str, str]:
    """``guide`` for a project that has such a page, to be laid into an answer."""
    return {"guide": URI} if _GUIDE.all(project_id=project_id) else {}


def pages(actor: Actor) -> list[Resource]:
    """The resource of the house rules, if the actor can see any: listed before all others.

    Where a global page has that slug as well, its address means that one.
    """
    named = select(WikiPage.title, WikiPage.updated_at, WikiPage.project_id).where(
        WikiPage.slug == SLUG, loaders.live_for(actor)
    )
    # A page of a project is among the first two, as there is one global page at most.
    rows = session.execute(named.order_by(*loaders.MEANT_FIRST).limit(2)).all()
    if all(row.project_id is None for row in rows):
        return []
    return [Resource(URI, SLUG, rows[0].title, rows[0].updated_at)]


TICKET = "ticket://"
PAGE = "wiki://page/"
SHOWN_COMMENTS = 200


def newest_tickets(actor: Actor, limit: int) -> list[Resource]:
    """The most recently updated live tickets that the actor can see."""
    statement = select(Ticket.display_id, Ticket.title, Ticket.updated_at).where(
        Ticket.deleted_at.is_(None), read.in_live_projects()
    )
    if actor.allowlist:
        statement = statement.where(Ticket.project_id.in_(actor.allowlist))
    rows = session.execute(statement.order_by(Ticket.updated_at.desc()).limit(limit))
    return [
        Resource(TICKET + row.display_id, row.display_id, row.title, row.updated_at) for row in rows
    ]


def read_ticket(actor: Actor, display_id: str) -> str:
    """A ticket as Markdown: title, fields, body, comments."""
    if not is_display_id(display_id):
        raise NotFound("ticket", display_id)
    ticket = read.get_ticket(actor, display_id)
    shown = ticket.json()
    page = comments.list_comments(actor, ticket.id, limit=SHOWN_COMMENTS, cursor=None)
    parts = [f"# {shown['display_id']}: {shown['title']}", _facts(shown)]
    if shown["body"]:
        parts.append(shown["body"])
    if page.data:
        parts.append("## Comments")
        parts += [
            f"### {row['author']['username']}, {row['created_at']}\n\n{row['body']}"
            for row in page.data
        ]
    if page.next_cursor is not None:
        parts.append("There are more comments: list_comments.")
    return "\n\n".join(parts) + "\n"


def _facts(shown: dict[str, Any]) -> str:
    state = shown["state"]
    facts = {
        "Type": shown["type"],
        "State": f"{state['name']} ({state['category']})" if state else "none",
        "Priority": shown["priority"],
        "Assignee": shown["assignee"]["username"] if shown["assignee"] else "nobody",
        "Reporter": shown["reporter"]["username"],
        "Labels": ", ".join(label["name"] for label in shown["labels"]),
        "Parent": shown["parent"]["display_id"] if shown["parent"] else "",
        "Due": shown["due_date"] or "",
        "Created": shown["created_at"],
        "Updated": shown["updated_at"],
    }
    return "\n".join(f"- {name}: {value}" for name, value in facts.items() if value)


def newest_pages(actor: Actor, limit: int) -> list[Resource]:
    """The most recently updated live pages that the actor can see, those that ``read`` shows."""
    rows = session.execute(
        select(WikiPage.slug, WikiPage.title, WikiPage.updated_at)
        .where(loaders.meant_by_slugs(actor))
        .order_by(WikiPage.updated_at.desc())
        .limit(limit)
    )
    return [Resource(PAGE + row.slug, row.slug, row.title, row.updated_at) for row in rows]


def read_page(actor: Actor, slug: str) -> str:
    """A wiki page as Markdown: title and body.

    Of a slug that several scopes have, the global page comes first, then the newest.
    """
    slug = unquote(slug)
    try:
        page = loaders.visible(actor, slug)
    except InvalidField:
        named = select(WikiPage).where(WikiPage.slug == slug, loaders.live_for(actor))
        found = session.scalar(named.order_by(*loaders.MEANT_FIRST).limit(1))
        if found is None:
            raise NotFound("wiki_page", slug) from None
        page = found
    return f"# {page.title}\n\n{page.body}\n"


KINDS = (
    ResourceKind(
        prefix=TICKET,
        template={
            "uriTemplate": "ticket://{display_id}",
            "name": "ticket",
            "title": "Ticket",
            "description": "A ticket with its fields, body and comments.",
            "mimeType": "text/markdown",
        },
        newest=newest_tickets,
        first=lambda actor: [],
        read=read_ticket,
    ),
    ResourceKind(
        prefix=PAGE,
        template={
            "uriTemplate": "wiki://page/{slug}",
            "name": "wiki_page",
            "title": "Wiki page",
            "description": "A wiki page's text.",
            "mimeType": "text/markdown",
        },
        newest=newest_pages,
        first=pages,
        read=read_page,
    ),
)
