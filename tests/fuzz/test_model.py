"""REST and MCP calls mixed, against a small model: the same state, and the same events.

hypothesis chooses who does what to which object through which entry point. RUNS=2000 STEPS=50 (make
fuzz) runs it long; the default takes a few seconds.
"""

import os
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from tests.fuzz.adapters import DOORS, Done, Doors
from tests.support.cast import make_cast
from tests.support.story import events, state_ids, walk

pytestmark = pytest.mark.slow

RUNS = int(os.environ.get("RUNS", "4"))
STEPS = int(os.environ.get("STEPS", "25"))
GONE = ("resource.gone", None)
KINDS = ("blocks", "relates_to", "duplicates")
WATCHED = ("ticket.", "comment.", "wiki.", "sticky_note.")
WHO = st.sampled_from(DOORS)
# An index into the existing objects, taken modulo.
WHICH = st.integers(0, 50)
TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1)
LINE = TEXT.filter(lambda text: text.strip())


@dataclass
class Ticket:
    """The expected state of a ticket."""

    id: str
    title: str
    state: str
    assignee: str | None = None
    is_deleted: bool = False
    comments: list[str] = field(default_factory=list)


@dataclass
class WikiPage:
    """The expected state of a page."""

    id: str
    body: str
    revision: int = 1
    is_deleted: bool = False


class Machine(RuleBasedStateMachine):
    """The model, and for each operation the expected effect."""

    database = None

    def __init__(self):
        super().__init__()
        self.database.empty()
        cast = make_cast(self.database.app)
        self.doors = Doors(cast, cast.open_project)
        self.states = state_ids(cast.ada, cast.open_project)
        self.tickets: list[Ticket] = []
        # (kind, source, target): id
        self.relations: dict[tuple[str, str, str], str] = {}
        self.pages: dict[str, WikiPage] = {}
        self.notes: dict[str, str | None] = {}
        self.told: list[str] = []

    def one(self, which):
        return self.tickets[which % len(self.tickets)]

    def is_gone(self, ticket, done):
        """Return whether the ticket is deleted, which the refusal must report."""
        if ticket.is_deleted:
            assert done.refusal == GONE
        else:
            assert done.refusal == (None, None) or done.code != "resource.gone"
        return ticket.is_deleted

    def tell(self, done, *kinds):
        assert done.code is None, done
        self.told += kinds

    @rule(door=WHO, title=LINE)
    def create(self, door, title):
        done = self.doors.create(door, title[:200])
        self.tell(done, "ticket.created")
        assert done.answer["ticket_number"] == len(self.tickets) + 1
        self.tickets.append(Ticket(done.answer["id"], title[:200].strip(), self.states[0]))

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH, title=LINE)
    def retitle(self, door, which, title):
        ticket, title = self.one(which), title[:200]
        done = self.doors.patch(door, ticket.id, title=title)
        if not self.is_gone(ticket, done):
            self.tell(done, *(["ticket.updated"] if title.strip() != ticket.title else []))
            ticket.title = title.strip()

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH, state=st.integers(0, 4))
    def move(self, door, which, state):
        ticket, state = self.one(which), self.states[state]
        done = self.doors.transition(door, ticket.id, state)
        if not self.is_gone(ticket, done):
            self.tell(done, *(["ticket.state_changed"] if state != ticket.state else []))
            ticket.state = state

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH)
    def claim(self, door, which):
        ticket = self.one(which)
        done = self.doors.claim(door, ticket.id)
        if self.is_gone(ticket, done):
            return
        if ticket.assignee is not None:
            assert done.refusal == ("resource.conflict", "assignee_mismatch")
        else:
            self.tell(done, "ticket.assigned")
            ticket.assignee = self.doors.user(door)

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH)
    def delete(self, door, which):
        ticket = self.one(which)
        done = self.doors.delete(door, ticket.id)
        if not self.is_gone(ticket, done):
            self.tell(done, "ticket.deleted")
            ticket.is_deleted = True

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH, body=LINE)
    def comment(self, door, which, body):
        ticket = self.one(which)
        done = self.doors.comment(door, ticket.id, body)
        if not self.is_gone(ticket, done):
            self.tell(done, "comment.created")
            ticket.comments.append(body)

    @precondition(lambda self: self.tickets)
    @rule(door=WHO, which=WHICH, other=WHICH, kind=st.sampled_from(KINDS))
    def relate(self, door, which, other, kind):
        ticket, target = self.one(which), self.one(other)
        done = self.doors.relate(door, ticket.id, kind, target.id)
        if self.is_gone(ticket, done):
            return
        edge, back = (kind, ticket.id, target.id), (kind, target.id, ticket.id)
        if target.is_deleted or ticket is target:
            assert done.code == "validation.invalid_field"
        elif edge in self.relations or (kind == "relates_to" and back in self.relations):
            assert done.refusal == ("resource.conflict", "duplicate_key")
        elif kind == "blocks" and self.reaches(target.id, ticket.id):
            assert done.refusal == ("resource.conflict", "invariant_violation")
        else:
            self.tell(done, "ticket.relation_added")
            self.relations[edge] = done.answer["id"]

    def reaches(self, start, end):
        """Return whether a path of ``blocks`` relations leads from one to the other."""
        seen, ahead = set(), [start]
        while ahead:
            here = ahead.pop()
            if here == end:
                return True
            if here not in seen:
                seen.add(here)
                ahead += [to for kind, at, to in self.relations if (kind, at) == ("blocks", here)]
        return False

    @precondition(lambda self: self.relations)
    @rule(door=WHO, which=WHICH, from_end=st.integers(1, 2))
    def unrelate(self, door, which, from_end):
        edge = list(self.relations)[which % len(self.relations)]
        ticket = next(one for one in self.tickets if one.id == edge[from_end])
        done = self.doors.unrelate(door, ticket.id, self.relations[edge])
        if not self.is_gone(ticket, done) and done.code is None:
            self.tell(done, "ticket.relation_removed")
            del self.relations[edge]
        elif not ticket.is_deleted:
            # The other end is deleted, so the relation does not exist for callers.
            other = next(one for one in self.tickets if one.id == edge[3 - from_end])
            assert (done.code, other.is_deleted) == ("resource.not_found", True)

    @rule(door=WHO, slug=st.sampled_from(["one", "two"]), body=TEXT)
    def write(self, door, slug, body):
        page = self.pages.get(slug)
        if page is None or page.is_deleted:
            done = self.doors.make_page(door, slug, body)
            self.tell(done, "wiki.created")
            self.pages[slug] = WikiPage(done.answer["id"], body)
        else:
            done = self.doors.put_page(door, page.id, body)
            if body != page.body:
                page.revision += 1
                self.told.append("wiki.updated")
            page.body = body
            assert done.answer["revision_number"] == page.revision

    @precondition(lambda self: self.pages)
    @rule(door=WHO, slug=st.sampled_from(["one", "two"]))
    def unwrite(self, door, slug):
        page = self.pages.get(slug)
        if page is not None:
            done = self.doors.drop_page(door, page.id)
            if page.is_deleted:
                assert done.refusal == GONE
            else:
                self.tell(done, "wiki.deleted")
                page.is_deleted = True

    @rule(door=WHO, body=LINE)
    def note(self, door, body):
        done = self.doors.make_note(door, body)
        self.tell(done, "sticky_note.created")
        self.notes[done.answer["id"]] = None

    @precondition(lambda self: self.notes)
    @rule(door=WHO, which=WHICH)
    def unnote(self, door, which):
        note = list(self.notes)[which % len(self.notes)]
        self.tell(self.doors.drop_note(door, note), "sticky_note.deleted")
        del self.notes[note]

    @precondition(lambda self: self.notes)
    @rule(door=WHO, which=WHICH)
    def convert(self, door, which):
        note = list(self.notes)[which % len(self.notes)]
        done: Done = self.doors.convert(door, note)
        if self.notes[note] is not None:
            assert done.refusal == ("resource.conflict", "already_converted")
            return
        self.tell(done, "ticket.created", "sticky_note.converted")
        self.notes[note] = done.answer["id"]
        self.tickets.append(Ticket(done.answer["id"], done.answer["title"], self.states[0]))

    def teardown(self):
        """Compare the whole state, and every event in order."""
        ada, project = self.doors.cast.ada, self.doors.project
        listed = {row["id"]: row for row in walk(ada, f"/projects/{project}/tickets", 200)}
        live = [ticket for ticket in self.tickets if not ticket.is_deleted]
        assert list(listed) == [ticket.id for ticket in reversed(live)]
        for ticket in live:
            row = listed[ticket.id]
            shown = (row["title"], row["state_id"], row["assignee_user_id"])
            assert shown == (ticket.title, ticket.state, ticket.assignee)
            comments = walk(ada, f"/tickets/{ticket.id}/comments", 200)
            assert sorted(one["body"] for one in comments) == sorted(ticket.comments)
            related = {one["id"] for one in walk(ada, f"/tickets/{ticket.id}/relations", 200)}
            assert related == self.ends(ticket.id)
        pages = {row["slug"]: row["revision_number"] for row in walk(ada, "/wiki/pages", 200)}
        assert pages == {
            slug: page.revision for slug, page in self.pages.items() if not page.is_deleted
        }
        notes = walk(ada, f"/projects/{project}/sticky-notes", 200)
        assert {one["id"]: one["converted_to_ticket_id"] for one in notes} == self.notes
        told = [event.event_type for event in events(self.database.app)]
        assert [one for one in told if one.startswith(WATCHED)] == self.told

    def ends(self, ticket):
        """Return the relations of a ticket whose other end is not deleted."""
        deleted = {one.id for one in self.tickets if one.is_deleted}
        return {
            identifier
            for (_, source, target), identifier in self.relations.items()
            if ticket in (source, target) and not {source, target} & deleted
        }


def test_rest_and_mcp_do_what_the_model_does(database):
    machine = type("MachineHere", (Machine,), {"database": database})
    long = RUNS > 100
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=RUNS,
            stateful_step_count=STEPS,
            deadline=None,
            database=None,
            derandomize=not long,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        ),
    )
