"""Faults of the database's storage: a full disk, read-only files, a torn log."""

import os
import random
import resource
import shutil
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import sqlalchemy as sa

from app.database.writer_lock import WriterLock
from tests.support.postgres import Cluster
from tests.support.serving import refused_start, until
from tests.torture.faults import Figures, expect
from tests.torture.load import load
from tests.torture.stage import Stage, until_ready


def disk_full(stage: Stage) -> Figures:
    """No file may grow: writes are 503, reads work; afterwards writes work without a restart."""
    assert stage.site is not None
    assert stage.served is not None
    workers = stage.served.workers()
    wal = stage.directory / "instance" / "docket.db-wal"
    forever = resource.RLIM_INFINITY
    shorten_log(stage)
    with load(stage.site, stage.ledger, 2):
        time.sleep(0.5)
        # Only the log grows: the database file waits for a checkpoint of 16 MB.
        limit = wal.stat().st_size + 65_536
        for worker in workers:
            resource.prlimit(worker, resource.RLIMIT_FSIZE, (limit, forever))
        before = stage.ledger.answers[503]
        until(lambda: stage.ledger.answers[503] > before + 5, 60)
        for path in (f"/projects/{stage.site.project}", "/tickets?limit=5"):
            read = stage.site.ask("GET", path)
            expect(read.status == 200, f"a read was {read.status} on a full disk")
        full = stage.ledger.answers[503] - before
        for worker in workers:
            resource.prlimit(worker, resource.RLIMIT_FSIZE, (forever, forever))
        made = stage.ledger.answers[201]
        until(lambda: stage.ledger.answers[201] > made + 5, 30)
    return {"writes refused": full, "limit KiB": limit // 1024}


def shorten_log(stage: Stage) -> None:
    """Checkpoint and truncate the write-ahead log: a log reused from its start keeps its length."""
    database = stage.directory / "instance" / "docket.db"

    def is_folded() -> bool:
        # Exclude writers, as the servers do for a checkpoint.
        with WriterLock(f"{database}.write").locked(), stage.engine.connect() as connection:
            folded = connection.execute(sa.text("PRAGMA wal_checkpoint(TRUNCATE)")).one()
        return bool(folded[0] == 0)

    until(is_folded)


def small_disk_full(stage: Stage) -> Figures:
    """PostgreSQL's small disk is full: 503, alive, and recovered once there is space.

    PostgreSQL may shut down if it cannot write its log; then it is started again, as its operator
    would. Needs the right to mount.
    """
    assert stage.site is not None
    assert stage.cluster is not None
    with _small_disk(stage.cluster) as data:
        until_ready(stage)
        ballast = data / "ballast"
        with load(stage.site, stage.ledger, 4):
            time.sleep(0.5)
            before = stage.ledger.answers[503]
            _fill(ballast)
            until(lambda: stage.ledger.answers[503] > before + 50, 120)
            health = {stage.status("/healthz") for _ in range(10)}
            expect(health == {200}, f"/healthz said {health} on a full disk")
            ballast.unlink()
            ended = not stage.cluster.is_running()
            if ended:
                stage.cluster.resume()
            back = until_ready(stage)
            refused = stage.ledger.answers[503] - before
            made = stage.ledger.answers[201]
            until(lambda: stage.ledger.answers[201] > made + 5, 30)
        expect(back <= 5, f"ready only {back:.1f} s after there was room again")
    until_ready(stage)
    return {
        "answers 503": refused,
        "PostgreSQL ended itself": ended,
        "ready after s": round(back, 2),
    }


# On top of the database's size: two segments of its log, and some rows.
ROOM_BYTES = 40 * 2**20


@contextmanager
def _small_disk(cluster: Cluster) -> Iterator[Path]:
    """Run the cluster on a small file system, and afterwards back on its original one."""
    assert cluster.directory is not None
    data, aside = cluster.directory / "data", cluster.directory / "aside"
    owner = data.stat()
    cluster.halt()
    data.rename(aside)
    data.mkdir()
    size = sum(file.stat().st_blocks * 512 for file in aside.rglob("*")) + ROOM_BYTES
    options = f"size={size},mode=700,uid={owner.st_uid},gid={owner.st_gid}"
    subprocess.run(["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(data)], check=True)
    try:
        _move_content(aside, data)
        cluster.resume()
        try:
            yield data
        finally:
            with suppress(subprocess.CalledProcessError):
                cluster.halt()
        _move_content(data, aside)
    finally:
        subprocess.run(["umount", str(data)], check=True)
        data.rmdir()
        aside.rename(data)
    cluster.resume()


def _move_content(source: Path, target: Path) -> None:
    """Replace the target's content with the source's, with owners and modes."""
    for old in target.iterdir():
        shutil.rmtree(old) if old.is_dir() else old.unlink()
    subprocess.run(["cp", "-a", f"{source}/.", f"{target}/"], check=True)


def _fill(ballast: Path) -> None:
    """Use up all free space."""
    with ballast.open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(bytes(2**16))


def read_only_file(stage: Stage) -> Figures:
    """SQLite's files are read-only: the server says so and does not start; afterwards it does."""
    home = stage.directory / "instance"
    stage.stop()
    said = [_start_read_only(stage, list(home.glob("docket.db*")))]
    said += [_start_read_only(stage, [home, *home.iterdir()])]
    stage.start()
    return {"said": said}


def _start_read_only(stage: Stage, paths: list[Path]) -> str:
    """Return the server's message when it cannot start because these paths are read-only."""
    modes = {path: path.stat().st_mode for path in paths}
    try:
        for path in modes:
            path.chmod(0o500 if path.is_dir() else 0o400)
        return refused_start(stage.directory / "instance", stage.port, **stage.settings)
    finally:
        for path, mode in modes.items():
            path.chmod(mode)


def read_only(stage: Stage, seconds: float = 3) -> Figures:
    """PostgreSQL becomes read-only, as after a failover: writes are 503, reads work."""
    assert stage.site is not None
    before = stage.ledger.answers[503]
    with load(stage.site, stage.ledger, 4):
        _set_read_only(stage, "on")
        time.sleep(seconds)
        read = stage.site.ask("GET", "/tickets?limit=5")
        expect(read.status == 200, f"a read was {read.status} on a read-only database")
        _set_read_only(stage, "off")
        made = stage.ledger.answers[201]
        until(lambda: stage.ledger.answers[201] > made + 5, 30)
    refused = stage.ledger.answers[503] - before
    expect(refused > 0, "no write was refused by a read-only database")
    return {"writes refused": refused}


def _set_read_only(stage: Stage, word: str) -> None:
    with stage.engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        connection.execute(sa.text("SET default_transaction_read_only = off"))
        connection.execute(sa.text(f"ALTER SYSTEM SET default_transaction_read_only = {word}"))
        connection.execute(sa.text("SELECT pg_reload_conf()"))


def torn_log(stage: Stage, rounds: int) -> Figures:
    """Tear off the end of the write-ahead log: the rest is intact, with nothing invented.

    A power loss tears only frames that no checkpoint has begun to copy: the log is synced first.
    """
    assert stage.site is not None
    lost = 0
    for _ in range(rounds):
        with load(stage.site, stage.ledger):
            time.sleep(0.6)
            stage.kill()
        wal = stage.directory / "instance" / "docket.db-wal"
        first, last = _uncopied(wal)
        if last > first:
            os.truncate(wal, random.randrange(first, last))
        stage.start()
        lost += _forget_torn(stage)
    return {"logs torn": rounds, "tickets in what was torn off": lost}


def _uncopied(wal: Path) -> tuple[int, int]:
    """Return where the part of the log that no checkpoint has begun to copy begins and ends.

    The offsets are those of mxFrame and nBackfillAttempted in SQLite's wal-index.
    """
    index = wal.with_name("docket.db-shm").read_bytes()
    (frames,) = struct.unpack_from("=I", index, 16)
    (begun,) = struct.unpack_from("=I", index, 128)
    header, frame = 32, 24 + 4096
    return header + begun * frame, min(header + frames * frame, wal.stat().st_size)


def _forget_torn(stage: Stage) -> int:
    """Drop promises from the torn part, acknowledged or not; return the number of tickets lost."""
    assert stage.site is not None
    with stage.engine.connect() as connection:

        def column(statement: str) -> set[str]:
            return {str(value) for (value,) in connection.execute(sa.text(statement))}

        titles = column("SELECT title FROM tickets")
        comments = column("SELECT id FROM comments")
        moved = column(f"SELECT id FROM tickets WHERE state_id = '{stage.site.states[-1]}'")
        taken = column("SELECT id || assignee_user_id FROM tickets")
        attempts = column("SELECT id FROM webhook_deliveries")
    ledger = stage.ledger
    torn = set(ledger.tickets.values()) - titles
    ledger.forget(torn)
    ledger.comments = [one for one in ledger.comments if one in comments]
    ledger.moves = [one for one in ledger.moves if one in moved]
    ledger.claims = [one for one in ledger.claims if "".join(one) in taken]
    sent = {one.headers["X-Webhook-Delivery"] for one in list(stage.receiver.received)}
    ledger.torn |= sent - attempts
    return len(torn)
