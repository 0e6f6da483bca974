"""The ledger of promises to clients, and the checker that compares it with the database."""

import http.client
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import sqlalchemy as sa

from tests.support.receiver import SECRET, Receiver
from tests.support.serving import Answer

# Exceptions raised by a request that gets no response.
LOST = (OSError, http.client.HTTPException)


class Broken(AssertionError):
    """A promise was not kept; the message names it."""


@dataclass
class Ledger:
    """The clients' own record of what they attempted and what was acknowledged."""

    attempted: set[str] = field(default_factory=set)
    tickets: dict[str, str] = field(default_factory=dict)
    comments: list[str] = field(default_factory=list)
    moves: list[str] = field(default_factory=list)
    claims: list[tuple[str, str]] = field(default_factory=list)
    # Statuses of all responses, and the responses that no fault explains.
    answers: Counter[int] = field(default_factory=Counter)
    surprises: list[str] = field(default_factory=list)
    # Delivery attempts that were made but whose rows were lost with a torn-off log.
    torn: set[str] = field(default_factory=set)
    numbers: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def title(self) -> str:
        """Return a title that no other attempt uses."""
        with self._lock:
            self.numbers += 1
            title = f"t{self.numbers}"
            self.attempted.add(title)
            return title

    def forget(self, titles: set[str]) -> None:
        """Drop promises that a fault of the storage itself has broken (a torn log)."""
        gone = {ticket for ticket, title in self.tickets.items() if title in titles}
        self.tickets = {one: title for one, title in self.tickets.items() if one not in gone}
        self.moves = [one for one in self.moves if one not in gone]
        self.claims = [one for one in self.claims if one[0] not in gone]


@dataclass
class Once:
    """Something that works once, or ends permanently: how to request it, and the outcome."""

    what: str
    ask: Callable[[], Answer]
    # The status that acknowledges it, and the one for attempts that are too late; the same if
    # repeating it gives the same answer.
    done: int
    over: int
    # How often it happened, according to the database.
    count: Callable[[], int]
    # Restarts it from the beginning, if it cannot be retried after a kill interrupted it.
    anew: Callable[[], Answer] | None = None
    # Whether the thing that it ends still works.
    is_alive: Callable[[], bool] | None = None
    # Statuses of all responses; 0 means no response.
    answers: Counter[int] = field(default_factory=Counter)
    # Requests that the server may have processed without responding.
    lost: int = 0

    def attempt(self) -> None:
        """Send the request; raises Broken if the thing that it ended still works."""
        try:
            status = self.ask().status
            self.answers[status] += 1
            if self.is_alive is not None and status in (self.done, self.over) and self.is_alive():
                raise Broken(f"{self.what}: it ended and goes on")
        except LOST as error:
            self.answers[0] += 1
            # A refused connection never reached the server.
            self.lost += not isinstance(error, ConnectionRefusedError)

    def judge(self) -> None:
        """Check that it happened once and was acknowledged at most once; raises Broken."""
        happened, acknowledged = self.count(), self.answers[self.done]
        if self.done == self.over:
            acknowledged = min(acknowledged, 1)
        is_known = set(self.answers) <= {0, self.done, self.over}
        if happened == 0 and self.anew is not None and self.lost > 0:
            happened += self.anew().status == self.done
        if not is_known or not acknowledged <= happened <= 1 or happened == 0:
            answers = dict(self.answers)
            raise Broken(f"{self.what}: happened {happened} times, its answers are {answers}")


Rows = Callable[[str], list[Any]]


def check(engine: sa.Engine, ledger: Ledger, done: str) -> dict[str, int]:
    """Compare the database with the ledger, and changes with events; raises Broken."""
    with engine.connect() as connection:

        def rows(statement: str) -> list[Any]:
            return [tuple(map(_plain, row)) for row in connection.execute(sa.text(statement))]

        counts = _check_rows(rows, ledger, done)
        if engine.dialect.name == "sqlite":
            _expect("integrity_check", rows("PRAGMA integrity_check"), [("ok",)])
            _expect("foreign_key_check", rows("PRAGMA foreign_key_check"), [])
        else:
            _check_pages(connection, rows)
    if ledger.surprises:
        raise Broken(f"answers that no fault explains: {ledger.surprises[:5]}")
    return counts


# Every table's pages and every index against its table, using PostgreSQL's contributed module.
DAMAGED_TABLES = """SELECT c.relname, v.msg FROM pg_class c, verify_heapam(c.oid) v
    WHERE c.relkind IN ('r', 't') AND c.relpersistence = 'p'"""
EVERY_INDEX = """SELECT count(bt_index_check(i.indexrelid, true)) FROM pg_index i
    JOIN pg_class c ON c.oid = i.indexrelid JOIN pg_am a ON a.oid = c.relam
    WHERE a.amname = 'btree' AND i.indisvalid AND c.relpersistence = 'p'"""


def _check_pages(connection: sa.Connection, rows: Rows) -> None:
    """Check for damage if the server has amcheck; raises Broken, or DBAPIError for an index."""
    offered = "SELECT 1 FROM pg_available_extensions WHERE name = 'amcheck'"
    if rows(offered):
        connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS amcheck"))
        connection.commit()
        _expect("damaged tables", rows(DAMAGED_TABLES), [])
        rows(EVERY_INDEX)


def _plain(value: Any) -> Any:
    return value if isinstance(value, int) or value is None else str(value)


def _expect(what: str, found: Any, wanted: Any) -> None:
    if found == wanted:
        return
    if isinstance(found, Counter):
        # Surplus and missing.
        found, wanted = found - wanted, wanted - found
    raise Broken(f"{what}: {str(found)[:400]}, expected {str(wanted)[:400]}")


def _check_rows(rows: Rows, ledger: Ledger, done: str) -> dict[str, int]:
    tickets = {
        ticket: (title, number, state, assignee)
        for ticket, title, number, state, assignee in rows(
            "SELECT id, title, ticket_number, state_id, assignee_user_id FROM tickets"
        )
    }
    comments = Counter(ticket for _, ticket in rows("SELECT id, ticket_id FROM comments"))
    known = {comment for (comment,) in rows("SELECT id FROM comments")}
    lost = set(ledger.tickets) - set(tickets), set(ledger.comments) - known
    _expect("acknowledged tickets and comments that are lost", lost, (set(), set()))
    still = [one for one in ledger.moves if tickets[one][2] != done]
    _expect("acknowledged moves that are lost", still, [])
    taken = [one for one, bot in ledger.claims if tickets[one][3] != bot]
    _expect("acknowledged claims that are lost or were given twice", taken, [])
    unasked = [title for title, *_ in tickets.values() if title not in ledger.attempted]
    _expect("tickets that nobody asked for", unasked, [])
    titles = Counter(title for title, *_ in tickets.values())
    _expect("tickets made twice", [one for one, count in titles.items() if count > 1], [])
    numbers = sorted(number for _, number, _, _ in tickets.values())
    _expect("ticket numbers", numbers, list(range(1, len(numbers) + 1)))
    _expect("ticket counter", rows("SELECT ticket_counter FROM projects"), [(len(numbers),)])
    events = _events(rows)
    moved = Counter(one for one, row in tickets.items() if row[2] == done)
    assigned = Counter(one for one, row in tickets.items() if row[3] is not None)
    _expect("ticket.created", events.get("ticket.created", Counter()), Counter(list(tickets)))
    _expect("ticket.state_changed", events.get("ticket.state_changed", Counter()), moved)
    _expect("ticket.assigned", events.get("ticket.assigned", Counter()), assigned)
    _expect("comment.created", events.get("comment.created", Counter()), comments)
    return {"tickets": len(tickets), "comments": len(known), "acknowledged": len(ledger.tickets)}


def _events(rows: Rows) -> dict[str, Counter[str]]:
    found: dict[str, Counter[str]] = {}
    for kind, ticket in rows(
        "SELECT event_type, ticket_id FROM audit_events WHERE category = 'activity'"
    ):
        if kind != "ticket.watcher_added":
            found.setdefault(kind, Counter())[ticket] += 1
    return found


def check_deliveries(
    engine: sa.Engine, receiver: Receiver, ledger: Ledger, seconds: float = 60
) -> dict[str, int]:
    """Wait until no deliveries are pending, as long as their number decreases.

    Then check that every event arrived and every attempt has its row; raises Broken.
    """
    owed = sa.text(
        "SELECT state, attempt, due_at FROM webhook_outbox"
        " WHERE state <> 'finished' ORDER BY due_at"
    )
    least, deadline = sys.maxsize, 0.0
    while True:
        with engine.connect() as connection:
            left = connection.execute(owed).all()
        if not left:
            break
        if len(left) < least:
            least, deadline = len(left), time.monotonic() + seconds
        if time.monotonic() > deadline:
            now = int(time.time() * 1000)
            shown = [(state, attempt, due - now) for state, attempt, due in left[:4]]
            raise Broken(f"{len(left)} deliveries are still owed after {seconds:.0f} s: {shown}")
        time.sleep(0.05)
    with engine.connect() as connection:
        titles = {title for (title,) in connection.execute(sa.text("SELECT title FROM tickets"))}
        attempts = {
            str(one) for (one,) in connection.execute(sa.text("SELECT id FROM webhook_deliveries"))
        }
    arrived = Counter(one.body["payload"]["title"] for one in list(receiver.received))
    _expect("events that never arrived", titles - set(arrived), set())
    sent = {one.headers["X-Webhook-Delivery"] for one in list(receiver.received)}
    forged = [one.event for one in list(receiver.received) if not one.is_signed_with(SECRET)]
    _expect("requests that are not signed", forged, [])
    _expect("attempts without a row", sent - attempts - ledger.torn, set())
    return {"delivered": len(arrived), "twice": sum(count > 1 for count in arrived.values())}
