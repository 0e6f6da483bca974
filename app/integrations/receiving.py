"""Applying a delivery: links of tickets, and the states of tickets that a merge fixes.

Deliveries arrive late, twice and in any order. So the newest state of each pull request is stored
apart from the tickets. An older delivery only adds the tickets that it names.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from sqlalchemy import select

from app.core import ids
from app.core.actor import Access, Actor, operation
from app.core.clock import now_ms
from app.core.errors import DomainError, InvalidField
from app.database.locks import Lock, acquire
from app.database.session import AnyRow, savepoint, session
from app.integrations import github, gitlab, messages
from app.integrations.models import CodeChange, CodeCheck, CodeDelivery, Forge, Integration
from app.integrations.payloads import ChangeNews, CheckNews, News, Payload
from app.integrations.ticket_references import MAX_TICKETS, fixed_tickets, named_tickets
from app.projects.loaders import states_of_move, within_allowlist
from app.projects.models import Project, StateCategory
from app.tickets import links, loaders, service
from app.tickets.links import KeptLink
from app.tickets.models import LinkChecks, LinkKind, Ticket

# The most checks of one commit.
MAX_CHECKS = 50

READERS: dict[Forge, Callable[[str, Payload], Iterator[News]]] = {
    Forge.GITHUB: github.read,
    Forge.GITLAB: gitlab.read,
    Forge.GITEA: partial(github.read, branches="/src/branch/"),
    Forge.FORGEJO: partial(github.read, branches="/src/branch/"),
}


@operation(Access.WRITE)
def receive(
    actor: Actor, integration: Integration, event: str, body: bytes, content: Mapping[str, Any]
) -> str:
    """Apply a delivery with a verified signature, as the bot of its integration.

    Returns what it did, in words. A repeated delivery does nothing, unless the integration has
    changed since or the delivery left links out.
    """
    # Serializes deliveries about the same pull request.
    acquire(Lock.CODE_DELIVERIES)
    seen = f"{integration.updated_at}\n{event}\n".encode() + body
    fingerprint = hashlib.sha256(seen).hexdigest()
    known = select(CodeDelivery.id).filter_by(connection_id=integration.id, fingerprint=fingerprint)
    if session.scalar(known) is not None:
        return messages.RECEIVED_BEFORE
    work = _Receiving(actor, integration)
    news = list(READERS[Forge(integration.forge)](event, Payload(content)))
    work.changes([one for one in news if isinstance(one, ChangeNews)])
    for one in news:
        if isinstance(one, CheckNews):
            work.check(one)
    identifier = ids.new_id()
    session.add(
        CodeDelivery(
            id=identifier,
            connection_id=integration.id,
            # A delivery that left links out can be sent again.
            fingerprint=identifier if work.is_cut else fingerprint,
            event=event,
            outcome=work.outcome(),
            created_at=ids.created_ms(identifier),
        )
    )
    session.flush()
    return work.outcome()


class _Receiving:
    """A delivery that is being applied."""

    def __init__(self, actor: Actor, integration: Integration) -> None:
        self._actor = actor
        self._integration = integration
        self._done: Counter[str] = Counter()
        self._tickets: set[str] = set()

    @property
    def is_cut(self) -> bool:
        """Whether it left links out."""
        return self._done["left out"] > 0

    def outcome(self) -> str:
        return (
            ", ".join(f"{count} {what}" for what, count in self._done.items())
            or messages.NOTHING_TO_DO
        )

    def changes(self, news: Sequence[ChangeNews]) -> None:
        """Store the newest state of pull requests, branches, commits; link the tickets they name.

        One delivery has up to a hundred of them. So each question to the database is about all.
        """
        names = [frozenset(named_tickets(one.texts, one.branch)) for one in news]
        seen = self._seen(frozenset().union(*names))
        external_ids = [self._external_id(one) for one in news]
        known = select(CodeChange).where(CodeChange.external_id.in_(external_ids))
        found = {change.external_id: change for change in session.scalars(known)}
        added: dict[CodeChange, list[str]] = {}
        merges = []
        for one, its_names in zip(news, names, strict=True):
            named = self._within_limit(row for row in seen if row.display_id in its_names)
            if self._is_kept(one, is_naming=bool(named)):
                change = self._found_or_added(one, found)
                new = added.setdefault(change, [])
                linked = {*change.ticket_ids, *new}
                fresh = [row.id for row in named if row.id not in linked]
                new.extend(fresh[: MAX_TICKETS - len(linked)])
                if one.merges:
                    merges.append((change, one, named))
        self._show(added)
        for change, one, named in merges:
            self._move(change, one, named)

    def _is_kept(self, news: ChangeNews, *, is_naming: bool) -> bool:
        """Whether to store this: it names a ticket or may later, and has a valid address."""
        if not is_naming and news.kind is not LinkKind.PULL_REQUEST:
            return False
        try:
            links.checked_url(news.url)
        except InvalidField:
            if is_naming:
                self._done[messages.WITHOUT_HTTPS] += 1
            return False
        return True

    def _found_or_added(self, news: ChangeNews, found: dict[str, CodeChange]) -> CodeChange:
        external_id = self._external_id(news)
        if external_id not in found:
            found[external_id] = CodeChange(
                id=ids.new_id(),
                connection_id=self._integration.id,
                external_id=external_id,
                kind=news.kind.value,
                version="",
                ticket_ids=[],
                moved_ticket_ids=[],
            )
            session.add(found[external_id])
        change = found[external_id]
        change.updated_at = now_ms()
        if news.version > change.version:
            change.version = news.version
            change.url, change.title, change.author = news.url, news.title, news.author
            change.state, change.head = news.state and news.state.value, news.head
        return change

    def _external_id(self, news: ChangeNews) -> str:
        return f"{self._integration.id}/{news.key}"

    def _seen(self, names: Collection[str]) -> Sequence[AnyRow]:
        """The live tickets with these display ids that the bot may change, ordered by id."""
        return self._live(Ticket.display_id.in_(names)) if names else []

    def _live(self, condition: Any) -> Sequence[AnyRow]:
        statement = (
            select(Ticket.id, Ticket.display_id, Ticket.project_id)
            .join(Project, Project.id == Ticket.project_id)
            .where(condition, Ticket.deleted_at.is_(None), Project.deleted_at.is_(None))
            .order_by(Ticket.id)
        )
        return session.execute(within_allowlist(self._actor, statement, Ticket.project_id)).all()

    def _within_limit(self, rows: Iterable[AnyRow]) -> list[AnyRow]:
        allowed = []
        for row in rows:
            if row.id in self._tickets or len(self._tickets) < MAX_TICKETS:
                self._tickets.add(row.id)
                allowed.append(row)
        return allowed

    def _show(self, changes: Mapping[CodeChange, Sequence[str]]) -> None:
        """Update the links of changes and link them to new tickets; removed links stay removed.

        A ticket without room for a link stays new, so that it is linked when there is room.
        """
        session.flush()
        shown = [(change, {*change.ticket_ids, *new}) for change, new in changes.items()]
        ticket_ids = {ticket_id for _, some in shown for ticket_id in some}
        checks = self._checks_of(changes)
        live = [row.id for row in self._live(Ticket.id.in_(ticket_ids))] if ticket_ids else []
        done = links.keep_links(
            self._actor,
            [
                KeptLink(
                    ticket_id=ticket_id,
                    external_id=change.external_id,
                    is_new=ticket_id in changes[change],
                    url=change.url,
                    title=change.title,
                    kind=change.kind,
                    state=change.state,
                    checks=checks.get(_commit_of(change)),
                    author=change.author,
                )
                for change, some in shown
                for ticket_id in live
                if ticket_id in some
            ],
        )
        self._done.update(outcome for _, outcome in done)
        missing = {
            (link.external_id, link.ticket_id)
            for link, outcome in done
            if outcome in ("not linked", "left out")
        }
        for change, new in changes.items():
            there = [one for one in new if (change.external_id, one) not in missing]
            change.ticket_ids = [*change.ticket_ids, *there]
        session.flush()

    def _move(self, change: CodeChange, news: ChangeNews, named: Iterable[AnyRow]) -> None:
        """Move each ticket that a merge fixes, once, into the state of its project's setting.

        A done ticket never leaves done.
        """
        fixed = fixed_tickets(news.texts)
        for row in named:
            state_id = self._integration.on_merge.get(row.project_id)
            is_moved = row.id in change.moved_ticket_ids
            if state_id is None or is_moved or row.display_id not in fixed:
                continue
            try:
                with savepoint():
                    ticket = loaders.writable(self._actor, row.id)
                    before, after = states_of_move(row.project_id, ticket.state_id, state_id)
                    if _leaves_done(before, after):
                        self._done[messages.ALREADY_DONE] += 1
                        continue
                    service.transition_ticket(self._actor, ticket, state_id=state_id)
            except DomainError:
                self._done[messages.NOT_MOVED] += 1
                continue
            self._done[messages.MOVED] += 1
            change.moved_ticket_ids = [*change.moved_ticket_ids, row.id]
        session.flush()

    def check(self, news: CheckNews) -> None:
        """Store the newest result of a check, and update the links of changes with this commit."""
        commit = f"{news.repository}/{news.commit}"
        of_commit = select(CodeCheck).filter_by(connection_id=self._integration.id, commit=commit)
        known = {row.context: row for row in session.scalars(of_commit.limit(MAX_CHECKS))}
        row = known.get(news.context)
        if row is None:
            if len(known) >= MAX_CHECKS:
                return
            row = CodeCheck(
                id=ids.new_id(),
                connection_id=self._integration.id,
                commit=commit,
                context=news.context,
                checks=news.checks.value,
                run=news.run,
                at=news.at,
            )
            session.add(row)
        elif (news.run, news.at, _RANKS[news.checks]) > (
            row.run,
            row.at,
            _RANKS[LinkChecks(row.checks)],
        ):
            row.checks, row.run, row.at = news.checks.value, news.run, news.at
        row.updated_at = now_ms()
        session.flush()
        prefix = f"{self._integration.id}/{news.repository}/"
        heads = select(CodeChange).where(
            CodeChange.connection_id == self._integration.id,
            CodeChange.head == news.commit,
            CodeChange.external_id.startswith(prefix, autoescape=True),
        )
        changes = session.scalars(heads.order_by(CodeChange.id).limit(MAX_TICKETS)).all()
        self._show(dict.fromkeys(changes, ()))

    def _checks_of(self, changes: Iterable[CodeChange]) -> dict[str, str]:
        """By commit: failing if any check fails, else pending if any is, else passing."""
        statement = select(CodeCheck.commit, CodeCheck.checks).where(
            CodeCheck.connection_id == self._integration.id,
            CodeCheck.commit.in_({_commit_of(one) for one in changes}),
        )
        found = {tuple(row) for row in session.execute(statement)}
        return {
            commit: next(word for word in _WORST_FIRST if (commit, word) in found)
            for commit, _ in found
        }


def _commit_of(change: CodeChange) -> str:
    _, repository, _ = change.external_id.split("/", 2)
    return f"{repository}/{change.head}"


def _leaves_done(before: AnyRow | None, after: AnyRow) -> bool:
    done = StateCategory.DONE
    return before is not None and before.category == done and after.category != done


_RANKS = {LinkChecks.PENDING: 0, LinkChecks.PASSING: 1, LinkChecks.FAILING: 2}
_WORST_FIRST = (LinkChecks.FAILING.value, LinkChecks.PENDING.value, LinkChecks.PASSING.value)
