"""Settings: read once from the environment, checked as a whole, frozen.

Each field's comment is its documentation. How single values are read is in ``environment.py``.
"""

import importlib.util
import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from sqlalchemy import make_url

from app import environment as read
from app.core.own_address import OwnAddress
from app.environment import Environment, SettingsError
from app.http.current import application

ROOT = Path(__file__).resolve().parent.parent
VERSION = "0.1.0"
RENDERERS = ("flask_swagger_ui", "flask_openapi3_redoc")
# A database file of SQLite, and what stands beside it while it is in use.
DATABASE_FILES = ("", "-wal", "-shm", ".write", ".write-next", ".server")
# What `flask copy-to` adds to the name of the file that it copied.
MOVED = ".moved"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

__all__ = ["ROOT", "VERSION", "Settings", "SettingsError"]


def _cores() -> int:
    """One server process for each core; more than four is for whoever asks for them."""
    # Not every system says which cores are ours.
    allowed = getattr(os, "sched_getaffinity", None)
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, 4)


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What one installation is told; ``from_env`` makes and checks it."""

    # HOST: the address to listen on; 0.0.0.0 for every IPv4 interface, :: for IPv6.
    host: str = "127.0.0.1"
    # PORT: the port to listen on.
    port: int = 8000
    # INSTANCE_DIR: where Docket keeps what it stores: the SQLite database and the secret key.
    instance_dir: Path = ROOT / "instance"
    # DATABASE_URL: postgresql://user:password@host/name, or sqlite:////path/to/file. Absent: the
    # SQLite database docket.db in INSTANCE_DIR.
    database_url: str = field(repr=False)
    # SECRET_KEY: seals what is stored and keys the login limits; at least 32 characters. Absent
    # with SQLite: made on the first start and kept in INSTANCE_DIR/secret_key. Required with
    # PostgreSQL, the same for every server.
    secret_key: str = field(repr=False)
    # SECRET_KEY_PREVIOUS: the key before SECRET_KEY, which still opens what was sealed under it.
    # Absent where SECRET_KEY is: the key that `flask rotate-secret-key` replaced.
    secret_key_previous: str = field(default="", repr=False)
    # BASE_URL: the address at which people and bots reach Docket, such as
    # https://tickets.example.org. Absent: http://HOST:PORT.
    base_url: str
    has_base_url: bool = True
    # ALLOWED_HOSTS: host names besides that of BASE_URL that requests may be addressed to,
    # comma-separated; IP addresses and localhost always may.
    allowed_hosts: str = ""
    # APP_NAME: the name that pages show and that other servers see in User-Agent.
    app_name: str = "Docket"
    # TRUSTED_PROXIES: how many reverse proxies stand in front; that many entries at the end of
    # X-Forwarded-For and X-Forwarded-Proto are believed.
    trusted_proxies: int = 0
    # MAX_REQUEST_BYTES: the longest request body; a longer one is answered 413.
    max_request_bytes: int = 4 * 1024 * 1024
    # IDEMPOTENCY_KEY_TTL_HOURS: how long an Idempotency-Key is remembered.
    idempotency_key_ttl_hours: int = 24
    # SESSION_IDLE_MINUTES: a session ends after this long without a request.
    session_idle_minutes: int = 10_080
    # SESSION_ABSOLUTE_DAYS: a session ends this long after login, used or not.
    session_absolute_days: int = 30
    # BOT_CAN_EDIT_GLOBAL_WIKI_DEFAULT: what a new bot may do where its creator does not say.
    bot_can_edit_global_wiki_default: bool = False
    # DEFAULT_RATE_LIMIT_PER_MINUTE: the rate limit stored for a new bot (not enforced).
    default_rate_limit_per_minute: int = 60
    # BOT_AUTH_AUDIT_MINUTES: a bot's token in use is recorded at most this often; 0 = every time.
    bot_auth_audit_minutes: int = 60
    # TOOL_INVOCATION_LOG_RETENTION_DAYS: how long the log of bots' tool calls is kept.
    tool_invocation_log_retention_days: int = 90
    # WEBHOOK_ALLOWED_NETWORKS: networks inside that webhooks may reach, as comma-separated CIDRs.
    webhook_allowed_networks: str = ""
    # WEBHOOK_CA_BUNDLE: a PEM file of authorities that webhooks trust instead of the usual ones.
    webhook_ca_bundle: Path | None = None
    # DOCS_ENABLED: whether /api/v1/docs and /api/v1/redoc are served.
    docs_enabled: bool = False
    # LOG_LEVEL: DEBUG, INFO, WARNING or ERROR.
    log_level: str = "INFO"
    # WORKERS: server processes. Absent: one per processor core that this process may use, four at
    # most.
    workers: int = field(default_factory=_cores)
    # THREADS: requests that may wait for the database and that one process works on at a time.
    threads: int = 4

    # Argon2id's cost. Not for the environment: a weaker one is for
    # tests only.
    password_time_cost: int = 2
    password_memory_kib: int = 19_456
    password_parallelism: int = 1

    # Where SECRET_KEY is kept; None where the environment gives it. Not for the environment either.
    key_kept_in: Path | None = None

    @classmethod
    def from_env(cls, environ: Environment = os.environ) -> Self:
        """Read and check every setting; raises SettingsError naming the first that is wrong.

        Makes INSTANCE_DIR and, with SQLite, the secret key, where they do not exist yet.
        """
        instance_dir = read.directory(environ, "INSTANCE_DIR", ROOT / "instance")
        database_url = read.database_url(environ, "DATABASE_URL", instance_dir / "docket.db")
        sqlite = database_url.startswith("sqlite:")
        host = read.host(environ, "HOST", "127.0.0.1")
        port = read.whole(environ, "PORT", 8000, 1, 65_535)
        kept = sqlite and not read.text(environ, "SECRET_KEY")
        key_file = instance_dir / "secret_key" if kept else None
        settings = cls(
            host=host,
            port=port,
            instance_dir=instance_dir,
            database_url=database_url,
            secret_key=read.secret(environ, "SECRET_KEY", key_file),
            key_kept_in=key_file,
            secret_key_previous=read.previous_secret(environ, "SECRET_KEY_PREVIOUS", key_file),
            base_url=read.base_url(environ, "BASE_URL", _own_address(host, port)),
            has_base_url=bool(read.text(environ, "BASE_URL")),
            allowed_hosts=read.hosts(environ, "ALLOWED_HOSTS"),
            app_name=read.line(environ, "APP_NAME", "Docket", 60),
            trusted_proxies=read.whole(environ, "TRUSTED_PROXIES", 0, 0, 10),
            max_request_bytes=read.whole(
                environ, "MAX_REQUEST_BYTES", 4 * 1024 * 1024, 65_536, 1024**3
            ),
            idempotency_key_ttl_hours=read.whole(
                environ, "IDEMPOTENCY_KEY_TTL_HOURS", 24, 1, 8_760
            ),
            session_idle_minutes=read.whole(environ, "SESSION_IDLE_MINUTES", 10_080, 1, 525_600),
            session_absolute_days=read.whole(environ, "SESSION_ABSOLUTE_DAYS", 30, 1, 3_650),
            bot_can_edit_global_wiki_default=read.flag(
                environ, "BOT_CAN_EDIT_GLOBAL_WIKI_DEFAULT", default=False
            ),
            default_rate_limit_per_minute=read.whole(
                environ, "DEFAULT_RATE_LIMIT_PER_MINUTE", 60, 1, 1_000_000
            ),
            bot_auth_audit_minutes=read.whole(environ, "BOT_AUTH_AUDIT_MINUTES", 60, 0, 525_600),
            tool_invocation_log_retention_days=read.whole(
                environ, "TOOL_INVOCATION_LOG_RETENTION_DAYS", 90, 1, 36_500
            ),
            webhook_allowed_networks=read.networks(environ, "WEBHOOK_ALLOWED_NETWORKS"),
            webhook_ca_bundle=read.pem_file(environ, "WEBHOOK_CA_BUNDLE"),
            docs_enabled=read.flag(environ, "DOCS_ENABLED", default=False),
            log_level=read.one_of(environ, "LOG_LEVEL", "INFO", LOG_LEVELS),
            workers=read.whole(environ, "WORKERS", _cores(), 1, 64),
            threads=read.whole(environ, "THREADS", 4, 1, 64),
        )
        settings._check_together()
        settings._close_files()
        return settings

    def _close_files(self) -> None:
        """Close to other users what a restore or an older release left open."""
        key = self.instance_dir / "secret_key"
        found = [key, key.with_name("secret_key_previous")]
        if self.database_path is not None:
            found += [Path(f"{self.database_path}{more}") for more in DATABASE_FILES]
        for path in found:
            read.close_to_others(path)

    def _check_together(self) -> None:
        """Check what one value alone cannot show."""
        if self.docs_enabled and not all(importlib.util.find_spec(name) for name in RENDERERS):
            raise SettingsError(
                "DOCS_ENABLED needs the API documentation's renderers: run `make install`, "
                "or install requirements-docs.txt."
            )
        if self.database_path is not None and not self.database_path.parent.is_dir():
            raise SettingsError("DATABASE_URL names a file in a directory that does not exist.")
        place = self.database_path
        if place is not None and not place.exists() and Path(f"{place}{MOVED}").exists():
            raise SettingsError(
                "DATABASE_URL must name what 'flask copy-to' filled: this installation "
                f"moved there. To go back instead, rename {place}{MOVED} to {place.name}."
            )

    @property
    def is_sqlite(self) -> bool:
        """Whether the database is the embedded one."""
        return self.database_url.startswith("sqlite:")

    @property
    def database_path(self) -> Path | None:
        """The file of a SQLite database."""
        return Path(make_url(self.database_url).database or "") if self.is_sqlite else None

    @property
    def own_address(self) -> OwnAddress:
        """Which hosts and origins are this installation's own."""
        own = self.base_url if self.has_base_url else None
        return OwnAddress(own, self.port, tuple(self.allowed_hosts.split(",")))

    @property
    def is_https(self) -> bool:
        """Whether browsers reach Docket over TLS."""
        return self.base_url.startswith("https://")

    @property
    def cookie_secure(self) -> bool:
        """Whether the session cookie is for TLS only."""
        return self.is_https

    @property
    def version(self) -> str:
        """Docket's version."""
        return VERSION

    @property
    def user_agent(self) -> str:
        """How Docket names itself to other servers: ``<app_name>/<version>``."""
        return f"{self.service_name}/{VERSION}"

    @property
    def service_name(self) -> str:
        """The app's name as programs read it: in lower case, with hyphens for spaces."""
        return re.sub(r"[^a-z0-9._-]+", "-", self.app_name.lower())


def _own_address(host: str, port: int) -> str:
    """The address of the server itself; an IPv6 address stands in brackets."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def settings_at_hand() -> Settings:
    """The settings of the application at hand."""
    found: Settings = application().config["SETTINGS"]
    return found
