"""Many agents at once take the open tickets of the real data, as careful colleagues would."""

import itertools
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import orjson
import pytest

from tests.conftest import REAL_DATA
from tests.support.forking import FORKED, Forked, ended, fork
from tests.support.serving import ROOT, environment, serving
from tests.support.sizes import IS_LONG, every
from tests.support.workspace import owner_of

pytestmark = pytest.mark.slow

AGENTS, CLOSED = (32, 200) if IS_LONG else (8, 20)
# Refusals that are expected when agents meet; any other one is a fault.
INTENDED = {("resource.conflict", "assignee_mismatch")}


class Agent:
    """A bot with its own connection, and the refusals that it received."""

    def __init__(self, served, bot):
        self.served, self.bot = served, bot
        self.address = f"/mcp/bot/{bot.token}/mcp"
        self.numbers = itertools.count()
        self.refusals = Counter()
        self.claimed = []
        self.calls = self.moves = 0

    def call(self, tool, **arguments):
        """Call a tool; return the structured result, or None for a refusal."""
        message = {
            "jsonrpc": "2.0",
            "id": next(self.numbers),
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        self.calls += 1
        answer = self.served.request("POST", self.address, message, timeout=60)
        assert answer.status == 200, answer.body
        result = answer.json["result"]
        if not result["isError"]:
            return result["structuredContent"]
        error = result["structuredContent"]["error"]
        self.refusals[error["code"], (error.get("details") or {}).get("reason")] += 1
        return None

    def work(self):
        """Take ready tickets until none is left."""
        assert self.call("get_self")["username"] == self.bot.username
        while ready := self.call("list_tickets", ready=True, limit=20)["data"]:
            # All agents see the same list; each begins at a different place.
            offset = hash((self.bot.id, len(self.claimed))) % len(ready)
            for row in ready[offset:] + ready[:offset]:
                name = row["display_id"]
                claim = {"ticket": name, "assignee": "me", "expected_assignee": "none"}
                if self.call("update_ticket", **claim) is not None:
                    self.claimed.append(name)
                    self.finish(name)
                    break
        body = "\n".join(f"- [[ticket:{name}]]" for name in self.claimed)
        title = f"Done by {self.bot.username}"
        assert self.call("create_wiki_page", project="REAL", title=title, body=body)

    def finish(self, name):
        """Read it, start it, comment on it, link it to the one before, and finish it."""
        ticket = self.call("get_ticket", ticket=name)
        assert ticket["assignee"] == self.bot.username
        # Some are already in progress, and a move to the current state changes nothing.
        self.moves += 1 + (ticket["state"] != "In progress")
        move = {"ticket": name, "state": "In progress", "expected_assignee": "me"}
        assert self.call("transition_ticket", **move)
        assert self.call("add_comment", ticket=name, body="Looked into it.")
        if len(self.claimed) > 1:
            edge = {"ticket": name, "type": "relates_to", "target": self.claimed[-2]}
            if self.call("add_ticket_relation", **edge) is None:
                # They were already related.
                self.refusals.subtract([("resource.conflict", "duplicate_key")])
        done = {"ticket": name, "state": "done", "comment": "Done.", "expected_assignee": "me"}
        assert self.call("transition_ticket", **done)["state"] == "Done"


def issues_of_the_real_data(directory):
    """Write a file of every other open issue and of some closed ones; return its path."""
    lines = (REAL_DATA / "issues.jsonl").read_bytes().splitlines()
    closed = [line for line in lines if orjson.loads(line)["status"] == "closed"]
    others = [line for line in lines if line not in closed]
    file = directory / "issues.jsonl"
    file.write_bytes(b"\n".join([*every(2, others), *closed[:CLOSED]]))
    return str(file)


@pytest.mark.real_data
def test_agents_share_the_open_tickets(migrated_url, tmp_path):
    settings = {
        "DATABASE_URL": migrated_url,
        "SECRET_KEY": "a secret key of the tests, long enough",
    }
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        owner = owner_of(served)
        owner.call("POST", "/projects", {"key": "REAL", "name": "Real"})
        issues, log = issues_of_the_real_data(tmp_path), tmp_path / "import.log"
        importing = Forked("wsgi", ("import-issues", issues, "--project", "REAL"))
        given = environment(tmp_path / "instance", served.port, **settings)
        assert ended(fork(importing, ROOT, given, log), log) == 0, log.read_text()
        agents = [Agent(served, owner.bot(f"bot-work-{number}")) for number in range(AGENTS)]
        with ThreadPoolExecutor(AGENTS) as desks:
            for done in [desks.submit(agent.work) for agent in agents]:
                done.result()

        claimed = Counter(name for agent in agents for name in agent.claimed)
        assert len(claimed) > (50 if IS_LONG else 25)
        assert set(claimed.values()) == {1}
        refusals = sum((agent.refusals for agent in agents), Counter())
        assert {kind for kind, count in refusals.items() if count > 0} <= INTENDED
        assert owner.call("GET", "/tickets?ready=true")["data"] == []
        check_the_log(owner, agents, claimed)


def check_the_log(owner, agents, claimed):
    """The audit log has everything: who took, moved, commented and wrote what, and every call."""
    told = {name: events(owner, f"/audit?event_type={name}") for name in TOLD}
    assert len(told["ticket.assigned"]) == len(claimed)
    by_bots = {agent.bot.id for agent in agents}
    moved = [one for one in told["ticket.state_changed"] if one["actor_user_id"] in by_bots]
    assert len(moved) == sum(agent.moves for agent in agents)
    said = [one for one in told["comment.created"] if one["actor_user_id"] in by_bots]
    assert len(said) == 2 * len(claimed)
    assert len(told["wiki.created"]) == AGENTS
    invoked = Counter(one["actor_user_id"] for one in told["bot.tool_invoked"])
    assert invoked == {agent.bot.id: agent.calls for agent in agents}
    calls = events(owner, "/audit/tools?")
    assert len(calls) == sum(agent.calls for agent in agents)
    for one in told["ticket.assigned"]:
        assert orjson.dumps(one["payload"])
        assert one["actor_user_id"] == one["payload"]["assignee_user_id"]


TOLD = (
    "ticket.assigned",
    "ticket.state_changed",
    "comment.created",
    "wiki.created",
    "bot.tool_invoked",
)


def events(owner, path):
    """All rows of a list, from all its pages."""
    rows, cursor = [], ""
    while True:
        page = owner.call("GET", f"{path}&limit=200{cursor}")
        rows += page["data"]
        if not page["page"]["has_more"]:
            return rows
        cursor = f"&cursor={page['page']['next_cursor']}"
