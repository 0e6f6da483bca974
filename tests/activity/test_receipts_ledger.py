"""Bots read and write at random: every receipt matches a ledger of what their clients were shown.

Two processes answer them by turns, sometimes store their notes, and are killed. ``LONG=1`` has 32
bots on 300 tickets.
"""

import random
from dataclasses import dataclass, field

import pytest

from app.accounts import read_notes
from app.accounts.answering import answer_receipts
from app.accounts.models import BotMode
from app.core.clock import iso, now_ms
from tests.support.agent import Agent
from tests.support.cast import Caller
from tests.support.sizes import IS_LONG
from tests.support.story import events, make_ticket, ok

BOTS, TICKETS, STEPS = (32, 300, 12_000) if IS_LONG else (5, 6, 110)
PRIORITIES = ("low", "medium", "high", "urgent")
CERTAIN = ("read", "outdated", "partly_read", "not_read")


@dataclass
class Reader:
    """A bot, and what its clients were shown."""

    caller: Caller
    agent: Agent
    versions: dict[str, str] = field(default_factory=dict)
    comments: set[str] = field(default_factory=set)
    rules: int | None = None
    # The processes that may hold notes about its reads, and whether such notes were lost.
    processes: set[int] = field(default_factory=set)
    has_lost: bool = False


@dataclass
class World:
    """The current state, according to responses to writes."""

    versions: dict[str, str] = field(default_factory=dict)
    # By ticket: the ids of comments with their authors, in order.
    comments: dict[str, dict[str, str]] = field(default_factory=dict)
    rules: int = 1


class Storm:
    """One run; each step is a method."""

    def __init__(self, app, cast, monkeypatch):
        self.app, self.ada = app, cast.ada
        self.random = random.Random(20_261_125)
        # How far the database's clock is ahead of the process's, in milliseconds.
        self.late = 0
        monkeypatch.setattr(read_notes, "database_ms", lambda: now_ms() + self.late)
        self.kept = [read_notes.Notes(), read_notes.Notes()]
        self.serve(0)
        self.world, self.project = World(), cast.open_project
        body = {"slug": "agents", "title": "Rules", "body": "One", "project_id": self.project}
        self.rules_id = ok(self.ada.post("/wiki/pages", body), 201)["id"]
        self.tickets = []
        for number in range(TICKETS):
            made = make_ticket(self.ada, self.project, f"Ticket {number}")
            self.tickets.append(made["display_id"])
            self.world.versions[made["display_id"]] = made["updated_at"]
            self.world.comments[made["display_id"]] = {}
        self.readers = [self.reader(number) for number in range(BOTS)]
        self.seen = dict.fromkeys((*CERTAIN, "unknown"), 0)
        # Whether processes answer before a receipt is checked.
        self.answers = False

    def reader(self, number):
        body = {"username": f"bot-{number}", "mode": BotMode.WRITE.value}
        made = ok(self.ada.post("/bots", body), 201)
        token = made["plaintext_token"]
        caller = Caller(
            self.app.test_client(), {"X-API-Key": token}, made["bot"]["id"], body["username"], token
        )
        return Reader(caller, Agent(caller))

    def serve(self, process):
        """Let this process answer from here on."""
        self.process = process
        self.app.extensions[read_notes.EXTENSION] = self.kept[process]

    # Reading.

    def shown_ticket(self, reader, row):
        self.noted(reader)
        reader.versions[row["display_id"]] = row["updated_at"]

    def noted(self, reader):
        reader.processes.add(self.process)

    def rest_get(self, reader, ticket):
        self.shown_ticket(reader, ok(reader.caller.get(f"/tickets/{ticket}")))

    def rest_list(self, reader, _):
        for row in ok(reader.caller.get("/tickets?limit=5"))["data"]:
            self.shown_ticket(reader, row)

    def rest_comments(self, reader, ticket):
        limit = self.random.choice((1, 3, 50))
        path = f"/tickets/{ticket}/comments?limit={limit}"
        while True:
            page = ok(reader.caller.get(path))
            if page["data"]:
                self.noted(reader)
            reader.comments.update(row["id"] for row in page["data"])
            if not page["page"]["has_more"] or self.random.random() < 0.5:
                return
            cursor = page["page"]["next_cursor"]
            path = f"/tickets/{ticket}/comments?limit={limit}&cursor={cursor}"

    def rest_activity(self, reader, ticket):
        rows = ok(reader.caller.get(f"/tickets/{ticket}/activity?limit=3"))["data"]
        made = [one for one in rows if one["event_type"] == "comment.created"]
        reader.comments.update(one["payload"]["comment_id"] for one in made)
        if made:
            self.noted(reader)

    def rest_rules(self, reader, _):
        page = ok(reader.caller.get(f"/wiki/pages/{self.rules_id}"))
        self.noted(reader)
        reader.rules = page["revision_number"]

    def mcp_get(self, reader, ticket):
        reader.versions[ticket] = reader.agent.call("get_ticket", ticket=ticket)["updated_at"]

    def mcp_comments(self, reader, ticket):
        limit = self.random.choice((1, 3, 50))
        page = reader.agent.call("list_comments", ticket=ticket, limit=limit)
        reader.comments.update(row["id"] for row in page["data"])

    def mcp_resource(self, reader, ticket):
        reader.agent.result("resources/read", {"uri": f"ticket://{ticket}"})
        reader.versions[ticket] = self.world.versions[ticket]
        reader.comments.update(self.world.comments[ticket])

    def mcp_rules(self, reader, _):
        reader.agent.lean("get_wiki_page", page="agents", project="OPEN")
        reader.rules = self.world.rules

    # People.

    def ada_changes(self, _, ticket):
        body = {"priority": self.random.choice(PRIORITIES)}
        self.world.versions[ticket] = ok(self.ada.patch(f"/tickets/{ticket}", body))["updated_at"]

    def ada_comments(self, _, ticket):
        made = ok(self.ada.post(f"/tickets/{ticket}/comments", {"body": "Note"}), 201)
        self.world.comments[ticket][made["id"]] = made["author_user_id"]

    def ada_rules(self, _, __):
        body = {"body": str(self.random.random())}
        page = ok(self.ada.patch(f"/wiki/pages/{self.rules_id}", body))
        self.world.rules = page["revision_number"]

    # Processes.

    def switch(self, _, __):
        self.serve(1 - self.process)

    def store(self, _, __):
        with self.app.app_context():
            read_notes.store_notes()

    def end(self, _, __):
        """The process stops regularly, and another one begins."""
        with self.app.app_context():
            read_notes.release()
        for reader in self.readers:
            reader.processes.discard(self.process)
        self.kept[self.process] = read_notes.Notes()
        self.serve(self.process)

    def kill(self, _, __):
        """Kill the process; the other one notices that later."""
        for reader in self.readers:
            if self.process in reader.processes:
                reader.processes.discard(self.process)
                reader.has_lost = True
        self.kept[self.process] = read_notes.Notes()
        self.serve(1 - self.process)
        self.late += read_notes.DEAD_MS + 1
        with self.app.app_context():
            read_notes.notes().heartbeat_due = 0.0
            read_notes.store_notes()

    def answer(self):
        """Let each process say what it had shown before."""
        own = self.process
        for process in range(len(self.kept)):
            self.serve(process)
            with self.app.app_context():
                answer_receipts()
        self.serve(own)

    # Writing.

    def rest_changes(self, reader, ticket):
        body = {"priority": self.random.choice(PRIORITIES), "title": str(self.random.random())}
        before = self.expected(reader, ticket)
        response = reader.caller.patch(f"/tickets/{ticket}", body)
        row = ok(response)
        self.check(reader, response, before)
        self.world.versions[ticket] = row["updated_at"]
        self.shown_ticket(reader, row)

    def mcp_changes(self, reader, ticket):
        before = self.expected(reader, ticket)
        knew = reader.versions.get(ticket) == self.world.versions[ticket]
        detail = self.random.choice(("lean", "full"))
        arguments = {"ticket": ticket, "title": str(self.random.random()), "detail": detail}
        response, answer = self.tool(reader, "update_ticket", arguments)
        self.check(reader, response, before)
        after = iso(int(answer["etag"].split('"')[1].split("-")[0]))
        self.world.versions[ticket] = after
        status = before["ticket"]["status"]
        if detail == "full" or (knew and (status == "read")):
            reader.versions[ticket] = after

    def rest_says(self, reader, ticket):
        before = self.expected(reader, ticket)
        response = reader.caller.post(f"/tickets/{ticket}/comments", {"body": "Mine"})
        made = ok(response, 201)
        self.check(reader, response, before)
        self.world.comments[ticket][made["id"]] = made["author_user_id"]

    def mcp_says(self, reader, ticket):
        before = self.expected(reader, ticket)
        arguments = {"ticket": ticket, "body": "Mine", "detail": "full"}
        response, made = self.tool(reader, "add_comment", arguments)
        self.check(reader, response, before)
        self.world.comments[ticket][made["id"]] = made["author_user_id"]

    def tool(self, reader, name, arguments):
        response = reader.agent.send("tools/call", {"name": name, "arguments": arguments})
        found = response.get_json()["result"]
        assert not found["isError"], found
        return response, found["structuredContent"]

    # The ledger.

    def expected(self, reader, ticket):
        version, read = self.world.versions[ticket], reader.versions.get(ticket)
        status = "read" if read == version else "outdated" if read else "not_read"
        known = {
            one
            for one, author in self.world.comments[ticket].items()
            if author == reader.caller.user_id or one in reader.comments
        }
        unread = [one for one in self.world.comments[ticket] if one not in known]
        said = "partly_read" if known and unread else "not_read" if unread else "read"
        rules = "read" if reader.rules == self.world.rules else "outdated"
        return {
            "ticket": {"status": status, "version": version, "read_version": read},
            "comments": {
                "status": said,
                "count": len(known) + len(unread),
                "read_count": len(known),
                "unread": unread[-20:],
            },
            "house_rules": {
                "page_id": self.rules_id,
                "status": rules if reader.rules else "not_read",
                "revision_number": self.world.rules,
                "read_revision_number": reader.rules,
            },
        }

    def check(self, reader, response, expected):
        request_id = response.headers["X-Request-Id"]
        found = [one for one in events(self.app, request_id=request_id) if one.receipt]
        assert found
        if self.answers:
            self.answer()
        is_certain = not reader.has_lost and reader.processes <= {self.process}
        for event in found:
            receipt = ok(self.ada.get(f"/audit/{event.id}"))["receipt"]
            assert receipt["page"] is None
            receipt["comments"]["unread"] = [one["id"] for one in receipt["comments"]["unread"]]
            for name, truth in expected.items():
                self.compare(receipt[name], truth, is_certain=is_certain)

    def compare(self, part, truth, *, is_certain):
        self.seen[part["status"]] += 1
        if is_certain:
            assert part == truth
            return
        # What is reported as known is still true; of lost reads, an earlier one may be reported.
        newest = ("read_version", "read_revision_number")
        for name in newest:
            assert part.get(name) is None or part[name] <= truth[name]
        if part["status"] == "unknown":
            assert part.get("read_count", 0) <= truth.get("read_count", 0)
            return
        without = dict.fromkeys(newest)
        assert part | without == truth | without


WEIGHTS = {
    **dict.fromkeys(("rest_get", "mcp_get", "rest_comments", "mcp_comments"), 10),
    **dict.fromkeys(("rest_list", "rest_activity", "mcp_resource", "rest_rules", "mcp_rules"), 3),
    **dict.fromkeys(("ada_changes", "ada_comments"), 8),
    **dict.fromkeys(("rest_changes", "mcp_changes", "rest_says", "mcp_says"), 14),
    "ada_rules": 1,
}
PROCESSES = {"switch": 6, "store": 8, "end": 2}


@pytest.fixture(name="storm")
def _storm(app, cast, monkeypatch):
    return Storm(app, cast, monkeypatch)


def run(storm, weights, steps=STEPS):
    for _ in range(steps):
        (name,) = storm.random.choices(list(weights), list(weights.values()))
        getattr(storm, name)(storm.random.choice(storm.readers), storm.random.choice(storm.tickets))


def test_receipts_of_one_process_are_what_the_ledger_says(storm):
    run(storm, {**WEIGHTS, "store": 8})
    assert storm.seen["unknown"] == 0
    assert all(storm.seen[status] for status in CERTAIN), storm.seen


def test_receipts_are_known_once_processes_have_answered(storm):
    storm.answers = True
    run(storm, WEIGHTS | PROCESSES)
    # Reads during a query for the clock of PostgreSQL cannot be ordered.
    assert storm.seen["unknown"] <= sum(storm.seen.values()) // 50, storm.seen


def test_receipts_of_two_processes_are_never_wrong_also_after_kills(storm):
    run(storm, WEIGHTS | PROCESSES, STEPS // 2)
    run(storm, WEIGHTS | PROCESSES | {"kill": 2}, STEPS // 2)
    assert all(storm.seen.values()), storm.seen
