"""Reads of bots that no log has, such as those by API key: noted in memory, stored in batches.

A read itself writes nothing. Before its first response to a bot, a process stores that it may hold
reads of the bot (``BotReader``), and renews that row. So the maker of a receipt knows which other
processes may know more. If a process ends without storing its notes, the bot's reads up to that
time are unknown: the row ``gap`` has the time.
"""

import threading
import time
from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial, reduce
from operator import itemgetter

from sqlalchemy import delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite

from app.accounts import bot_reads
from app.accounts.bot_reads import Shown
from app.accounts.models import BotReader
from app.audit.receipt_answers import ReceiptAnswer
from app.core import ids
from app.core.clock import now_ms
from app.database.locks import database_ms
from app.database.session import is_postgresql, reading, run_write, session
from app.http.current import current_application

# The key of ``app.extensions`` under which the process keeps its notes.
EXTENSION = "docket_read_notes"
HEARTBEAT_SECONDS = 20.0
# How long the process relies on its row. Others consider a row dead after ``DEAD_MS``.
VALID_SECONDS = 45.0
DEAD_MS = 90_000
# The wait after a failure to register a bot, as in an outage.
RETRY_SECONDS = 5.0
# The process forgets a bot that has read nothing for this long.
IDLE_SECONDS = 120.0
# Reads per transaction.
BATCH = 100
# Reads waiting to be stored; if there are more, as in an outage, all are discarded.
MAX_PENDING_READS = 50_000
# How many reads are remembered as stored, so that they are not stored again, and for how long.
MAX_STORED_READS = 50_000
STORED_SECONDS = 3600.0

# The log of recent reads, which answers receipts of other processes (``answering.py``).
LOG_SECONDS = 60.0
MAX_LOGGED_READS = 50_000

Reads = dict[tuple[str, str], Shown]


@dataclass(frozen=True, slots=True)
class NotedRead:
    """A read, with a ``time.monotonic`` from before the bot got the response."""

    user_id: str
    moment: float
    shown: Shown


@dataclass(slots=True)
class _Bot:
    """A bot of this process, with times of ``time.monotonic``."""

    read_at: float
    # Until then the process relies on its row.
    valid_until: float


@dataclass(slots=True)
class Notes:
    """The notes of one process."""

    process_id: str = field(default_factory=ids.new_id)
    guard: threading.Lock = field(default_factory=threading.Lock)
    # Held by the thread that stores.
    store_lock: threading.Lock = field(default_factory=threading.Lock)
    # By bot and subject: reads that wait, that are being stored, and that were stored recently.
    pending: Reads = field(default_factory=dict)
    storing: Reads = field(default_factory=dict)
    stored: Reads = field(default_factory=dict)
    stored_since: float = 0.0
    bots: dict[str, _Bot] = field(default_factory=dict)
    heartbeat_due: float = 0.0
    # Bots whose reads were discarded: not stored yet, and being stored.
    incomplete: set[str] = field(default_factory=set)
    storing_incomplete: set[str] = field(default_factory=set)
    # After a failure, no new bot is registered until then.
    retry_at: float = 0.0
    # Whether a receipt can name this process.
    has_readers: bool = False
    # Recent reads in order, and, by bot, until when the log is uncertain.
    log: deque[NotedRead] = field(default_factory=deque)
    unsure_until: dict[str, float] = field(default_factory=dict)
    # How far the clock of the database is ahead of ``time.monotonic``, in microseconds.
    clock_ahead: int | None = None

    def fresh(self, user_id: str, seen: Iterable[Shown]) -> list[Shown]:
        """The reads that are neither noted nor stored."""
        pending, stored, found = self.pending, self.stored, []
        # Usually all are stored, as the same objects, because reads of tickets are cached.
        for one in [one for one in seen if stored.get((user_id, one.subject)) is not one]:
            key = (user_id, one.subject)
            known = pending.get(key) or stored.get(key)
            if known is None or not known.covers(one):
                found.append(one)
        return found

    def known(self, user_id: str, subject: str) -> Shown | None:
        """The read of a subject that this process noted, stored or not."""
        key = (user_id, subject)
        with self.guard:
            kept = [
                reads[key] for reads in (self.pending, self.storing, self.stored) if key in reads
            ]
        return reduce(Shown.with_more, kept) if kept else None

    def is_reader(self, user_id: str) -> bool:
        """Whether other processes know that this one may hold reads of the bot."""
        bot = self.bots.get(user_id)
        return bot is not None and time.monotonic() < bot.valid_until

    def mark_registered(self, user_ids: Iterable[str], moment: float) -> None:
        """Note that the rows of these bots were stored at ``moment``."""
        with self.guard:
            self.has_readers = True
            for user_id in user_ids:
                bot = self.bots.setdefault(user_id, _Bot(moment, 0))
                bot.valid_until = moment + VALID_SECONDS

    def add(self, user_id: str, seen: Iterable[Shown]) -> bool:
        """Note reads; False if the process has forgotten the bot."""
        with self.guard:
            bot = self.bots.get(user_id)
            if bot is None:
                return False
            bot.read_at = time.monotonic()
            for one in seen:
                _merge(self.pending, (user_id, one.subject), one)
                self.log.append(NotedRead(user_id, bot.read_at, one))
            if len(self.log) > MAX_LOGGED_READS:
                self._forget_order()
                self.log.clear()
            if len(self.pending) > MAX_PENDING_READS:
                self.incomplete.update(user for user, _ in self.pending)
                self.pending = {}
            return True

    def mark_incomplete(self, user_id: str) -> None:
        """Schedule storing that reads of the bot up to now may be missing."""
        with self.guard:
            self.incomplete.add(user_id)

    def is_incomplete(self, user_id: str) -> bool:
        """Whether reads of the bot may be missing, and this is not stored yet."""
        with self.guard:
            return user_id in self.incomplete or user_id in self.storing_incomplete

    def take(self) -> tuple[Reads, set[str]]:
        """Take what to store now; call ``mark_stored`` or ``put_back`` afterwards."""
        with self.guard:
            keys = list(self.pending)[:BATCH]
            self.storing = {key: self.pending.pop(key) for key in keys}
            self.storing_incomplete, self.incomplete = self.incomplete, set()
            return self.storing, self.storing_incomplete

    def log_of(self, user_ids: Iterable[str]) -> dict[str, Sequence[NotedRead] | None]:
        """Recent reads of these bots; None for a bot whose log is incomplete or uncertain."""
        now = time.monotonic()
        with self.guard:
            found: dict[str, list[NotedRead]] = {user_id: [] for user_id in user_ids}
            for noted in self.log:
                if noted.user_id in found:
                    found[noted.user_id].append(noted)
            unsure = (
                self.incomplete
                | self.storing_incomplete
                | {key for key, until in self.unsure_until.items() if now < until}
            )
        return {key: None if key in unsure else one for key, one in found.items()}

    def forget_order(self) -> None:
        """Mark the log as uncertain: it has lost its order with changes in other processes."""
        with self.guard:
            self._forget_order()

    def _forget_order(self) -> None:
        self._be_unsure({noted.user_id for noted in self.log})

    def _be_unsure(self, user_ids: Iterable[str]) -> None:
        self.unsure_until |= dict.fromkeys(user_ids, time.monotonic() + LOG_SECONDS)

    def forget_old(self) -> None:
        """Remove reads from the log that were stored long ago: later receipts include them."""
        oldest = time.monotonic() - LOG_SECONDS
        with self.guard:
            while self.log and self.log[0].moment < oldest:
                self.log.popleft()
            for user_id in [key for key, until in self.unsure_until.items() if until < oldest]:
                del self.unsure_until[user_id]

    def mark_stored(self, incomplete: Iterable[str] = ()) -> None:
        """Note that the taken reads are stored, and the gaps of ``incomplete`` bots too."""
        moment = time.monotonic()
        with self.guard:
            self._be_unsure(incomplete)
            is_old = moment - self.stored_since > STORED_SECONDS
            if is_old or len(self.stored) > MAX_STORED_READS:
                self.stored, self.stored_since = {}, moment
            for key, seen in self.storing.items():
                _merge(self.stored, key, seen)
            self.storing, self.storing_incomplete = {}, set()

    def put_back(self, incomplete: set[str]) -> None:
        with self.guard:
            for key, seen in self.storing.items():
                _merge(self.pending, key, seen)
            self.storing, self.storing_incomplete = {}, set()
            self.incomplete |= incomplete

    def idle(self) -> list[str]:
        """Forget and return the bots that have read nothing lately and have no reads waiting."""
        oldest = time.monotonic() - IDLE_SECONDS
        with self.guard:
            waiting = {user_id for user_id, _ in (*self.pending, *self.storing)}
            found = [
                user_id
                for user_id, bot in self.bots.items()
                if bot.read_at < oldest and user_id not in waiting
            ]
            for user_id in found:
                del self.bots[user_id]
        return found


def _merge(reads: Reads, key: tuple[str, str], seen: Shown) -> None:
    known = reads.get(key)
    reads[key] = seen if known is None else known.with_more(seen)


def notes() -> Notes:
    found = current_application().extensions.get(EXTENSION)
    if found is None:
        found = current_application().extensions.setdefault(EXTENSION, Notes())
    kept: Notes = found
    return kept


def shared_us() -> int:
    """The time in microseconds by a clock that all processes on this database share."""
    if is_postgresql():
        epoch = func.extract("epoch", func.clock_timestamp())
        return int(session.execute(select(epoch * 1_000_000)).scalar_one())
    return time.time_ns() // 1000


def note(user_id: str, seen: Iterable[Shown]) -> None:
    """Note what a response shows a bot; opens a unit of work before the first note of a bot."""
    kept = notes()
    fresh = kept.fresh(user_id, seen)
    if not fresh:
        return
    while True:
        if not kept.is_reader(user_id):
            moment = time.monotonic()
            if moment < kept.retry_at:
                kept.mark_incomplete(user_id)
                return
            try:
                run_write(lambda: _register(kept.process_id, [user_id]))
            except Exception:
                kept.mark_incomplete(user_id)
                kept.retry_at = moment + RETRY_SECONDS
                raise
            kept.mark_registered([user_id], moment)
        if kept.add(user_id, fresh):
            return


def _register(process_id: str, user_ids: Iterable[str]) -> None:
    dialect = postgresql if is_postgresql() else sqlite
    moment = database_ms()
    for user_id in user_ids:
        statement = dialect.insert(BotReader).values(
            user_id=user_id, process_id=process_id, beat_at=moment
        )
        session.execute(
            statement.on_conflict_do_update(
                index_elements=["user_id", "process_id"], set_={"beat_at": moment}
            )
        )


def store_notes() -> None:
    """Store noted reads and send heartbeats; opens its own units of work."""
    kept = notes()
    with kept.store_lock:
        while kept.pending or kept.incomplete:
            reads, incomplete = kept.take()
            try:
                run_write(partial(_store, reads, incomplete), async_commit=True)
            except BaseException:
                kept.put_back(incomplete)
                raise
            kept.mark_stored(incomplete)
        if time.monotonic() >= kept.heartbeat_due:
            _record_heartbeat(kept)
            _expire_dead_processes()
            kept.heartbeat_due = time.monotonic() + HEARTBEAT_SECONDS


def _store(reads: Reads, incomplete: Iterable[str]) -> None:
    # In a fixed order, so that processes do not deadlock.
    for (user_id, _), seen in sorted(reads.items(), key=itemgetter(0)):
        bot_reads.store(user_id, seen)
    bot_reads.store_gap(incomplete, now_ms())


def _record_heartbeat(kept: Notes) -> None:
    idle = kept.idle()
    bots = list(kept.bots)
    if not idle and not bots:
        return
    moment = time.monotonic()
    run_write(lambda: _prolong(kept.process_id, bots, idle))
    kept.mark_registered(bots, moment)


def _prolong(process_id: str, bots: list[str], idle: list[str]) -> None:
    now = database_ms()
    own = BotReader.process_id == process_id
    # A bot that came back meanwhile has a fresh row.
    is_old = BotReader.beat_at < now - HEARTBEAT_SECONDS * 1000 // 2
    session.execute(delete(BotReader).where(own, BotReader.user_id.in_(idle), is_old))
    found = session.scalars(
        update(BotReader)
        .where(own, BotReader.user_id.in_(bots))
        .values(beat_at=now)
        .returning(BotReader.user_id)
        .execution_options(synchronize_session=False)
    ).all()
    # Others considered this process dead, so receipts may have missed its reads.
    missing = set(bots) - set(found)
    bot_reads.store_gap(missing, now_ms())
    _register(process_id, missing)


def _expire_dead_processes() -> None:
    """Record gaps for processes that ended without storing their reads."""
    with reading():
        is_dead = BotReader.beat_at < database_ms() - DEAD_MS
        dead = session.scalars(select(BotReader.user_id).where(is_dead).limit(1)).first()
    if dead is not None:
        run_write(_delete_dead_processes)


def _delete_dead_processes() -> None:
    is_dead = BotReader.beat_at < database_ms() - DEAD_MS
    gone = delete(BotReader).where(is_dead).returning(BotReader.user_id, BotReader.process_id)
    rows = session.execute(gone.execution_options(synchronize_session=False)).all()
    bot_reads.store_gap({row.user_id for row in rows}, now_ms())
    never = ReceiptAnswer.process_id.in_({row.process_id for row in rows})
    unanswered = delete(ReceiptAnswer).where(never, ReceiptAnswer.answer.is_(None))
    session.execute(unanswered.execution_options(synchronize_session=False))


def release() -> None:
    """Store all notes as the process ends, so that no read is unknown."""
    kept = notes()
    store_notes()
    with kept.guard:
        bots = list(kept.bots)
        kept.bots = {}
    own = BotReader.process_id == kept.process_id
    mine = delete(BotReader).where(own, BotReader.user_id.in_(bots))
    if bots:
        run_write(lambda: session.execute(mine.execution_options(synchronize_session=False)))
