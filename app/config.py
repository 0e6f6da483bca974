"""The settings of an installation: read once from the environment, checked together, frozen.

``environment.py`` reads and checks single values.
"""

import importlib.util
import ipaddress
import os
import re
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from pathlib import Path
from typing import Self
from urllib.parse import urlsplit

from sqlalchemy import make_url

from app import environment as read
from app import messages
from app.core.own_address import OwnAddress
from app.environment import Environment, SettingsError

ROOT = Path(__file__).resolve().parent.parent
VERSION = "0.2.0"
RENDERERS = ("flask_swagger_ui", "flask_openapi3_redoc")
# Suffixes of the files of a SQLite database: its own, and those beside it while it is in use.
DATABASE_FILES = ("", "-wal", "-shm", ".write", ".write-next", ".server")
# `flask copy-to` adds this to the name of the file that it copied.
MOVED = ".moved"
LOG_LEVELS = ("DEBUG", "INFO", "WARNING", "ERROR")

__all__ = ["ROOT", "VERSION", "Settings", "SettingsError"]


def _cores() -> int:
    """The processor cores of this process, at most four."""
    # Not every system has sched_getaffinity.
    allowed = getattr(os, "sched_getaffinity", None)
    return min(len(allowed(0)) if allowed else os.cpu_count() or 1, 4)


class Admission(StrEnum):
    """Whom single sign-on lets in."""

    EXISTING = "existing"
    ALL = "all"


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The settings; the comment of a field is its documentation."""

    # HOST: the address to listen on; 0.0.0.0 for every IPv4 interface, :: for IPv6.
    host: str = "127.0.0.1"
    # PORT: the port to listen on.
    port: int = 8000
    # INSTANCE_DIR: where Docket keeps what it stores: the SQLite database and the secret key.
    instance_dir: Path = ROOT / "instance"
    # DATABASE_URL: postgresql://user:password@host/name, or sqlite:////path/to/file. Default: the
    # SQLite database docket.db in INSTANCE_DIR.
    database_url: str = field(repr=False)
    # SECRET_KEY: encrypts stored secrets and keys the login limits; at least 32 characters. Default
    # with SQLite: made on the first start and kept in INSTANCE_DIR/secret_key. Required with
    # PostgreSQL, the same for every server.
    secret_key: str = field(repr=False)
    # SECRET_KEY_PREVIOUS: the previous SECRET_KEY, which still decrypts what it encrypted. Default
    # if SECRET_KEY is absent: the key that `flask rotate-secret-key` replaced.
    secret_key_previous: str = field(default="", repr=False)
    # BASE_URL: the address at which people and bots reach Docket, such as
    # https://tickets.example.org. Default: http://HOST:PORT.
    base_url: str
    has_base_url: bool = True
    # ALLOWED_HOSTS: more host names that requests may be addressed to, comma-separated. The host of
    # BASE_URL, IP addresses and localhost are always allowed.
    allowed_hosts: str = ""
    # APP_NAME: the name that pages show and that other servers see in User-Agent.
    app_name: str = "Docket"
    # TRUSTED_PROXIES: the number of reverse proxies in front; that many entries at the end of
    # X-Forwarded-For and X-Forwarded-Proto are trusted.
    trusted_proxies: int = 0
    # MAX_REQUEST_BYTES: the longest request body; a longer one is answered 413.
    max_request_bytes: int = 4 * 1024 * 1024
    # IDEMPOTENCY_KEY_TTL_HOURS: how long an Idempotency-Key is remembered.
    idempotency_key_ttl_hours: int = 24
    # SESSION_IDLE_MINUTES: a session ends after this long without a request.
    session_idle_minutes: int = 10_080
    # SESSION_ABSOLUTE_DAYS: a session ends this long after login, used or not.
    session_absolute_days: int = 30
    # BOT_CAN_EDIT_GLOBAL_WIKI_DEFAULT: whether a new bot may, unless its creator says.
    bot_can_edit_global_wiki_default: bool = False
    # DEFAULT_RATE_LIMIT_PER_MINUTE: the rate limit stored for a new bot (not enforced).
    default_rate_limit_per_minute: int = 60
    # BOT_AUTH_AUDIT_MINUTES: the use of a bot's token is audited at most this often; 0 = always.
    bot_auth_audit_minutes: int = 60
    # STALLED_MINUTES: a bot that is silent this long on a ticket it holds counts as stalled.
    stalled_minutes: int = 30
    # TOOL_INVOCATION_LOG_RETENTION_DAYS: how long the log of bots' tool calls is kept.
    tool_invocation_log_retention_days: int = 90
    # WEBHOOK_ALLOWED_NETWORKS: private networks that webhooks may reach, comma-separated CIDRs.
    webhook_allowed_networks: str = ""
    # WEBHOOK_CA_BUNDLE: a PEM file of the authorities that webhooks trust instead of the usual.
    webhook_ca_bundle: Path | None = None
    # OIDC_ISSUER: the address of the OpenID Connect provider with which people log in, such as
    # https://login.example.org. Default: there is no single sign-on.
    oidc_issuer: str = ""
    # OIDC_CLIENT_ID: the id of this installation at the provider.
    oidc_client_id: str = ""
    # OIDC_CLIENT_SECRET: the secret of this installation at the provider.
    oidc_client_secret: str = field(default="", repr=False)
    # OIDC_ALLOWED_DOMAINS: the domains of email addresses that may log in with single sign-on,
    # comma-separated. Default: all.
    oidc_allowed_domains: str = ""
    # OIDC_ADMIT: existing admits people who have an account here; all creates accounts for others.
    oidc_admit: Admission = Admission.EXISTING
    # PASSWORD_LOGIN: whether people can log in with a password; off needs OIDC_ISSUER.
    password_login: bool = True
    # METRICS_TOKEN: serves /metrics to whoever sends this token as Authorization: Bearer; at least
    # 16 characters. Default: there is no /metrics, and nothing is measured.
    metrics_token: str = field(default="", repr=False)
    # SMTP_URL: the server that takes mail, smtp://user:password@host:587 (STARTTLS, unless
    # ?starttls=off) or smtps://user:password@host:465. Default: no mail is sent.
    smtp_url: str = field(default="", repr=False)
    # MAIL_FROM: the sender of mail, such as Docket <docket@example.org>. Required with SMTP_URL.
    mail_from: str = ""
    # FILES_MAX_BYTES: the longest file; a longer one is answered 413.
    files_max_bytes: int = 25 * 1024 * 1024
    # FILES_QUOTA: bytes of all files together; more are refused.
    files_quota: int = 10 * 1024 * 1024 * 1024
    # FILES_URL: s3://BUCKET/PREFIX keeps files in an S3-compatible store, which several hosts need;
    # ?endpoint=https://...&region=... for one that is not of AWS. Default: INSTANCE_DIR/files.
    files_url: str = ""
    # FILES_TYPES: the types of files that are taken, comma-separated, such as image/*,text/*.
    files_types: str = "*/*"
    # DOCS_ENABLED: whether /api/v1/docs and /api/v1/redoc are served.
    docs_enabled: bool = False
    # LOG_LEVEL: DEBUG, INFO, WARNING or ERROR.
    log_level: str = "INFO"
    # WORKERS: server processes. Default: one per processor core of this process, at most four.
    workers: int = field(default_factory=_cores)
    # THREADS: requests of one process that may wait for the database at the same time.
    threads: int = 4

    # The cost of Argon2id. Not in the environment: only tests weaken it.
    password_time_cost: int = 2
    password_memory_kib: int = 19_456
    password_parallelism: int = 1

    # Where SECRET_KEY is kept; None if the environment gives it. Not in the environment.
    key_kept_in: Path | None = None

    @classmethod
    def from_env(cls, environ: Environment = os.environ) -> Self:
        """Read and check every setting; raises SettingsError for the first that is wrong.

        Creates INSTANCE_DIR and, with SQLite, the secret key.
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
            stalled_minutes=read.whole(environ, "STALLED_MINUTES", 30, 1, 525_600),
            bot_auth_audit_minutes=read.whole(environ, "BOT_AUTH_AUDIT_MINUTES", 60, 0, 525_600),
            tool_invocation_log_retention_days=read.whole(
                environ, "TOOL_INVOCATION_LOG_RETENTION_DAYS", 90, 1, 36_500
            ),
            webhook_allowed_networks=read.networks(environ, "WEBHOOK_ALLOWED_NETWORKS"),
            webhook_ca_bundle=read.pem_file(environ, "WEBHOOK_CA_BUNDLE"),
            oidc_issuer=_issuer(environ, "OIDC_ISSUER"),
            oidc_client_id=read.line(environ, "OIDC_CLIENT_ID", "", 200),
            oidc_client_secret=read.line(environ, "OIDC_CLIENT_SECRET", "", 500),
            oidc_allowed_domains=read.hosts(environ, "OIDC_ALLOWED_DOMAINS"),
            oidc_admit=Admission(
                read.one_of(environ, "OIDC_ADMIT", "EXISTING", ("EXISTING", "ALL")).lower()
            ),
            password_login=read.flag(environ, "PASSWORD_LOGIN", default=True),
            metrics_token=read.token(environ, "METRICS_TOKEN"),
            smtp_url=read.smtp_url(environ, "SMTP_URL"),
            mail_from=read.sender(
                environ, "MAIL_FROM", is_needed=bool(read.text(environ, "SMTP_URL"))
            ),
            files_max_bytes=read.whole(environ, "FILES_MAX_BYTES", 25 * 1024 * 1024, 1024, 1024**3),
            files_quota=read.whole(environ, "FILES_QUOTA", 10 * 1024**3, 1024, 10**12 - 1),
            files_url=read.bucket(environ, "FILES_URL"),
            files_types=read.media_types(environ, "FILES_TYPES", "*/*"),
            docs_enabled=read.flag(environ, "DOCS_ENABLED", default=False),
            log_level=read.one_of(environ, "LOG_LEVEL", "INFO", LOG_LEVELS),
            workers=read.whole(environ, "WORKERS", _cores(), 1, 64),
            threads=read.whole(environ, "THREADS", 4, 1, 64),
        )
        settings._check_together()
        settings._close_files()
        return settings

    def own_files(self) -> list[Path]:
        """The files of keys and of the embedded database, present or not."""
        paths = [self.instance_dir / name for name in ("secret_key", "secret_key_previous")]
        if self.database_path is not None:
            paths += [Path(f"{self.database_path}{suffix}") for suffix in DATABASE_FILES]
        return paths

    def _close_files(self) -> None:
        """Remove the permissions of other users, which a restore may have added."""
        for path in self.own_files():
            read.close_to_others(path)

    def _check_together(self) -> None:
        """Check rules that involve more than one setting."""
        if self.docs_enabled and not all(importlib.util.find_spec(name) for name in RENDERERS):
            raise SettingsError(messages.DOCS_NEED_RENDERERS)
        if self.files_url and importlib.util.find_spec("boto3") is None:
            raise SettingsError(messages.S3_NEEDS_BOTO3)
        given = (self.oidc_issuer, self.oidc_client_id, self.oidc_client_secret)
        if any(given) and not all(given):
            raise SettingsError(messages.SIGN_ON_INCOMPLETE)
        if not self.password_login and not self.oidc_issuer:
            raise SettingsError(messages.NO_WAY_TO_LOG_IN)
        path = self.database_path
        if path is not None and not path.parent.is_dir():
            raise SettingsError(messages.NO_DATABASE_FOLDER)
        if path is not None and not path.exists() and Path(f"{path}{MOVED}").exists():
            raise SettingsError(messages.moved_away(path, MOVED, path.name))

    @property
    def is_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite:")

    @property
    def database_path(self) -> Path | None:
        return Path(make_url(self.database_url).database or "") if self.is_sqlite else None

    @property
    def metrics_folder(self) -> Path:
        """Where workers count; servers on one PostgreSQL may share INSTANCE_DIR, but not a port."""
        return self.instance_dir / f"metrics-{self.port}"

    @property
    def files_dir(self) -> Path:
        return self.instance_dir / "files"

    @property
    def incoming_dir(self) -> Path:
        """The folder of files being received; in ``files_dir``, so that they can be moved there."""
        return self.files_dir / "incoming"

    # Every request reads this and the next property.
    @cached_property
    def own_address(self) -> OwnAddress:
        own = self.base_url if self.has_base_url else None
        return OwnAddress(own, self.port, tuple(self.allowed_hosts.split(",")))

    @cached_property
    def is_https(self) -> bool:
        return self.base_url.startswith("https://")

    @property
    def cookie_secure(self) -> bool:
        return self.is_https

    @property
    def version(self) -> str:
        return VERSION

    @property
    def user_agent(self) -> str:
        return f"{self.service_name}/{VERSION}"

    @property
    def service_name(self) -> str:
        """The app's name in lower case, with hyphens for spaces."""
        return re.sub(r"[^a-z0-9._-]+", "-", self.app_name.lower())


def _issuer(environ: Environment, name: str) -> str:
    """The address of an identity provider as it names itself: https, or http on this machine."""
    value = read.text(environ, name)
    if not value:
        return ""
    try:
        parts = urlsplit(value)
        host, scheme = parts.hostname or "", parts.scheme
        is_plain = parts.username is None and parts.port != 0
    except ValueError:
        host, scheme, is_plain = "", "", False
    is_secure = scheme == "https" or (scheme == "http" and is_loopback(host))
    is_text = value.isascii() and value.isprintable() and not set(value) & set("?# ")
    if not (host and is_plain and is_secure and is_text) or len(value) > 200:
        raise SettingsError(messages.not_an_issuer(name))
    return value


def is_loopback(host_name: str) -> bool:
    """Whether a host is this machine."""
    if host_name == "localhost":
        return True
    try:
        return ipaddress.ip_address(host_name).is_loopback
    except ValueError:
        return False


def _own_address(host: str, port: int) -> str:
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
