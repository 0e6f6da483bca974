"""The time of `flask audit verify` for a large log, on both databases.

    python -m tests.bench.verifying [--events N] [--database sqlite|postgresql]

Events are inserted directly, and their checkpoints created as the job does.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy import insert

from app import create_app
from app.audit.models import AuditEvent
from app.config import Settings
from app.core.clock import HOUR_MS, now_ms
from app.database import schema
from app.database.session import db, run_write, session
from tests.audit.tampering import event_at
from tests.bench.data import SECRET, database

CHUNK = 5_000
# Milliseconds between two events.
APART_MS = 100


def main() -> None:
    """Print the seconds of each part; exit 1 if the log does not verify."""
    parser = argparse.ArgumentParser(prog="python -m tests.bench.verifying", description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000, help="(1000000)")
    parser.add_argument("--database", choices=("sqlite", "postgresql"), default="sqlite")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="docket-verify-") as made:
        directory = Path(made)
        with database(asked.database, directory) as place:
            with _timed("events written"):
                settings = Settings(
                    base_url="http://localhost",
                    log_level="WARNING",
                    instance_dir=directory,
                    database_url=place.url,
                    secret_key=SECRET,
                )
                _write(settings, asked.events)
            environment = {
                **os.environ,
                "INSTANCE_DIR": made,
                "DATABASE_URL": place.url,
                "SECRET_KEY": SECRET,
            }
            flask = [sys.executable, "-m", "flask", "--app", "wsgi", "audit"]
            for command in ("checkpoint", "verify"):
                with _timed(f"flask audit {command}"):
                    subprocess.run([*flask, command], env=environment, check=True)


@contextmanager
def _timed(what: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"{what}: {time.monotonic() - began:.1f} s", flush=True)


def _write(settings: Settings, count: int) -> None:
    app = create_app(settings)
    start = now_ms() - count * APART_MS - HOUR_MS
    with app.app_context():
        schema.upgrade()
        for first in range(0, count, CHUNK):
            rows = [
                event_at(start + number * APART_MS, number % 4096)
                for number in range(first, min(first + CHUNK, count))
            ]
            run_write(lambda: session.execute(insert(AuditEvent), rows))  # noqa: B023 - at once
        db.session.remove()
        db.engine.dispose()


if __name__ == "__main__":
    main()
