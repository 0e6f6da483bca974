"""The parent process of a server: it checks, migrates, starts the workers and watches them.

A worker that dies is replaced at once. If its replacement dies within CRASH_SECONDS, the server
ends with an error. A worker whose parent dies finishes its requests and ends.
"""

import errno
import logging
import multiprocessing
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial
from multiprocessing.process import BaseProcess
from pathlib import Path

import click
from flask import Flask, current_app
from flask.cli import with_appcontext
from sqlalchemy import select
from sqlalchemy.exc import OperationalError

from app.accounts.models import User, UserType
from app.accounts.setup import code
from app.config import DATABASE_FILES, Settings
from app.core.errors import Unavailable
from app.database import schema
from app.database.locks import ServerRuns, sole_use_of
from app.database.session import db, reading, run_write, session
from app.database.writer_lock import writer_lock
from app.search import reindexing
from app.serving import messages
from app.serving.asgi import STOP_SIGNALS
from app.serving.worker import GRACE_SECONDS, keep_ready, work
from app.webhooks import outbox

# How long to wait for a server that is shutting down to release the database file.
TAKEOVER_SECONDS = 5.0
# A replacement that dies within this time is a crash loop.
CRASH_SECONDS = 5.0

log = logging.getLogger(__name__)


@click.command("serve")
@with_appcontext
def serve_command() -> None:
    """Bring the database up to date and serve until stopped."""
    serve(current_app._get_current_object())  # type: ignore[attr-defined]  # of Flask's proxies


def serve(app: Flask) -> None:
    """Serve until SIGTERM, SIGINT or SIGHUP; raises ClickException if it cannot start."""
    settings: Settings = app.config["SETTINGS"]
    with _only_server_on(settings.database_path):
        _check_address(settings.host, settings.port)
        needs_setup = prepare_database(app)
        _start_measuring(app, settings)
        keep_ready(app)
        _raise_file_limit()
        if sys.platform == "linux":
            # Not every Python forks by default. Workers share the parent's memory and its lock.
            multiprocessing.set_start_method("fork", force=True)
        try:
            _supervise(settings, needs_setup)
        finally:
            _checkpoint_wal(app)


def _supervise(settings: Settings, needs_setup: bool) -> None:
    """Keep the workers running until a signal to stop; raises ClickException in a crash loop.

    Signals are blocked and waited for, so none interrupts anything and none is lost while a worker
    starts.
    """
    stopping = set(STOP_SIGNALS)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        # nohup started the server, to outlive the terminal.
        stopping.remove(signal.SIGHUP)
    # sigwait may miss a signal that is ignored, as SIGCHLD is by default.
    signal.signal(signal.SIGCHLD, lambda _number, _frame: None)
    waited = {*stopping, signal.SIGCHLD}
    signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    workers = [_start_worker(settings, number) for number in range(settings.workers)]
    replaced_at = [-CRASH_SECONDS] * settings.workers
    threading.Thread(target=_say_when_up, args=(settings, needs_setup), daemon=True).start()
    try:
        while signal.sigwait(waited) not in stopping:
            for number, worker in enumerate(workers):
                if worker.is_alive():
                    continue
                log.error("a worker ended unexpectedly", extra={"exit_code": worker.exitcode})
                now = time.monotonic()
                if now - replaced_at[number] < CRASH_SECONDS:
                    raise click.ClickException(messages.WORKERS_STOP)
                replaced_at[number] = now
                workers[number] = _start_worker(settings, number)
    finally:
        _stop(workers)


def _start_measuring(app: Flask, settings: Settings) -> None:
    if settings.metrics_token:
        # Load the library only if metrics are on.
        from app.metrics import recording  # noqa: PLC0415

        recording.start(settings.metrics_folder, app.config["TOOLS"].tools)


def _start_worker(settings: Settings, number: int) -> BaseProcess:
    args = (settings, os.getpid(), number)
    worker = multiprocessing.Process(target=work, args=args, name="worker")
    worker.start()
    return worker


def _stop(workers: list[BaseProcess]) -> None:
    """Send SIGTERM to the workers; kill those that still run after GRACE_SECONDS."""
    for worker in workers:
        worker.terminate()
    deadline = time.monotonic() + GRACE_SECONDS
    for worker in workers:
        worker.join(max(0, deadline - time.monotonic()))
        if worker.is_alive():
            worker.kill()
            worker.join()


@contextmanager
def _only_server_on(database: Path | None) -> Iterator[None]:
    """Hold the server lock of a SQLite file.

    Raises ClickException if another process holds it or a database file is not writable.
    """
    for path in [Path(f"{database}{suffix}") for suffix in DATABASE_FILES] if database else ():
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            raise click.ClickException(messages.not_writable(str(path)))
    try:
        with sole_use_of(database, patience=TAKEOVER_SECONDS):
            yield
    except ServerRuns as error:
        raise click.ClickException(messages.already_served(error.process, str(database))) from error


def _check_address(host: str, port: int) -> None:
    """Raise ClickException if the address is in use or cannot be used.

    Workers bind with SO_REUSEPORT, so they would share the port with another program unnoticed.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            reasons = {
                errno.EADDRINUSE: messages.port_in_use(port),
                errno.EACCES: messages.port_needs_privileges(port),
            }
            reason = reasons.get(error.errno or 0, messages.cannot_listen(str(error)))
            raise click.ClickException(reason) from None


def prepare_database(app: Flask) -> bool:
    """Upgrade the schema, build a lost search index, and recover interrupted delivery attempts.

    Returns whether setup is needed: no human exists. Leaves no connection open. Raises
    ClickException if the database is unreachable, and DomainError as ``schema.upgrade`` does.
    """
    with app.app_context():
        try:
            schema.upgrade()
            reindexing.build_lost()
            if db.engine.dialect.name == "sqlite":
                # No worker runs yet and there is no other server, so no lease is in use.
                while run_write(partial(outbox.recover, is_alone=True)):
                    pass
            with reading():
                human = select(User.id).where(User.type == UserType.HUMAN).limit(1)
                return session.scalar(human) is None
        except OperationalError as error:
            first_line = str(error.orig).partition("\n")[0]
            raise click.ClickException(messages.database_unreachable(first_line)) from None
        except Unavailable as error:
            raise click.ClickException(messages.DATABASE_NOT_WRITABLE) from error
        finally:
            # Forked workers must not share a connection.
            db.engine.dispose()


def _checkpoint_wal(app: Flask) -> None:
    """Fold SQLite's write-ahead log into the database file."""
    with app.app_context():
        engine = db.engine
        if engine.dialect.name == "sqlite":
            with writer_lock(engine), closing(engine.raw_connection()) as connection:
                connection.cursor().execute("PRAGMA wal_checkpoint(TRUNCATE)")
        engine.dispose()


def _raise_file_limit() -> None:
    """Raise the limit of open files to what the system allows, up to 65,536: one per connection."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    soft = min(65_536, hard) if hard != resource.RLIM_INFINITY else 65_536
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def _say_when_up(settings: Settings, needs_setup: bool) -> None:
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(settings.host, settings.host)  # noqa: S104
    while True:
        time.sleep(0.05)
        try:
            socket.create_connection((host, settings.port), timeout=1).close()
        except OSError:
            continue
        _notify_systemd()
        # A server without standard output serves all the same.
        with suppress(OSError):
            if needs_setup:
                click.echo(messages.ready_to_set_up(settings.app_name, settings.base_url))
                click.echo(messages.needs_code(code(settings)))
            else:
                click.echo(messages.ready(settings.app_name, settings.base_url))
        return


def _notify_systemd() -> None:
    """Tell systemd that the server is up, as sd_notify(3) does, if it started this process."""
    if address := os.environ.get("NOTIFY_SOCKET"):
        if address.startswith("@"):
            # An abstract address begins with a null byte.
            address = f"\0{address[1:]}"
        with suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"READY=1", address)
