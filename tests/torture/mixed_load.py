"""People and bots that do a bit of everything, at full speed or at a given rate."""

import http.client
import random
import re
import threading
import time
import uuid
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from urllib.parse import quote

import orjson

from tests.bench.filling import KEY, World
from tests.bench.operations import API, operations

# Per hundred requests; "poll" is a board that is open in a browser.
MIX = {
    "get ticket": 18,
    "list of 50": 8,
    "list of 50, two filters": 5,
    "search": 6,
    "board page": 5,
    "poll": 20,
    "ticket page": 10,
    "wiki page": 6,
    "MCP get_self": 6,
    "MCP list_tickets": 4,
    "create ticket": 4,
    "comment": 4,
    "transition": 4,
}


@dataclass(frozen=True)
class Asked:
    """A request to send."""

    method: str
    path: str
    headers: dict[str, str]
    body: str | None = None


@dataclass
class Seen:
    """What clients saw: for each answer when it was due, in seconds, how many milliseconds it took,
    and the kind of request.
    """

    answers: list[tuple[float, float, str]] = field(default_factory=list)
    created: set[str] = field(default_factory=set)
    failures: Counter[str] = field(default_factory=Counter)


class Client:
    """One person's browser or one bot, on one connection."""

    def __init__(self, port: int, world: World, cookie: str, number: int) -> None:
        self.chance = random.Random(number)
        self.world = world
        self.person = {"Cookie": cookie}
        self.bot = {"X-API-Key": world.token, "Content-Type": "application/json"}
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        self.ready = {
            one.name: [Asked(r.method, r.path, r.headers, r.body or None) for r in one.requests]
            for one in operations(world, cookie)
        }
        self.made: list[str] = []
        self.since = ""

    def ask(self, name: str, seen: Seen) -> None:
        """Send one request; a failure is counted under its name."""
        asked = self._asked(name)
        try:
            self.connection.request(asked.method, asked.path, asked.body, asked.headers)
            response = self.connection.getresponse()
            body = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.connection.close()
            seen.failures[f"{name}: {type(error).__name__}"] += 1
            return
        if response.status >= 400:
            seen.failures[f"{name}: {response.status}"] += 1
        elif name == "create ticket":
            made = orjson.loads(body)["display_id"]
            seen.created.add(made)
            self.made.append(made)
        elif name == "poll" and response.status == 200:
            found = re.search(rb'data-since="([^"]+)"', body)
            self.since = found.group(1).decode() if found else ""

    def _asked(self, name: str) -> Asked:
        if name == "poll":
            path = f"/live?since={quote(self.since)}" if self.since else ""
            return Asked("GET", f"/projects/{KEY}/board{path}", self.person)
        if name in ("comment", "transition"):
            ticket = self._some_ticket()
            body: dict[str, str] = {"body": f"Looked at {ticket} again."}
            if name == "transition":
                body = {"state_id": self.chance.choice(self.world.states)}
            path = f"{API}/tickets/{ticket}/{'comments' if name == 'comment' else name}"
            return Asked("POST", path, self.bot, orjson.dumps(body).decode())
        asked = self.chance.choice(self.ready[name])
        if name == "create ticket":
            key = {"Idempotency-Key": str(uuid.uuid4())}
            return Asked(asked.method, asked.path, asked.headers | key, asked.body)
        return asked

    def _some_ticket(self) -> str:
        if self.made and self.chance.random() < 0.5:
            return self.chance.choice(self.made)
        return f"{KEY}-{self.chance.randint(1, self.world.tickets)}"


def work(clients: list[Client], seconds: float, rate: float | None) -> Seen:
    """Run all clients for ``seconds``: at full speed, or at ``rate`` requests a second."""
    seen = Seen()
    names, weights = list(MIX), list(MIX.values())
    began, lock, sent = time.monotonic(), threading.Lock(), 0

    def run(client: Client) -> None:
        nonlocal sent
        while True:
            now = time.monotonic() - began
            due = now
            if rate is not None:
                with lock:
                    due, sent = sent / rate, sent + 1
                time.sleep(max(0.0, due - now))
            if due > seconds:
                return
            name = client.chance.choices(names, weights)[0]
            client.ask(name, seen)
            took = time.monotonic() - began - due
            seen.answers.append((due, took * 1000, name))

    with ThreadPoolExecutor(len(clients)) as pool:
        for one in [pool.submit(run, client) for client in clients]:
            one.result()
    return seen
