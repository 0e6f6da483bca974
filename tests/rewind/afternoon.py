"""A bot and people work in one workspace, and the state that a rewind must produce.

All writes use the verbs. A separate ledger records who wrote which value. From that alone it
derives what a rewind must leave: for each value the last one by a person, else the first.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from sqlalchemy import select

from app.core.actor import Actor
from app.core.errors import DomainError
from app.database.session import reading, run_write, savepoint, session
from app.projects import labels, states
from app.sticky_notes import service as notes
from app.sticky_notes.models import StickyNote
from app.tickets import comments, creating, reactions, relations, service, watchers
from app.tickets.models import (
    Comment,
    CommentReaction,
    Ticket,
    TicketLabel,
    TicketRelation,
    TicketWatcher,
)
from app.wiki import service as wiki
from app.wiki.models import WikiPage
from tests.rewind.ledger import EXISTS, Key, Ledger

# Number of writes in one transaction.
AT_ONCE = 25
PRIORITIES = ("low", "medium", "high", "urgent")
FIELDS = ("title", "body", "priority", "due_date", "parent_ticket_id", "assignee_user_id")


@dataclass
class Afternoon:
    """Random work by the bot and people, reproducible by the seed."""

    bot: Actor
    people: list[Actor]
    project_id: str
    seed: int = 1
    ledger: Ledger = field(default_factory=Ledger)

    def __post_init__(self) -> None:
        self.random = random.Random(self.seed)
        self.ids: dict[str, list[str]] = {
            kind: [] for kind in ("ticket", "epic", "comment", "page", "note")
        }
        self.authors: dict[str, Actor] = {}
        self.comment_tickets: dict[str, str] = {}
        self.edges: set[Key] = set()
        self.count = 0

    def prepare(self, tickets: int) -> None:
        """Create the state before the bot starts, as people."""
        self.labels = run_write(
            lambda: [
                labels.create_label(self.people[0], self.project_id, name=f"label {number}").id
                for number in range(6)
            ]
        )
        with reading():
            self.states = [state.id for state in states.ordered(self.project_id)]
        for kind, many in (("epic", 4), ("ticket", tickets), ("page", 8), ("note", 8)):
            for _ in range(many):
                run_write(partial(self._create, kind, self.people[0], False))

    def work(self, by_bot: int, by_people: int) -> None:
        """Make ``by_bot`` writes by the bot, interleaved with ``by_people`` writes by people."""
        turns = [True] * by_bot + [False] * by_people
        self.random.shuffle(turns)
        done = 0
        while done < len(turns):
            batch = turns[done : done + AT_ONCE]
            run_write(lambda batch=batch: [self._write(by_bot) for by_bot in batch])
            done += len(batch)

    def _write(self, by_bot: bool) -> None:
        """Make one write that the verbs accept."""
        while True:
            actor = self.bot if by_bot else self.random.choice(self.people)
            deed = self.random.choices(DEEDS, WEIGHTS)[0]
            try:
                with savepoint():
                    is_done = deed(self, actor, by_bot)
            except DomainError:
                continue
            if is_done:
                self.ledger.writes[by_bot] += 1
                return

    def text(self, what: str) -> str:
        self.count += 1
        return f"{what} {self.count}"

    def some(self, kind: str) -> str | None:
        """Return a live object, mostly a recent one, so that bot and people meet."""
        live = [one for one in self.ids[kind][-60:] if self.ledger.now((_kind(kind), one, EXISTS))]
        return self.random.choice(live) if live else None

    # Writes that anyone may make; each returns whether it wrote.

    def create(self, actor: Actor, by_bot: bool) -> bool:
        kind = self.random.choice(["ticket"] * 5 + ["epic", "page", "note"])
        self._create(kind, actor, by_bot)
        return True

    def _create(self, kind: str, actor: Actor, by_bot: bool) -> None:
        title = self.text(kind)
        if kind in ("ticket", "epic"):
            parent = self.some("epic") if kind == "ticket" and self.random.random() < 0.3 else None
            one = creating.create_ticket(
                actor,
                self.project_id,
                title=title,
                type="epic" if kind == "epic" else "story",
                parent_ticket_id=parent,
            ).id
            given = {
                "title": title,
                "body": "",
                "priority": "medium",
                "due_date": None,
                "parent_ticket_id": parent,
                "assignee_user_id": None,
                "state_id": self.states[0],
            }
            self.ledger.create(("ticket", one), by_bot=by_bot, **given)
            for label_id in self.labels:
                self.ledger.start(("ticket", one, "label", label_id), False)
            for person in (self.bot, *self.people):
                self.ledger.start(("ticket", one, "watcher", person.id), False)
        elif kind == "page":
            one = wiki.create_page(actor, title=title, project_id=self.project_id).id
            self.ledger.create(("page", one), by_bot=by_bot, title=title, body="")
        else:
            one = notes.create_in_project(actor, self.project_id, body=title).id
            self.ledger.create(("note", one), by_bot=by_bot, body=title, color=None)
        self.ids[kind].append(one)

    def edit(self, actor: Actor, by_bot: bool) -> bool:
        ticket = self.some("ticket")
        if ticket is None:
            return False
        names = self.random.sample(FIELDS, self.random.choice([1, 1, 2]))
        values = {name: self._value(name) for name in names}
        now = {name: self.ledger.now(("ticket", ticket, name)) for name in names}
        if all(values[name] == now[name] for name in names):
            return False
        service.update_ticket(actor, ticket, **values)
        for name in names:
            if values[name] != now[name]:
                self.ledger.write(("ticket", ticket, name), values[name], by_bot=by_bot)
        return True

    def _value(self, name: str) -> Any:
        if name in ("title", "body"):
            return self.text(name)
        if name == "priority":
            return self.random.choice(PRIORITIES)
        if name == "due_date":
            return f"2031-01-{self.random.randrange(10, 29)}"
        if name == "parent_ticket_id":
            return self.random.choice([None, self.some("epic")])
        return self.random.choice([None, *(one.id for one in (self.bot, *self.people))])

    def move(self, actor: Actor, by_bot: bool) -> bool:
        ticket = self.some("ticket")
        state = self.random.choice(self.states)
        if ticket is None or self.ledger.now(("ticket", ticket, "state_id")) == state:
            return False
        service.transition_ticket(actor, ticket, state_id=state)
        self.ledger.write(("ticket", ticket, "state_id"), state, by_bot=by_bot)
        return True

    def label(self, actor: Actor, by_bot: bool) -> bool:
        ticket = self.some("ticket")
        if ticket is None:
            return False
        chosen = self.random.sample(self.labels, 2)
        added = [one for one in chosen if not self.ledger.now(("ticket", ticket, "label", one))]
        removed = [one for one in chosen if one not in added]
        service.update_ticket(actor, ticket, add_label_ids=added, remove_label_ids=removed)
        for one in chosen:
            self.ledger.write(("ticket", ticket, "label", one), one in added, by_bot=by_bot)
        return True

    def watch(self, actor: Actor, by_bot: bool) -> bool:
        ticket = self.some("ticket")
        if ticket is None:
            return False
        key = ("ticket", ticket, "watcher", actor.id)
        if self.ledger.now(key):
            watchers.remove_watcher(actor, ticket, actor.id)
        else:
            watchers.add_watcher(actor, ticket)
        self.ledger.write(key, not self.ledger.now(key), by_bot=by_bot)
        return True

    def relate(self, actor: Actor, by_bot: bool) -> bool:
        one, other = self.some("ticket"), self.some("ticket")
        if one is None or other is None or one == other:
            return False
        key = ("relation", min(one, other), max(one, other), "duplicates")
        if key not in self.edges:
            self.edges.add(key)
            self.ledger.start(key, False)
        _, source, target, kind = key
        if self.ledger.now(key):
            edge = select(TicketRelation.id).filter_by(
                source_ticket_id=source, target_ticket_id=target
            )
            relations.delete_relation(actor, source, session.scalars(edge).one())
        else:
            relations.create_relation(actor, source, type=kind, target_ticket_id=target)
        self.ledger.write(key, not self.ledger.now(key), by_bot=by_bot)
        if not by_bot:
            self.ledger.touched |= {("ticket", source), ("ticket", target)}
        return True

    def end(self, actor: Actor, by_bot: bool) -> bool:
        """Delete a ticket, page or note, or restore one that the same actor deleted."""
        kind = self.random.choice(["ticket", "ticket", "page", "note"])
        one = self.random.choice(self.ids[kind][-60:] or [""])
        if not one:
            return False
        key = (kind, one, EXISTS)
        is_there = self.ledger.now(key)
        if is_there:
            delete: dict[str, Callable[..., object]] = {
                "ticket": service.delete_ticket,
                "page": wiki.delete_page,
                "note": notes.delete_note,
            }
            delete[kind](actor, one)
        elif kind == "note":
            return False
        else:
            (service.restore_ticket if kind == "ticket" else wiki.restore_page)(actor, one)
        self.ledger.write(key, not is_there, by_bot=by_bot)
        return True

    def comment(self, actor: Actor, by_bot: bool) -> bool:
        ticket = self.some("ticket")
        if ticket is None:
            return False
        body = self.text("comment")
        one = comments.create_comment(actor, ticket, body=body).id
        self.ids["comment"].append(one)
        self.authors[one], self.comment_tickets[one] = actor, ticket
        self.ledger.create(("comment", one), by_bot=by_bot, body=body)
        for person in (self.bot, *self.people):
            self.ledger.start(("comment", one, "reaction", person.id), False)
        if not by_bot:
            self.ledger.touched.add(("ticket", ticket))
        return True

    def recomment(self, actor: Actor, by_bot: bool) -> bool:
        """Edit, delete, restore or react to a comment."""
        one = self.random.choice(self.ids["comment"][-60:] or [""])
        if not one or not self.ledger.now(("ticket", self.comment_tickets[one], EXISTS)):
            return False
        comment = ("comment", one)
        is_there, is_own = self.ledger.now((*comment, EXISTS)), self.authors[one] is actor
        deed = self.random.choice(["edit", "edit", "react", "end"])
        if deed == "end" and is_own:
            (comments.delete_comment if is_there else service.restore_comment)(actor, one)
            self.ledger.write((*comment, EXISTS), not is_there, by_bot=by_bot)
        elif deed == "edit" and is_own and is_there:
            body = self.text("edited")
            comments.update_comment(actor, one, body=body)
            self.ledger.write((*comment, "body"), body, by_bot=by_bot)
        elif deed == "react" and is_there:
            key = (*comment, "reaction", actor.id)
            has_reacted = self.ledger.now(key)
            verb = reactions.remove_reaction if has_reacted else reactions.add_reaction
            verb(actor, one, "eyes")
            self.ledger.write(key, not has_reacted, by_bot=by_bot)
        else:
            return False
        if not by_bot:
            self.ledger.touched.add(("ticket", self.comment_tickets[one]))
        return True

    def write_text(self, actor: Actor, by_bot: bool) -> bool:
        """Edit a page or a note."""
        kind = self.random.choice(["page", "note"])
        one = self.some(kind)
        if one is None:
            return False
        name = self.random.choice(["title", "body"] if kind == "page" else ["body", "color"])
        value = f"#{self.random.randrange(16**6):06x}" if name == "color" else self.text(name)
        verb: Callable[..., object] = wiki.update_page if kind == "page" else notes.update_note
        verb(actor, one, **{name: value})
        self.ledger.write((kind, one, name), value, by_bot=by_bot)
        return True

    def stays(self, ticket: str) -> bool:
        """Return whether a rewind must leave a ticket, also because tickets below it stay."""
        subject = ("ticket", ticket)
        if self.ledger.is_left(subject):
            return True
        if subject not in self.ledger.created_by_bot or not self.ledger.now((*subject, EXISTS)):
            return False
        return any(
            self.ledger.left(("ticket", child, "parent_ticket_id")) == ticket
            and self.ledger.is_left(("ticket", child))
            for child in self.ids["ticket"]
        )

    def expected(self) -> dict[Key, Any]:
        """Return what a rewind must leave, by key; of a deleted subject only that it is deleted."""
        tickets = {one: self.stays(one) for kind in ("ticket", "epic") for one in self.ids[kind]}
        left: dict[Key, Any] = {}
        for key in self.ledger.values:
            subject = key[:2]
            if subject[0] == "relation":
                # A relation of a ticket that people deleted cannot be restored.
                is_there = tickets[key[1]] and tickets[key[2]]
            elif subject[0] == "ticket":
                is_there = tickets[subject[1]]
            else:
                is_there = self.ledger.is_left(subject)
                if subject[0] == "comment" and not tickets[self.comment_tickets[subject[1]]]:
                    continue
            if key[2:] == (EXISTS,):
                left[key] = is_there
            elif is_there:
                left[key] = self.ledger.left(key)
        return left

    def found(self) -> dict[Key, Any]:
        """Return the database's values for the same keys."""
        with reading():
            found: dict[Key, Any] = dict.fromkeys(self.ledger.values)
            found |= dict.fromkeys((key for key in found if _is_flag(key)), False)
            for ticket in session.scalars(select(Ticket)):
                values = {name: getattr(ticket, name) for name in (*FIELDS, "state_id")}
                _add(found, ("ticket", ticket.id), not ticket.is_deleted, values)
            for row in session.execute(select(TicketLabel.ticket_id, TicketLabel.label_id)):
                found[("ticket", row.ticket_id, "label", row.label_id)] = True
            for watcher in session.scalars(select(TicketWatcher)):
                found[("ticket", watcher.ticket_id, "watcher", watcher.user_id)] = True
            for edge in session.scalars(select(TicketRelation)):
                found[("relation", edge.source_ticket_id, edge.target_ticket_id, edge.type)] = True
            for comment in session.scalars(select(Comment)):
                values = {"body": comment.body}
                _add(found, ("comment", comment.id), not comment.is_deleted, values)
            for reaction in session.scalars(select(CommentReaction)):
                found[("comment", reaction.comment_id, "reaction", reaction.user_id)] = True
            for page in session.scalars(select(WikiPage)):
                values = {"title": page.title, "body": page.body}
                _add(found, ("page", page.id), not page.is_deleted, values)
            for note in session.scalars(select(StickyNote)):
                _add(found, ("note", note.id), True, {"body": note.body, "color": note.color})
        return found


def _kind(kind: str) -> str:
    return "ticket" if kind == "epic" else kind


def _is_flag(key: Key) -> bool:
    return key[0] == "relation" or key[2] in (EXISTS, "label", "watcher", "reaction")


def _add(found: dict[Key, Any], subject: Key, is_there: bool, values: dict[str, Any]) -> None:
    found[(*subject, EXISTS)] = is_there
    found |= {(*subject, name): value for name, value in values.items()}


DEEDS = (
    Afternoon.create,
    Afternoon.edit,
    Afternoon.move,
    Afternoon.label,
    Afternoon.watch,
    Afternoon.relate,
    Afternoon.end,
    Afternoon.comment,
    Afternoon.recomment,
    Afternoon.write_text,
)
WEIGHTS = (10, 25, 12, 12, 5, 8, 5, 8, 10, 10)
