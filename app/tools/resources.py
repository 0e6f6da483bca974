"""Tickets and wiki pages as resources, read as Markdown; the house rules are listed first."""

from urllib.parse import unquote

from sqlalchemy import bindparam, select

from app.activity.receipts import HOUSE_RULES_SLUG
from app.core.actor import Actor
from app.core.errors import InvalidField, NotFound
from app.core.ids import is_display_id
from app.database.session import Prepared, session
from app.mcp.registry import LogWrites, Resource, ResourceKind
from app.projects.loaders import within_allowlist
from app.tickets import comments, read
from app.tickets.models import Ticket
from app.tools import messages
from app.tools.reading import keep, keep_page, read_ticket
from app.tools.ticket_fields import field_lines
from app.wiki import loaders
from app.wiki.models import WikiPage

TICKET = "ticket://"
PAGE = "wiki://page/"
HOUSE_RULES_URI = f"{PAGE}{HOUSE_RULES_SLUG}"
SHOWN_COMMENTS = 200

_HOUSE_RULES = Prepared(
    select(WikiPage.id).where(
        WikiPage.slug == HOUSE_RULES_SLUG,
        WikiPage.project_id == bindparam("project_id"),
        WikiPage.deleted_at.is_(None),
    )
)


def guide_of(project_id: str) -> dict[str, str]:
    """``guide``, the address of the house rules, if the project has any; merged into an answer."""
    return {"guide": HOUSE_RULES_URI} if _HOUSE_RULES.all(project_id=project_id) else {}


def house_rules(actor: Actor) -> list[Resource]:
    """The resource of the house rules, if the actor can see those of a project.

    Where a global page has the same slug, the address means that page.
    """
    columns = (WikiPage.title, WikiPage.updated_at, WikiPage.project_id, WikiPage.id)
    statement = select(*columns).where(WikiPage.slug == HOUSE_RULES_SLUG, loaders.live_for(actor))
    # At most one page is global, so two rows include a project's page if there is one.
    rows = session.execute(statement.order_by(*loaders.MEANT_FIRST).limit(2)).all()
    if all(row.project_id is None for row in rows):
        return []
    meant = rows[0]
    return [Resource(HOUSE_RULES_URI, HOUSE_RULES_SLUG, meant.title, meant.updated_at, meant.id)]


def newest_tickets(actor: Actor, limit: int) -> list[Resource]:
    statement = select(Ticket.display_id, Ticket.title, Ticket.updated_at, Ticket.id).where(
        Ticket.deleted_at.is_(None), read.in_live_projects()
    )
    statement = within_allowlist(actor, statement, Ticket.project_id)
    newest = statement.order_by(Ticket.updated_at.desc(), Ticket.id.desc()).limit(limit)
    return [
        Resource(TICKET + row.display_id, row.display_id, row.title, row.updated_at, row.id)
        for row in session.execute(newest)
    ]


def ticket_text(actor: Actor, display_id: str, log_writes: LogWrites) -> str:
    if not is_display_id(display_id):
        raise NotFound("ticket", display_id)
    ticket, reading = read_ticket(actor, display_id)
    data = ticket.json()
    page = comments.list_comments(actor, ticket.id, limit=SHOWN_COMMENTS, cursor=None)
    keep(
        log_writes,
        reading,
        version=ticket.row.updated_at,
        comments=page.data,
        are_all=page.next_cursor is None,
    )
    parts = [f"# {data['display_id']}: {data['title']}", field_lines(data)]
    if data["body"]:
        parts.append(data["body"])
    if page.data:
        parts.append("## Comments")
        parts += [
            f"### {row['author']['username']}, {row['created_at']}\n\n{row['body']}"
            for row in page.data
        ]
    if page.next_cursor is not None:
        parts.append(messages.MORE_COMMENTS)
    return "\n\n".join(parts) + "\n"


def newest_pages(actor: Actor, limit: int) -> list[Resource]:
    """The most recently updated live pages; of a slug in several scopes, only the one it means."""
    newest = (
        select(WikiPage.slug, WikiPage.title, WikiPage.updated_at, WikiPage.id)
        .where(loaders.meant_by_slugs(actor))
        .order_by(WikiPage.updated_at.desc(), WikiPage.id.desc())
        .limit(limit)
    )
    return [
        Resource(PAGE + row.slug, row.slug, row.title, row.updated_at, row.id)
        for row in session.execute(newest)
    ]


def read_page(actor: Actor, slug: str, log_writes: LogWrites) -> str:
    """A wiki page as Markdown; an ambiguous slug means the global page, else the newest one."""
    slug = unquote(slug)
    try:
        page = loaders.visible(actor, slug)
    except InvalidField:
        statement = select(WikiPage).where(WikiPage.slug == slug, loaders.live_for(actor))
        meant = session.scalar(statement.order_by(*loaders.MEANT_FIRST).limit(1))
        if meant is None:
            raise NotFound("wiki_page", slug) from None
        page = meant
    keep_page(log_writes, actor, page)
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
        read=ticket_text,
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
        first=house_rules,
        read=read_page,
    ),
)
