"""flask doctor: checks of the installation, and the remedy for each problem."""

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click
import orjson
import requests
from sqlalchemy import exists, func, select, text
from sqlalchemy.exc import DatabaseError

from app.accounts import arrival
from app.accounts.models import User, UserType, Workspace
from app.commands import messages
from app.commands.secrets import lost_second_factors, lost_secrets, under_previous_key
from app.config import Settings
from app.core import clock
from app.core.clock import MINUTE_MS, iso, now_ms
from app.core.errors import Unavailable
from app.core.text import counted, pluralize
from app.database import schema
from app.database.failures import outage_in_words
from app.database.messages import MADE_BY_A_NEWER_RELEASE, POOL_SESSIONS, READ_ONLY, USE_UTF8
from app.database.session import reading, session
from app.environment import mail_server
from app.files import copying
from app.files.store import ContentMissing, store_of
from app.http.current import current_settings
from app.jobs.sweeping import SWEEPERS, SweeperLease
from app.mail import smtp
from app.sign_on.provider import provider_of
from app.sign_on.requests import ProviderFailure
from app.webhooks.models import OutboxEntry, OutboxState

# In older releases a checkpoint during a write can lose data; Docket's writer lock prevents that.
SAFE_SQLITE = (3, 51, 3)
MIN_FREE_BYTES = 500 * 1024 * 1024
LATE_MS = 5 * MINUTE_MS
# Documentation addresses (RFC 5737), sent as forged client addresses.
FORGED = "192.0.2.77"
FORGED_BY_LOOKALIKE = "198.51.100.77"


@dataclass(frozen=True, slots=True)
class Finding:
    """What was checked and its state; a remedy means a problem, or only a note if ``is_note``."""

    subject: str
    message: str
    remedy: str = ""
    is_note: bool = False

    @property
    def mark(self) -> str:
        if not self.remedy:
            return "ok  "
        return "note" if self.is_note else "FAIL"


@click.command("doctor")
def doctor() -> None:
    """Check settings, database, deliveries, services and disk. Each problem comes with its fix.

    Exits with 1 if something must be fixed.
    """
    settings = current_settings()
    has_failed = is_unavailable = False
    for check in CHECKS:
        try:
            findings = list(check(settings))
        except Unavailable as error:
            # All database checks fail in the same way, so only the first one reports the outage.
            remedy = messages.START_DATABASE
            finding = Finding("database", outage_in_words(error), remedy)
            findings = [] if is_unavailable else [finding]
            is_unavailable = True
        except DatabaseError:
            # An older schema lacks what this check reads, and the finding about it says what to do.
            if schema.current_revision() in {None, schema.newest_revision()}:
                raise
            findings = []
        for finding in findings:
            click.echo(f"{finding.mark} {finding.subject}: {finding.message}")
            if finding.remedy:
                click.echo(f"     {finding.remedy}")
            has_failed = has_failed or finding.mark == "FAIL"
    if has_failed:
        raise SystemExit(1)


def _settings(settings: Settings) -> Iterator[Finding]:
    yield Finding("version", settings.version)
    yield Finding("address", settings.base_url)
    is_local = settings.base_url.startswith(("http://127.", "http://localhost"))
    if not settings.is_https and not is_local:
        yield Finding("address", messages.WITHOUT_TLS, messages.USE_TLS, is_note=True)


def _proxies(settings: Settings) -> Iterator[Finding]:
    """Request BASE_URL with forged client addresses, and report which address the server sees."""
    headers = {
        "X-Forwarded-For": FORGED,
        "X_Forwarded_For": FORGED_BY_LOOKALIKE,
        arrival.PROBE: arrival.signed(settings),
    }
    try:
        with requests.Session() as client:
            # Ignore this machine's outgoing proxies, not the authorities that it trusts.
            client.trust_env = False
            client.verify = os.environ.get("REQUESTS_CA_BUNDLE") or True
            url = f"{settings.base_url}/healthz"
            response = client.get(url, headers=headers, timeout=5, allow_redirects=False)
    # A bundle that is missing is an OSError, as are all failures of requests.
    except OSError as error:
        message = messages.unreachable(settings.base_url, type(error).__name__)
        remedy = messages.MAKE_REACHABLE
        yield Finding("proxies", message, remedy, is_note=True)
        return
    arrived = response.headers.get(arrival.ARRIVED)
    if arrived is None:
        message = messages.other_server(settings.base_url)
        remedy = messages.FIX_ADDRESS
        yield Finding("proxies", message, remedy, is_note=not settings.has_base_url)
        return
    yield _judged(orjson.loads(arrived))


def _judged(arrived: dict[str, Any]) -> Finding:
    client, forwarded, trusted = arrived["client"], arrived["forwarded"], arrived["trusted"]
    message = messages.arrives(client, trusted)
    remedy = ""
    if FORGED_BY_LOOKALIKE in (client, *forwarded):
        remedy = messages.LOOKALIKE_HEADER
    elif client == FORGED:
        remedy = messages.FORGED_ADDRESS
    elif forwarded != [FORGED] and not trusted:
        remedy = messages.SET_TRUSTED_PROXIES
    return Finding("proxies", message, remedy)


def _connection(_: Settings) -> Iterator[Finding]:
    with reading():
        connection = session.connection()
        encoding = schema.narrow_encoding(connection)
        is_mixed = schema.mixes_statements(connection)
    if encoding is not None:
        yield Finding("database", messages.encoded_in(encoding), USE_UTF8)
    if is_mixed:
        yield Finding("database", messages.POOLER, POOL_SESSIONS)


def _database(settings: Settings) -> Iterator[Finding]:
    with reading():
        version = session.scalar(text("SELECT version_num FROM alembic_version"))
        newest = schema.newest_revision()
        if settings.is_sqlite:
            health = session.scalar(text("PRAGMA quick_check(1)"))
            yield Finding("database", "SQLite", "" if health == "ok" else messages.RESTORE_BACKUP)
        else:
            number = session.scalar(text("SHOW server_version"))
            remedy = READ_ONLY if schema.is_read_only(session.connection()) else ""
            yield Finding("database", messages.postgresql(number), remedy)
            off = clock.host_is_off_ms()
            remedy = messages.SET_CLOCK if abs(off) > clock.HOST_MAY_BE_OFF_MS else ""
            yield Finding("clock", messages.clock(off), remedy, is_note=True)
            turned_off = text(
                "SELECT name FROM pg_settings WHERE name = ANY(:names) AND setting = 'off'"
            )
            for name in session.scalars(turned_off, {"names": list(messages.TURN_ON)}):
                yield Finding(
                    "database", messages.is_off(name), messages.TURN_ON[name], is_note=True
                )
        remedy = MADE_BY_A_NEWER_RELEASE if schema.is_newer(version) else messages.UPGRADE
        yield Finding(
            "schema", messages.revision(version, newest), "" if version == newest else remedy
        )
        humans = session.scalar(select(func.count()).where(User.type == UserType.HUMAN.value))
        remedy = "" if humans else messages.SET_UP
        yield Finding("people", f"{humans}", remedy)
        paused = session.scalar(select(Workspace.bots_paused_at))
        if paused is not None:
            remedy = messages.RESUME_BOTS
            yield Finding("bots", messages.paused_since(iso(paused)), remedy, is_note=True)


def _sqlite(settings: Settings) -> Iterator[Finding]:
    if settings.is_sqlite:
        is_old = sqlite3.sqlite_version_info < SAFE_SQLITE
        remedy = messages.OLD_SQLITE
        version = sqlite3.sqlite_version
        yield Finding(messages.SQLITE_LIBRARY, version, remedy if is_old else "", is_note=True)


def _deliveries(_: Settings) -> Iterator[Finding]:
    with reading():
        waiting = session.scalar(
            select(func.count()).where(OutboxEntry.state != OutboxState.FINISHED.value)
        )
        late = session.scalar(
            select(func.count()).where(
                OutboxEntry.state == OutboxState.PENDING.value,
                OutboxEntry.due_at < now_ms() - LATE_MS,
            )
        )
        lately = OutboxEntry.finished_at > now_ms() - MINUTE_MS
        is_delivering = session.scalar(select(exists().where(lately)))
    remedy = ""
    if late and is_delivering:
        remedy = messages.DELIVERING
    elif late:
        remedy = messages.NOT_DELIVERING
    found = messages.waiting(waiting, late)
    yield Finding("deliveries", found, remedy, is_note=bool(is_delivering))


def _secret_key(_: Settings) -> Iterator[Finding]:
    with reading():
        lost, outdated = lost_secrets(), under_previous_key()
        lost_factors = lost_second_factors()
    if outdated:
        yield Finding(
            messages.SECRET_KEY,
            messages.outdated_secrets(outdated),
            messages.ROTATE_KEY,
            is_note=True,
        )
    if lost:
        yield Finding(
            messages.SECRET_KEY,
            messages.lost_secrets(lost, pluralize(lost, "webhooks")),
            messages.SET_KEY_OR_ROTATE,
        )
    if lost_factors:
        yield Finding(
            messages.SECRET_KEY, messages.lost_factors(lost_factors), messages.SET_KEY_OR_RECOVER
        )


def _sweeps(_: Settings) -> Iterator[Finding]:
    with reading():
        runs = {row.sweeper: row.last_run_at for row in session.scalars(select(SweeperLease))}
    has_run = all(runs.get(name) is not None for name in SWEEPERS)
    last = max((time for time in runs.values() if time is not None), default=None)
    message = messages.last_sweep(iso(last)) if last is not None else messages.NO_SWEEP
    remedy = "" if has_run else messages.SWEEPS_AFTER_STARTUP
    yield Finding("sweeps", message, remedy, is_note=True)


def _disk(settings: Settings) -> Iterator[Finding]:
    free = shutil.disk_usage(settings.instance_dir).free
    remedy = messages.FREE_SPACE if free < MIN_FREE_BYTES else ""
    yield Finding("disk", messages.free(free // 2**20, settings.instance_dir), remedy)


def _files(settings: Settings) -> Iterator[Finding]:
    """Check the hash of every content, or only its size in a bucket."""
    store, count, missing, damaged = store_of(settings), 0, 0, 0
    problem = store.problem()
    if problem is not None:
        remedy = messages.FIX_BUCKET
        yield Finding("files", messages.bucket_not_listed(problem), remedy)
        return
    for sha256, size in copying.known_contents():
        count += 1
        try:
            if settings.files_url:
                # Reading a whole bucket is slow and costs money.
                damaged += store.size(sha256) != size
            else:
                damaged += copying.damaged(sha256, size, store)
        except ContentMissing:
            missing += 1
    remedy = ""
    if missing or damaged:
        remedy = messages.COPY_FILES
    message = messages.contents(counted(count, "contents"), missing, damaged)
    yield Finding("files", message, remedy)


def _mail(settings: Settings) -> Iterator[Finding]:
    """Log in to the mail server without sending anything."""
    if settings.smtp_url:
        problem = smtp.refusal(settings)
        server = mail_server(settings.smtp_url)
        ready = messages.LOGGED_IN if server and server.username else messages.MAIL_REACHABLE
        message = messages.mail_not_ready(problem) if problem else ready
        remedy = messages.FIX_SMTP if problem else ""
        yield Finding("mail", message, remedy)


def _sign_on(settings: Settings) -> Iterator[Finding]:
    """Read the published configuration of the single sign-on provider."""
    if not settings.oidc_issuer:
        return
    message, remedy = settings.oidc_issuer, ""
    try:
        provider_of(settings).metadata()
    except ProviderFailure as failure:
        message = f"{settings.oidc_issuer}: {failure}"
        remedy = messages.FIX_ISSUER
    yield Finding(messages.SINGLE_SIGN_ON, message, remedy)


CHECKS: tuple[Callable[[Settings], Iterator[Finding]], ...] = (
    _settings,
    _proxies,
    _connection,
    _database,
    _sqlite,
    _deliveries,
    _secret_key,
    _sweeps,
    _mail,
    _sign_on,
    _files,
    _disk,
)
