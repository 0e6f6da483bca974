"""The environment of a run of faults: a database, a receiver, proxies for both, and the server."""

import os
import signal
import struct
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from tests.support.forking import Forked
from tests.support.postgres import Cluster, start_cluster
from tests.support.receiver import SECRET, Receiver, receiving
from tests.support.serving import CRASHING, Served, end, start, unused_port
from tests.support.workspace import owner_of
from tests.torture.ledger import Ledger, check, check_deliveries
from tests.torture.load import Site
from tests.torture.proxy import Proxy, proxying

# Only durability is as in production: a crash of PostgreSQL's processes must lose nothing.
DURABLE = "-c synchronous_commit=on -c full_page_writes=on -c fsync=off -c max_connections=200"
METRICS_TOKEN = "a-token-of-the-scraper"


@dataclass
class Stage:
    """Everything that a run needs, and the server that is running."""

    kind: str
    directory: Path
    url: str
    settings: dict[str, Any]
    receiver: Receiver
    to_receiver: Proxy
    to_database: Proxy | None
    cluster: Cluster | None
    port: int
    # How the server is started: by command, or forked.
    command: tuple[str, ...] | Forked = CRASHING
    ledger: Ledger = field(default_factory=Ledger)
    served: Served | None = None
    site: Site | None = None

    def start(self, **settings: Any) -> Served:
        """Start the server on the same port as before."""
        given = self.settings | settings
        self.served = start(self.directory / "instance", self.port, self.command, **given)
        return self.served

    def stop(self) -> None:
        """Kill the server."""
        if self.served is not None:
            end(self.served)

    def kill(self) -> None:
        """SIGKILL the server and its workers at once."""
        assert self.served is not None
        with suppress(psutil.NoSuchProcess, ProcessLookupError):
            workers = self.served.workers()
            os.killpg(self.served.process.pid, signal.SIGKILL)
            for worker in workers:
                with suppress(ProcessLookupError):
                    os.kill(worker, signal.SIGKILL)
        self.served.process.wait()

    def status(self, path: str, timeout: float = 10) -> int:
        """Return the status of a plain GET; 0 if there is no response."""
        assert self.served is not None
        try:
            return self.served.request("GET", path, timeout=timeout).status
        except OSError:
            return 0

    @property
    def engine(self) -> sa.Engine:
        """An engine that bypasses all proxies, for the checker."""
        return sa.create_engine(self.url, poolclass=sa.NullPool)

    def count(self, statement: str, **given: Any) -> int:
        """Return the number that a statement selects."""
        with self.engine.connect() as connection:
            return int(connection.scalar(sa.text(statement), given) or 0)

    def check(self, *, deliveries: bool = True) -> dict[str, int]:
        """Run the checker on a ready server; raises Broken."""
        assert self.site is not None
        until_ready(self)
        found = check_deliveries(self.engine, self.receiver, self.ledger) if deliveries else {}
        return check(self.engine, self.ledger, self.site.states[-1]) | found

    def furnish(self) -> None:
        """Create an owner, four bots, a project, and a webhook that goes through the proxy."""
        served = self.start()
        owner = owner_of(served)
        bots = [owner.bot(f"bot-{number}") for number in range(4)]
        project = owner.call("POST", "/projects", {"key": "LOAD", "name": "Load"})["id"]
        # The guard against runaway bots would stop the load.
        owner.call("PATCH", f"/projects/{project}", {"bot_creation_limit": 0})
        states = owner.call("GET", f"/projects/{project}/workflow-states")["data"]
        hook = {
            "url": f"https://localhost:{self.to_receiver.port}/hook",
            "secret": SECRET,
            "event_types": ["ticket.created"],
        }
        owner.call("POST", "/webhooks", hook)
        self.site = Site(
            self.port,
            owner.cookie,
            tuple((bot.id, bot.token) for bot in bots),
            project,
            tuple(state["id"] for state in states),
        )


def until_ready(stage: Stage, seconds: float = 60) -> float:
    """Return how long it took until /readyz returned 200."""
    began = time.monotonic()
    while stage.status("/readyz", 5) != 200:
        assert time.monotonic() - began < seconds, "the server did not become ready"
        time.sleep(0.02)
    return time.monotonic() - began


def make_clock(directory: Path) -> dict[str, str]:
    """Return settings that give a server its own clock; raises if there is no C compiler."""
    library, step = directory / "clock.so", directory / "clock.step"
    source = Path(__file__).with_name("clock.c")
    command = ["cc", "-O2", "-shared", "-fPIC", "-o", str(library), str(source)]
    subprocess.run(command, check=True, capture_output=True)
    step.write_bytes(struct.pack("l", 0))
    # PostgreSQL does not run as root, so others need to read them.
    for file in (library, step):
        file.chmod(0o644)
    return {"LD_PRELOAD": str(library), "CLOCK_STEP": str(step)}


def step_clock(directory: Path, seconds: int) -> None:
    """Set the server's clock to this many seconds from the true time."""
    with (directory / "clock.step").open("r+b") as file:
        file.write(struct.pack("l", seconds))


@contextmanager
def staged(
    kind: str, directory: Path, command: tuple[str, ...] | Forked = CRASHING
) -> Iterator[Stage]:
    """Provide a stage with a running, furnished server."""
    with ExitStack() as held:
        receiver = held.enter_context(receiving(directory))
        to_receiver = held.enter_context(proxying(("127.0.0.1", receiver.port)))
        url = f"sqlite:///{directory}/instance/docket.db"
        settings: dict[str, Any] = {}
        cluster, to_database = None, None
        if kind == "postgresql":
            port = unused_port()
            cluster = start_cluster(f"-c listen_addresses=127.0.0.1 -c port={port} {DURABLE}", port)
            held.callback(cluster.stop)
            url = cluster.create_database("torture")
            to_database = held.enter_context(proxying(("127.0.0.1", port)))
            through = sa.make_url(url).set(host="127.0.0.1", port=to_database.port, query={})
            settings = {"DATABASE_URL": through.render_as_string(hide_password=False)}
        stage = Stage(
            kind,
            directory,
            url,
            settings
            | {
                "SECRET_KEY": "a secret key of the tests, long enough",
                "LOG_LEVEL": "WARNING",
                "METRICS_TOKEN": METRICS_TOKEN,
                "WORKERS": 2,
                # Shorter leases, so that interrupted work is resumed soon.
                "LEASE_MS": 6_000,
                "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
                "WEBHOOK_CA_BUNDLE": str(receiver.ca_file),
            },
            receiver,
            to_receiver,
            to_database,
            cluster,
            unused_port(),
            command,
        )
        held.callback(stage.stop)
        stage.furnish()
        yield stage
