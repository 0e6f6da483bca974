"""Clients that create, comment, move and claim, and record what was acknowledged."""

import random
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.support.serving import Answer, Served
from tests.torture.ledger import LOST, Ledger

CLIENTS = 8


@dataclass(frozen=True)
class Site:
    """What clients know about the server: its address and their credentials."""

    port: int
    owner_cookie: str
    bots: tuple[tuple[str, str], ...]
    project: str
    states: tuple[str, ...]

    def ask(self, method: str, path: str, body: Any = None, bot: int = 0, **more: Any) -> Answer:
        """Send a request as a bot to the server that listens on the port."""
        served = Served(None, self.port, None)  # type: ignore[arg-type]  # only its port is used
        headers = {"X_API_Key": self.bots[bot][1]}
        return served.request(method, f"/api/v1{path}", body, **headers, **more)


def work(site: Site, ledger: Ledger, over: threading.Event, number: int) -> None:
    """Work until it is over, whatever happens to the server meanwhile."""
    bot = number % len(site.bots)
    chance = random.Random(number)
    while not over.is_set():
        try:
            _turn(site, ledger, bot, chance)
        except LOST:
            ledger.answers[0] += 1
            over.wait(0.02)


def _turn(site: Site, ledger: Ledger, bot: int, chance: random.Random) -> None:
    title = ledger.title()
    path = f"/projects/{site.project}/tickets"
    made = _judged(ledger, site.ask("POST", path, {"title": title}, bot), 201)
    if made is None:
        return
    ticket = made["id"]
    ledger.tickets[ticket] = title
    said = site.ask("POST", f"/tickets/{ticket}/comments", {"body": title}, bot)
    found = _judged(ledger, said, 201)
    if found is not None:
        ledger.comments.append(found["id"])
    if chance.random() < 0.5:
        body = {"state_id": site.states[-1]}
        if _judged(ledger, site.ask("POST", f"/tickets/{ticket}/transition", body, bot), 200):
            ledger.moves.append(ticket)
    else:
        mine = site.bots[bot][0]
        body = {"assignee_user_id": mine, "expected_assignee_user_id": None}
        if _judged(ledger, site.ask("PATCH", f"/tickets/{ticket}", body, bot), 200):
            ledger.claims.append((ticket, mine))


def _judged(ledger: Ledger, answer: Answer, wanted: int) -> Any:
    """Return the JSON of a success; a fault may only cause a 503 in the error envelope."""
    ledger.answers[answer.status] += 1
    if answer.status == wanted:
        return answer.json
    if answer.status != 503 or answer.json["error"]["code"] != "server.unavailable":
        ledger.surprises.append(f"{answer.status} {answer.body[:200]!r}")
    return None


@contextmanager
def load(site: Site, ledger: Ledger, clients: int = CLIENTS) -> Iterator[None]:
    """Run clients during the with-block."""
    over = threading.Event()
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(work, site, ledger, over, number) for number in range(clients)]
        try:
            yield
        finally:
            over.set()
    for one in running:
        one.result()
