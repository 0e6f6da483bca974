"""Links: other places of the work on a ticket, such as its pull requests."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import urlsplit

from sqlalchemy import bindparam, func, or_, select

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
# The most links that ``keep_links`` changes at once, to limit how long other writers wait.
MAX_KEPT_LINKS = 200
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


def checked_url(value: str) -> str:
    """An https address with a host, without a user; raises InvalidField."""
    text.checked(value, "url", URL_LENGTH)
    if not value.startswith("https://"):
        raise InvalidField("url", "not_https", messages.LINK_NOT_HTTPS)
    try:
        split = urlsplit(value)
        # Reading the port checks it.
        is_valid = split.hostname is not None and split.port != 0 and split.username is None
    except ValueError:
        is_valid = False
    if not is_valid or judged(value) != value:
        raise InvalidField("url", "pattern", messages.LINK_INVALID)
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
    link = _add(actor, ticket, **values)
    session.flush()
    discussed(ticket.id, link.created_at)
    _record(actor, "ticket.link_added", ticket, link)
    return link


def _add(actor: Actor, ticket: Ticket, **values: Any) -> ExternalLink:
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
    return link


@dataclass(frozen=True, slots=True)
class KeptLink:
    """A link of a ticket that an integration keeps up to date, and identifies by its own id."""

    ticket_id: str
    external_id: str
    # Whether to add the link if the ticket does not have it.
    is_new: bool
    url: str
    title: str
    kind: str
    state: str | None
    checks: str | None
    author: str | None

    @property
    def values(self) -> dict[str, str | None]:
        names = ("title", "kind", "state", "checks", "author")
        return {name: getattr(self, name) for name in names}


KeptOutcome = Literal["linked", "updated", "not linked", "left out"]


@operation(Access.WRITE)
def keep_links(actor: Actor, wanted: Sequence[KeptLink]) -> list[tuple[KeptLink, KeptOutcome]]:
    """Add and update the links that an integration keeps; returns what was done to which.

    A link that someone added by its address is taken over. A link is ``not linked`` if its ticket
    has no room, and ``left out`` beyond ``MAX_KEPT_LINKS``.
    """
    present = _Present(wanted)
    different = [one for one in wanted if present.differs_from(one)]
    fitting = [one for one in different if present.fits(one)]
    due, rest = fitting[:MAX_KEPT_LINKS], fitting[MAX_KEPT_LINKS:]
    outcomes: list[tuple[KeptLink, KeptOutcome]] = [
        (one, "not linked") for one in different if not present.fits(one)
    ]
    events: list[tuple[str, Ticket, dict[str, Any]]] = []
    added_at: dict[str, int] = {}
    tickets = {
        ticket_id: loaders.writable(actor, ticket_id)
        for ticket_id in sorted({one.ticket_id for one in due})
    }
    # The links may have changed before the tickets were locked.
    present = _Present(due)
    for one in due:
        ticket, link = tickets[one.ticket_id], present.find(one)
        if link is not None:
            link.external_id = one.external_id
            changed = apply_changes(link, present.values(one, link))
            if changed:
                payload = {"link_id": link.id, "url": link.url, "changes": changed}
                events.append((LINK_CHANGED, ticket, payload))
                outcomes.append((one, "updated"))
        elif one.is_new and present.has_room(one):
            link = _add(actor, ticket, external_id=one.external_id, url=one.url, **one.values)
            present.add(link)
            added_at[ticket.id] = link.created_at
            events.append(("ticket.link_added", ticket, _payload(link)))
            outcomes.append((one, "linked"))
        elif one.is_new:
            outcomes.append((one, "not linked"))
    session.flush()
    for ticket_id, moment in added_at.items():
        discussed(ticket_id, moment)
    for event_type, ticket, payload in events:
        record(actor, event_type, loaders.target(ticket), **payload)
    return [*outcomes, *((one, "left out") for one in rest)]


class _Present:
    """The links that tickets have of those that an integration keeps."""

    def __init__(self, wanted: Sequence[KeptLink]) -> None:
        self._by_external_id: dict[tuple[str, str | None], ExternalLink] = {}
        self._by_url: dict[tuple[str, str], ExternalLink] = {}
        self._counts: Counter[str] = Counter()
        of_tickets = ExternalLink.ticket_id.in_({one.ticket_id for one in wanted})
        kept = or_(
            ExternalLink.external_id.in_({one.external_id for one in wanted}),
            ExternalLink.url.in_({one.url for one in wanted}),
        )
        links = select(ExternalLink).where(of_tickets, kept)
        for link in session.scalars(links.execution_options(populate_existing=True)):
            self.add(link)
        counts = select(ExternalLink.ticket_id, func.count()).where(of_tickets)
        for ticket_id, count in session.execute(counts.group_by(ExternalLink.ticket_id)):
            self._counts[ticket_id] = count

    def add(self, link: ExternalLink) -> None:
        self._by_external_id[link.ticket_id, link.external_id] = link
        self._by_url[link.ticket_id, link.url] = link
        self._counts[link.ticket_id] += 1

    def has_room(self, one: KeptLink) -> bool:
        is_pull_request = one.kind == LinkKind.PULL_REQUEST
        return self._counts[one.ticket_id] < (MAX_LINKS if is_pull_request else MAX_PUSH_LINKS)

    def fits(self, one: KeptLink) -> bool:
        """Whether the ticket has the link, or room for it."""
        return self.find(one) is not None or self.has_room(one)

    def find(self, one: KeptLink) -> ExternalLink | None:
        own = self._by_external_id.get((one.ticket_id, one.external_id))
        return own or self._at(one)

    def _at(self, one: KeptLink) -> ExternalLink | None:
        link = self._by_url.get((one.ticket_id, one.url))
        # A link before this one may have got another address.
        return link if link is not None and link.url == one.url else None

    def values(self, one: KeptLink, link: ExternalLink) -> dict[str, Any]:
        """The values that the link should have; its address stays if another link has the new."""
        is_free = self._at(one) in (None, link)
        return {**one.values, "url": one.url if is_free else link.url}

    def differs_from(self, one: KeptLink) -> bool:
        link = self.find(one)
        if link is None:
            return one.is_new
        values = {**self.values(one, link), "external_id": one.external_id}
        return any(getattr(link, name) != value for name, value in values.items())


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
    record(actor, event_type, loaders.target(ticket), **_payload(link))


def _payload(link: ExternalLink) -> dict[str, Any]:
    return {"link_id": link.id, "url": link.url, "title": link.title, "kind": link.kind}
