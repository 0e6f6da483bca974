"""Links: other places of the work on a ticket, such as its pull requests."""

from collections.abc import Sequence
from typing import Any, Literal
from urllib.parse import urlsplit

from sqlalchemy import bindparam, func, select

from app.audit.service import record
from app.core import code_addresses, ids, text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso, now_ms
from app.core.code_addresses import CodeKind
from app.core.errors import Conflict, InvalidField, NotFound
from app.core.ids import as_uuid
from app.database.columns import Id
from app.database.pagination import Page, page
from app.database.session import Prepared, session
from app.database.versions import apply_changes
from app.markdown.addresses import judged
from app.tickets import loaders, messages
from app.tickets.creating import prefix_errors
from app.tickets.discussion import discussed
from app.tickets.models import ExternalLink, LinkKind, Ticket

MAX_LINKS = 50
# Links to branches and commits leave room for pull requests.
MAX_PUSH_LINKS = 30
LINK_CHANGED = "ticket.link_changed"
URL_LENGTH = 2048
_KINDS = {CodeKind.PULL_REQUEST: LinkKind.PULL_REQUEST, CodeKind.COMMIT: LinkKind.COMMIT}

_ROWS = select(
    ExternalLink.id,
    ExternalLink.ticket_id,
    ExternalLink.url,
    ExternalLink.title,
    ExternalLink.kind,
    ExternalLink.state,
    ExternalLink.checks,
    ExternalLink.author,
    ExternalLink.created_by_user_id,
    ExternalLink.created_at,
    ExternalLink.updated_at,
).where(ExternalLink.ticket_id == bindparam("ticket_id", type_=Id()))
_OLDEST_FIRST = Prepared(_ROWS.order_by(ExternalLink.created_at, ExternalLink.id))


def link_json(row: Any) -> dict[str, Any]:
    """A link, or a row of ``_ROWS``."""
    return {
        "id": row.id,
        "ticket_id": row.ticket_id,
        "url": row.url,
        "title": row.title,
        "kind": row.kind,
        "state": row.state,
        "checks": row.checks,
        "author": row.author,
        "created_by_user_id": row.created_by_user_id,
        "created_at": iso(row.created_at),
        "updated_at": iso(row.updated_at),
    }


def of_ticket(ticket_id: str) -> list[dict[str, Any]]:
    """All links of a ticket, oldest first. The caller has checked access to the ticket."""
    return [link_json(row) for row in _OLDEST_FIRST.all(ticket_id=ticket_id)]


@operation(Access.READ)
def list_links(actor: Actor, reference: str, *, limit: int, cursor: str | None) -> Page:
    """A ticket's links, newest first."""
    ticket = loaders.visible(actor, reference)
    return page(
        _ROWS,
        kind="link",
        sort=ExternalLink.created_at,
        id_column=ExternalLink.id,
        limit=limit,
        cursor=cursor,
        build=lambda rows: [link_json(row) for row in rows],
        values={"ticket_id": ticket.id},
    )


def checked_url(value: str, field: str = "url") -> str:
    """An https address with a host, without a user; raises InvalidField."""
    text.checked(value, field, URL_LENGTH)
    if not value.startswith("https://"):
        raise InvalidField(field, "not_https", messages.LINK_NOT_HTTPS)
    try:
        split = urlsplit(value)
        # Reading the port checks it.
        is_valid = split.hostname is not None and split.port != 0 and split.username is None
    except ValueError:
        is_valid = False
    if not is_valid or judged(value) != value:
        message = messages.LINK_INVALID
        raise InvalidField(field, "pattern", message)
    return value


def title_of(url: str) -> str:
    """The default title of a link."""
    known = code_addresses.read(url)
    name = known.name if known else url.removeprefix("https://").removesuffix("/")
    return name if len(name) <= text.NAME_LENGTH else f"{name[: text.NAME_LENGTH - 1]}…"


def kind_of(url: str) -> LinkKind:
    known = code_addresses.read(url)
    return _KINDS.get(known.kind, LinkKind.LINK) if known else LinkKind.LINK


def find(ticket_id: str, url: str) -> ExternalLink | None:
    """The ticket's link to an address."""
    statement = select(ExternalLink).where(
        ExternalLink.ticket_id == ticket_id, ExternalLink.url == url
    )
    return session.scalars(statement).first()


@operation(Access.WRITE)
def add_link(
    actor: Actor,
    reference: str | Ticket,
    *,
    url: str,
    title: str | None = None,
    kind: str | None = None,
) -> tuple[Ticket, dict[str, Any], bool]:
    """Link a ticket to an address; returns the ticket, the link, and whether it is new.

    If the ticket already has the address, its link is kept. Raises InvalidField, and Conflict
    ``invariant_violation`` beyond 50 links.
    """
    ticket = loaders.writable(actor, reference)
    checked_url(url)
    title = title_of(url) if title is None else text.line(title, "title")
    present = find(ticket.id, url)
    if present is not None:
        return ticket, link_json(present), False
    link = insert(actor, ticket, url=url, title=title, kind=kind or kind_of(url))
    return ticket, link_json(link), True


@operation(Access.WRITE)
def add_links(actor: Actor, reference: str | Ticket, urls: Sequence[str]) -> None:
    """Link a ticket to several addresses; errors name the place, such as ``links[0].url``."""
    if len(urls) > MAX_LINKS:
        raise InvalidField("links", "too_many", messages.too_many_links(MAX_LINKS))
    ticket = loaders.writable(actor, reference)
    for number, url in enumerate(urls):
        with prefix_errors(f"links[{number}]"):
            add_link(actor, ticket, url=url)


def insert(actor: Actor, ticket: Ticket, **values: Any) -> ExternalLink:
    """Insert a link of a locked ticket that has none to this address, and record it."""
    if _count(ticket.id) >= MAX_LINKS:
        message = messages.ticket_full_of_links(MAX_LINKS)
        raise Conflict("invariant_violation", message)
    identifier = ids.new_id()
    moment = ids.created_ms(identifier)
    link = ExternalLink(
        id=identifier,
        ticket_id=ticket.id,
        created_by_user_id=actor.id,
        created_at=moment,
        updated_at=moment,
        **{name: str(value) for name, value in values.items() if value is not None},
    )
    session.add(link)
    session.flush()
    discussed(ticket.id, moment)
    _record(actor, "ticket.link_added", ticket, link)
    return link


@operation(Access.WRITE)
def keep_link(
    actor: Actor,
    /,
    ticket_id: str,
    *,
    external_id: str,
    is_new: bool,
    url: str,
    title: str,
    kind: str,
    **fields: str | None,
) -> Literal["linked", "updated", "not linked"] | None:
    """Update the link that an integration identifies by ``external_id``; returns what was done.

    A missing link is added only if ``is_new`` and below the limit. A link that someone added by its
    address is taken over.
    """
    ticket = loaders.writable(actor, ticket_id)
    own = select(ExternalLink).where(
        ExternalLink.ticket_id == ticket.id, ExternalLink.external_id == external_id
    )
    link = session.scalars(own).first() or find(ticket.id, url)
    if link is None:
        if not is_new:
            return None
        if _count(ticket.id) >= (MAX_LINKS if kind == LinkKind.PULL_REQUEST else MAX_PUSH_LINKS):
            return "not linked"
        insert(actor, ticket, external_id=external_id, url=url, title=title, kind=kind, **fields)
        return "linked"
    values: dict[str, Any] = {"title": title, "kind": kind, **fields}
    if link.url == url or find(ticket.id, url) is None:
        values["url"] = url
    link.external_id = external_id
    changed = apply_changes(link, values)
    session.flush()
    if not changed:
        return None
    target = loaders.target(ticket)
    record(actor, LINK_CHANGED, target, link_id=link.id, url=link.url, changes=changed)
    return "updated"


def _count(ticket_id: str) -> int:
    count = select(func.count()).select_from(ExternalLink)
    return session.scalar(count.where(ExternalLink.ticket_id == ticket_id)) or 0


@operation(Access.WRITE)
def remove_link(actor: Actor, reference: str, link_id: str) -> None:
    """Remove a link; raises NotFound."""
    ticket = loaders.writable(actor, reference)
    canonical = as_uuid(link_id)
    link = session.get(ExternalLink, canonical) if canonical else None
    if link is None or link.ticket_id != ticket.id:
        raise NotFound("link", link_id)
    session.delete(link)
    session.flush()
    discussed(ticket.id, now_ms())
    _record(actor, "ticket.link_removed", ticket, link)


def _record(actor: Actor, event_type: str, ticket: Ticket, link: ExternalLink) -> None:
    record(
        actor,
        event_type,
        loaders.target(ticket),
        link_id=link.id,
        url=link.url,
        title=link.title,
        kind=link.kind,
    )
