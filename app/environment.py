"""Reading one setting from the environment: its form, its bounds, the message if it is wrong.

A setting that is absent or blank has its default. No message repeats a secret.
"""

import contextlib
import ipaddress
import os
import re
import secrets
import ssl
import stat
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import getaddresses
from pathlib import Path
from typing import Literal
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

import click
from sqlalchemy import URL, make_url
from sqlalchemy.exc import ArgumentError

from app import messages

Environment = Mapping[str, str]

POSTGRESQL = "postgresql+psycopg"
MIN_SECRET_LENGTH = 32
# A key with fewer distinct characters is not secret.
MIN_DISTINCT_CHARACTERS = 6

_TRUE = frozenset({"true", "1", "yes", "on"})
_FALSE = frozenset({"false", "0", "no", "off"})
_TOKEN = re.compile(r"[!-~]{16,200}")
_MEDIA_TYPE = re.compile(r"(\*|[a-z0-9.+-]+)/(\*|[a-z0-9.+-]+)")
_BUCKET = re.compile(r"[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_WEB = re.compile(r"https?://[^/]")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.\-]*[A-Za-z0-9])?|\[?[0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*\]?")
_STARTTLS: dict[str, Literal["starttls", "none"]] = {
    "": "starttls",
    "starttls=on": "starttls",
    "starttls=off": "none",
}
_SENDER = re.compile(r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}@[A-Za-z0-9.-]{1,180}")


class SettingsError(click.ClickException):
    """A setting is wrong; the message is one sentence that names it.

    As a ClickException it ends every ``flask`` command with that sentence, not with a traceback.
    """


def text(environ: Environment, name: str, default: str = "") -> str:
    """The value without surrounding whitespace, or the default."""
    return environ.get(name, "").strip() or default


def line(environ: Environment, name: str, default: str, max_length: int) -> str:
    """A value of one printable line."""
    value = text(environ, name, default)
    if len(value) > max_length or not value.isprintable():
        raise SettingsError(messages.not_one_line(name, max_length))
    return value


def token(environ: Environment, name: str) -> str:
    """A token that clients present in a header, or "" if it is absent."""
    value = text(environ, name)
    if value and not _TOKEN.fullmatch(value):
        raise SettingsError(messages.not_a_token(name))
    return value


def networks(environ: Environment, name: str) -> str:
    """A comma-separated list of networks in CIDR notation."""
    value = text(environ, name)
    for part in filter(None, (piece.strip() for piece in value.split(","))):
        try:
            ipaddress.ip_network(part, strict=False)
        except ValueError:
            raise SettingsError(messages.not_a_network(name, part[:40])) from None
    return value


def hosts(environ: Environment, name: str) -> str:
    """A comma-separated list of host names without ports, in lower case and without spaces."""
    names = [part.strip().lower() for part in text(environ, name).split(",") if part.strip()]
    for host_name in names:
        if not _HOST.fullmatch(host_name) or ":" in host_name:
            raise SettingsError(messages.not_a_host_name(name, host_name[:60]))
    return ",".join(names)


def bucket(environ: Environment, name: str) -> str:
    """The address of a bucket, such as s3://bucket/prefix?endpoint=https://..., or ""."""
    value = text(environ, name)
    if not value:
        return ""
    parts = urlsplit(value)
    options = parse_qs(parts.query)
    endpoint = options.get("endpoint", [])
    is_known = options.keys() <= {"endpoint", "region"} and all(map(_WEB.match, endpoint))
    if parts.scheme != "s3" or not _BUCKET.fullmatch(parts.netloc) or not is_known:
        raise SettingsError(messages.not_a_bucket(name))
    return value


def media_types(environ: Environment, name: str, default: str) -> str:
    """A comma-separated list of media types, in which ``*`` stands for any part."""
    kinds = [part.strip().lower() for part in text(environ, name, default).split(",")]
    for kind in filter(None, kinds):
        if not _MEDIA_TYPE.fullmatch(kind):
            raise SettingsError(messages.not_a_type(name, kind[:60]))
    return ",".join(filter(None, kinds))


def pem_file(environ: Environment, name: str) -> Path | None:
    """The path of a readable file of PEM certificates, or None."""
    value = text(environ, name)
    if not value:
        return None
    try:
        ssl.create_default_context(cafile=value)
    except (OSError, ssl.SSLError):
        raise SettingsError(messages.not_certificates(name)) from None
    return Path(value)


def whole(environ: Environment, name: str, default: int, lowest: int, highest: int) -> int:
    """A whole number from ``lowest`` to ``highest``."""
    value = text(environ, name)
    if not value:
        return default
    if not re.fullmatch(r"-?[0-9]{1,12}", value) or not lowest <= int(value) <= highest:
        raise SettingsError(messages.not_a_number(name, lowest, highest, value[:40]))
    return int(value)


def flag(environ: Environment, name: str, *, default: bool) -> bool:
    """A flag: true or false, also 1/0, yes/no, on/off."""
    value = text(environ, name).lower()
    if not value:
        return default
    if value not in _TRUE | _FALSE:
        raise SettingsError(messages.not_a_boolean(name, value[:40]))
    return value in _TRUE


def one_of(environ: Environment, name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of these words, in any case."""
    value = text(environ, name, default).upper()
    if value not in choices:
        raise SettingsError(messages.not_a_choice(name, ", ".join(choices), value[:40]))
    return value


def host(environ: Environment, name: str, default: str) -> str:
    """A host name or address to listen on; an IPv6 address loses its brackets."""
    value = text(environ, name, default)
    if not _HOST.fullmatch(value):
        raise SettingsError(messages.not_an_address(name, value[:60]))
    return value.strip("[]")


def base_url(environ: Environment, name: str, default: str) -> str:
    """The public address: scheme, host and port, without a trailing slash."""
    value = text(environ, name, default)
    parts = _split(value)
    if (
        parts is None
        or parts.scheme not in ("http", "https")
        or not parts.hostname
        or not _HOST.fullmatch(parts.hostname)
        or parts.username is not None
        or parts.path not in ("", "/")
        or "?" in value
        or "#" in value
    ):
        raise SettingsError(messages.not_a_base_url(name))
    return f"{parts.scheme}://{parts.netloc.lower()}"


def _split(value: str) -> SplitResult | None:
    try:
        parts = urlsplit(value)
        return parts if parts.port != 0 else None
    except ValueError:  # a port out of range, an unclosed bracket
        return None


@dataclass(frozen=True, slots=True)
class MailServer:
    """The mail server and how to connect to it."""

    host: str
    port: int
    username: str
    password: str
    tls: Literal["starttls", "implicit", "none"]


def mail_server(value: str) -> MailServer | None:
    """The server of an address such as ``smtp://user:password@host:587``; None if it is wrong."""
    parts = _split(value)
    if (
        parts is None
        or parts.scheme not in ("smtp", "smtps")
        or not parts.hostname
        or not _HOST.fullmatch(parts.hostname)
        or parts.path not in ("", "/")
        or "#" in value
        or parts.netloc.count("@") > 1
        or bool(parts.username) != bool(parts.password)
        or parts.query not in _STARTTLS
        or (parts.query and parts.scheme == "smtps")
    ):
        return None
    tls: Literal["starttls", "implicit", "none"] = _STARTTLS[parts.query]
    if parts.scheme == "smtps":
        tls = "implicit"
    return MailServer(
        parts.hostname,
        parts.port or (465 if tls == "implicit" else 587),
        unquote(parts.username or ""),
        unquote(parts.password or ""),
        tls,
    )


def smtp_url(environ: Environment, name: str) -> str:
    """The address of a mail server, or "" if it is absent; no message shows its password."""
    value = text(environ, name)
    if value and (mail_server(value) is None or not value.isprintable()):
        raise SettingsError(messages.not_a_mail_server(name))
    return value


def sender(environ: Environment, name: str, *, is_needed: bool) -> str:
    """The sender of mail, such as ``Docket <docket@example.org>``."""
    value = text(environ, name)
    if not value and not is_needed:
        return ""
    found = getaddresses([value])
    is_one = len(found) == 1 and _SENDER.fullmatch(found[0][1]) is not None
    if not is_one or not value.isprintable() or len(value) > 320:
        raise SettingsError(messages.not_a_sender(name))
    return value


def database_url(environ: Environment, name: str, default: Path) -> str:
    """The database URL for SQLAlchemy: ``postgresql+psycopg://...`` or ``sqlite:////...``."""
    value = text(environ, name)
    if not value:
        return f"sqlite:///{default}"
    try:
        url = make_url(value)
    except (ArgumentError, ValueError) as error:
        # The value may contain a password, so it is not shown.
        raise SettingsError(messages.not_a_database(name)) from error
    if url.drivername in ("postgresql", "postgres", POSTGRESQL):
        return _postgresql(name, url)
    if url.drivername == "sqlite":
        return _sqlite(name, url)
    raise SettingsError(messages.unknown_database(name))


def _postgresql(name: str, url: URL) -> str:
    if "@" in (url.host or ""):
        # SQLAlchemy takes the rest of the password as the host, so do not show the host.
        raise SettingsError(messages.two_at_signs(name))
    if not url.database:
        raise SettingsError(messages.no_database_name(name))
    return url.set(drivername=POSTGRESQL).render_as_string(hide_password=False)


def _sqlite(name: str, url: URL) -> str:
    if not url.database or url.database.startswith((":", "file:")) or url.query:
        raise SettingsError(messages.no_database_file(name))
    return f"sqlite:///{Path(url.database).absolute()}"


def secret(environ: Environment, name: str, kept_in: Path | None) -> str:
    """The secret key; if absent, it is made once and kept in the file ``kept_in``.

    Raises SettingsError if it is absent and ``kept_in`` is None, or if it is weak.
    """
    value = text(environ, name)
    if not value:
        if kept_in is None:
            raise SettingsError(messages.secret_missing(name))
        value = _read_or_create_secret(kept_in)
        name = messages.kept_in(name, kept_in)
    if len(value) < MIN_SECRET_LENGTH:
        raise SettingsError(messages.secret_too_short(name, MIN_SECRET_LENGTH))
    if len(set(value)) < MIN_DISTINCT_CHARACTERS:
        raise SettingsError(messages.secret_too_plain(name, MIN_DISTINCT_CHARACTERS))
    return value


def previous_secret(environ: Environment, name: str, kept_in: Path | None) -> str:
    """The previous secret key, or "". It may be weak: that is a reason to replace it."""
    value = text(environ, name)
    if not value and kept_in is not None:
        with contextlib.suppress(FileNotFoundError):
            return _previous(kept_in).read_text().strip()
    return value


def replace_kept_secret(path: Path) -> str:
    """Replace the secret key in this file and keep the old one beside it; returns the new one.

    A crash leaves the old key in place, or both.
    """
    _write_secret(path.read_text(), _previous(path))
    secret_key = secrets.token_urlsafe(48)
    _write_secret(secret_key + "\n", path)
    return secret_key


def _previous(path: Path) -> Path:
    return path.with_name(f"{path.name}_previous")


def _write_secret(content: str, path: Path) -> None:
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".secret_key.")
    with os.fdopen(descriptor, "w") as fresh:
        fresh.write(content)
        fresh.flush()
        os.fsync(descriptor)
    Path(name).replace(path)
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def _read_or_create_secret(path: Path) -> str:
    """The secret in this file, which is created if absent.

    Two processes that start at once agree on one secret, as only the first link succeeds.
    """
    if not path.exists():
        with tempfile.NamedTemporaryFile("w", dir=path.parent, prefix=".secret_key.") as fresh:
            fresh.write(secrets.token_urlsafe(48) + "\n")
            fresh.flush()
            os.fsync(fresh.fileno())
            with contextlib.suppress(FileExistsError):
                os.link(fresh.name, path)
    try:
        return path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(messages.key_unreadable(path, error)) from error


def directory(environ: Environment, name: str, default: Path) -> Path:
    """A writable directory, created if absent and closed to other users.

    A sticky directory that everybody may write to, such as /tmp, keeps its mode.
    """
    path = Path(text(environ, name, str(default))).expanduser().absolute()
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(messages.not_a_folder(name, error.strerror, path)) from error
    if not os.access(path, os.W_OK | os.X_OK):
        raise SettingsError(messages.folder_not_writable(name, path))
    close_to_others(path)
    return path


def close_to_others(path: Path) -> None:
    """Remove the permissions of other users from a file or directory of this user."""
    with contextlib.suppress(FileNotFoundError):
        status = path.stat()
        is_own = status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX
        if is_own and status.st_mode & 0o077:
            path.chmod(stat.S_IMODE(status.st_mode) & 0o700)
