"""Faults of files: kills during uploads and sweeps, and a full disk."""

import hashlib
import os
import random
import resource
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import sqlalchemy as sa

from tests.files.hostile import picture
from tests.support.serving import COMMAND, ROOT, Answer, environment
from tests.torture.faults import Figures, expect
from tests.torture.ledger import LOST
from tests.torture.load import Site
from tests.torture.stage import Stage, until_ready
from tests.torture.storage import shorten_log

SWEEP = (*COMMAND[:-1], "sweep", "file-contents")
DYING_SWEEP = (sys.executable, "-m", "tests.torture.sweeping")
BOUNDARY = "torture"
UPLOADERS = 4
PICTURE = picture("PNG")
# Longer than unfinished uploads, or contents without a row, are kept.
LONG_AGO_SECONDS = 3 * 24 * 60 * 60


@dataclass
class Shelf:
    """A ticket, the SHA-256 of its acknowledged files, and the files deleted again."""

    ticket: str
    kept: dict[str, str] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    refused: int = 0


def uploads(stage: Stage, rounds: int) -> Figures:
    """SIGKILL the server during uploads, and a sweep during uploads: no file is lost.

    The next sweep removes everything that a kill left behind.
    """
    shelf = _shelf(stage)
    chance = random.Random(20261126)
    for _ in range(rounds):
        with _uploading(stage, shelf):
            time.sleep(chance.uniform(0.3, 0.8))
            stage.kill()
        _age(stage)
        stage.start()
        with _uploading(stage, shelf):
            ended = subprocess.run(DYING_SWEEP, cwd=ROOT, env=_environment(stage), check=False)
            expect(ended.returncode in (-9, 0), f"a sweep ended with {ended.returncode}")
        _end_lease(stage)
    left = _check(stage, shelf)
    return {"files": len(shelf.kept), "deleted": len(shelf.deleted), "left by kills": left}


def uploads_on_a_full_disk(stage: Stage) -> Figures:
    """Files may not grow beyond a size: uploads are 503 and leave nothing; then there is space."""
    assert stage.served is not None
    assert stage.site is not None
    shelf = _shelf(stage)
    database = stage.directory / "instance" / "docket.db"
    if database.exists():
        shorten_log(stage)
    files = [database, database.with_name("docket.db-wal")] if database.exists() else []
    limit = max((file.stat().st_size for file in files), default=0) + 1024 * 1024
    workers, forever = stage.served.workers(), resource.RLIM_INFINITY
    expect(limit < 20 * 2**20, f"the database is too large for this scenario: {limit} bytes")
    for worker in workers:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (limit, forever))
    for number in range(4):
        answer = _upload(stage.site, shelf.ticket, bytes([number]) * (limit + 65_536))
        expect(
            answer.status == 503 and b'"server.unavailable"' in answer.body,
            f"an upload was {answer.status} {answer.body[:200]!r} on a full disk",
        )
    small = _upload(stage.site, shelf.ticket, b"small")
    expect(small.status == 201, f"a small file was {small.status}")
    shelf.kept[small.json["id"]] = hashlib.sha256(b"small").hexdigest()
    for worker in workers:
        resource.prlimit(worker, resource.RLIMIT_FSIZE, (forever, forever))
    large = os.urandom(limit)
    answer = _upload(stage.site, shelf.ticket, large)
    expect(answer.status == 201, f"an upload was {answer.status} once there was room")
    shelf.kept[answer.json["id"]] = hashlib.sha256(large).hexdigest()
    incoming = list((stage.directory / "instance" / "files" / "incoming").glob("*"))
    expect(not incoming, f"a full disk left {incoming}")
    _check(stage, shelf)
    return {"uploads refused": 4, "limit KiB": limit // 1024}


def _shelf(stage: Stage) -> Shelf:
    assert stage.site is not None
    title = stage.ledger.title()
    path = f"/projects/{stage.site.project}/tickets"
    ticket = stage.site.ask("POST", path, {"title": title}).json["id"]
    stage.ledger.tickets[ticket] = title
    return Shelf(ticket)


def _upload(site: Site, ticket: str, content: bytes, bot: int = 0) -> Answer:
    head = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="file"; filename="a.bin"\r\n\r\n'
    body = head.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    kind = f"multipart/form-data; boundary={BOUNDARY}"
    return site.ask("POST", f"/tickets/{ticket}/files", body, bot, Content_Type=kind)


@contextmanager
def _uploading(stage: Stage, shelf: Shelf) -> Iterator[None]:
    """Run clients that upload and delete during the with-block."""
    over = threading.Event()
    with ThreadPoolExecutor(UPLOADERS) as pool:
        running = [pool.submit(_work, stage, shelf, over, bot) for bot in range(UPLOADERS)]
        try:
            yield
        finally:
            over.set()
    for one in running:
        one.result()


def _work(stage: Stage, shelf: Shelf, over: threading.Event, bot: int) -> None:
    chance = random.Random()
    while not over.is_set():
        try:
            _turn(stage, shelf, bot, chance)
        except LOST:
            over.wait(0.02)


def _turn(stage: Stage, shelf: Shelf, bot: int, chance: random.Random) -> None:
    """Upload new content, known content or a picture; delete 30% of the uploads."""
    site = stage.site
    assert site is not None
    kind = chance.random()
    content = chance.randbytes(chance.randrange(1, 200_000))
    if kind < 0.3:
        content = b"known %d" % chance.randrange(3)
    elif kind < 0.4:
        content = PICTURE
    answer = _upload(site, shelf.ticket, content, bot)
    if not _is_fine(stage, shelf, answer, 201):
        return
    made = answer.json
    if chance.random() < 0.3:
        # A deletion is certain only once it is acknowledged.
        if _is_fine(stage, shelf, site.ask("DELETE", f"/files/{made['id']}", bot=bot), 204):
            shelf.deleted.add(made["id"])
    else:
        shelf.kept[made["id"]] = made["sha256"]


def _is_fine(stage: Stage, shelf: Shelf, answer: Answer, wanted: int) -> bool:
    if answer.status == 503 and answer.json["error"]["code"] == "server.unavailable":
        shelf.refused += 1
    elif answer.status != wanted:
        stage.ledger.surprises.append(f"{answer.status} {answer.body[:200]!r}")
    return answer.status == wanted


def _environment(stage: Stage) -> dict[str, str]:
    return environment(stage.directory / "instance", stage.port, **stage.settings)


def _stored(stage: Stage) -> dict[str, Path]:
    files = stage.directory / "instance" / "files"
    return {path.name: path for path in files.glob("[0-9a-f][0-9a-f]/*")}


def _age(stage: Stage) -> None:
    """Make all stored and incoming files old."""
    then = time.time() - LONG_AGO_SECONDS
    incoming = (stage.directory / "instance" / "files" / "incoming").glob("*")
    for path in (*_stored(stage).values(), *incoming):
        os.utime(path, (then, then))


def _end_lease(stage: Stage) -> None:
    """Expire the lease of a sweep that died."""
    with stage.engine.begin() as connection:
        connection.execute(sa.text("UPDATE sweeper_leases SET lease_until = 0"))


def _check(stage: Stage, shelf: Shelf) -> int:
    """Check that no acknowledged file is lost and that after a sweep contents and rows match.

    Return the number of contents that had no row before the sweep.
    """
    assert stage.site is not None
    until_ready(stage)
    for file, sha256 in shelf.kept.items():
        answer = stage.site.ask("GET", f"/files/{file}")
        found = hashlib.sha256(answer.body).hexdigest()
        expect((answer.status, found) == (200, sha256), f"file {file} was {answer.status}")
    for file in shelf.deleted:
        status = stage.site.ask("GET", f"/files/{file}").status
        expect(status == 404, f"the deleted file {file} was {status}")
    _age(stage)
    before = _stored(stage)
    subprocess.run(SWEEP, cwd=ROOT, env=_environment(stage), check=True, capture_output=True)
    stored = _stored(stage)
    with stage.engine.connect() as connection:
        rows = {
            sha256 for (sha256,) in connection.execute(sa.text("SELECT sha256 FROM file_contents"))
        }
    expect(not rows - set(stored), f"rows without their content: {rows - set(stored)}")
    expect(not set(stored) - rows, f"contents without a row: {set(stored) - rows}")
    incoming = list((stage.directory / "instance" / "files" / "incoming").glob("*"))
    expect(not incoming, f"what a kill broke off is still there: {incoming}")
    for name, path in stored.items():
        found = hashlib.sha256(path.read_bytes()).hexdigest()
        expect(found == name, f"the content {name} is damaged")
    return len(set(before) - set(stored))
