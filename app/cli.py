"""Attaching all commands to ``flask``.

A command runs in the application's context. The events of one run share a request id, and a refusal
is one line with exit code 1.
"""

import errno
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import IO, Any

import click
from alembic.config import Config
from flask import Flask
from flask.cli import with_appcontext
from flask_migrate.cli import db as migrations
from sqlalchemy.exc import DatabaseError

from app import messages, registry
from app.core import ids
from app.core.errors import DomainError, Unavailable
from app.core.ids import request_id
from app.database import schema
from app.database.failures import outage_in_words, refusal_in_words
from app.database.messages import MADE_BY_A_NEWER_RELEASE
from app.serving.demo import demo_command
from app.serving.parent import serve_command

# They read no table, or must work on the database of a newer release.
_ON_ANY_SCHEMA = frozenset(
    {
        "audit key",
        "backup",
        "db branches",
        "db current",
        "db heads",
        "db history",
        "db show",
        "doctor",
        "mail test",
        "openapi",
        "restore-backup",
        "tools",
    }
)
# Commands are global, and ``copy-to`` makes a second application.
_prepared: set[click.Command] = set()


class CommandInterrupted(click.ClickException):
    """Ctrl-C; the exit code is that of a program that SIGINT ended."""

    exit_code = 130

    def show(self, file: IO[Any] | None = None) -> None:
        click.echo(self.message, file=file, err=True)


def install(app: Flask) -> None:
    for server in (serve_command, demo_command):
        _prepare(server, server.name, is_server=True)
        app.cli.add_command(server)
    for command in registry.commands():
        _prepare(command, command.name)
        app.cli.add_command(command)
    # The extension attaches them.
    _prepare(migrations, migrations.name)
    app.extensions["migrate"].migrate.configure(_print_to_output)


def _print_to_output(config: Config) -> Config:
    # Alembic keeps the standard output of when it was imported.
    config.stdout = sys.stdout
    return config


def _prepare(command: click.Command, path: str | None, *, is_server: bool = False) -> None:
    """``path``: the name of the command after those of its groups."""
    if isinstance(command, click.Group):
        for name, inner in command.commands.items():
            _prepare(inner, f"{path} {name}")
    elif command.callback is not None and command not in _prepared:
        _prepared.add(command)
        needs_schema = path not in _ON_ANY_SCHEMA
        edge = command.callback if is_server else _edge(command.callback, needs_schema=needs_schema)
        command.callback = _in_words(is_server=is_server)(edge)


def _is_garbled(value: str) -> bool:
    """Whether the argument was not UTF-8, so that Python holds its bytes as surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in value)


def _edge(callback: Callable[..., Any], *, needs_schema: bool) -> Callable[..., Any]:
    @with_appcontext
    @wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        request_id.set(ids.new_id())
        for name, value in kwargs.items():
            if isinstance(value, str) and _is_garbled(value):
                raise click.UsageError(messages.not_utf8(name))
        if needs_schema and schema.is_newer(schema.current_revision()):
            raise click.ClickException(MADE_BY_A_NEWER_RELEASE)
        return callback(*args, **kwargs)

    return run


@contextmanager
def _in_words(*, is_server: bool) -> Iterator[None]:
    """Turn what a command can meet into a line on standard error and an exit code."""
    _fill_output()
    try:
        yield
        if not is_server:
            # Alembic does not. A server ends well without standard output.
            sys.stdout.flush()
    except KeyboardInterrupt as interrupt:
        raise CommandInterrupted(str(interrupt) or messages.INTERRUPTED) from interrupt
    except Unavailable as error:
        raise click.ClickException(outage_in_words(error)) from error
    except DomainError as error:
        raise click.ClickException(error.message) from error
    except DatabaseError as error:
        first_line = str(error.orig).partition("\n")[0]
        words = refusal_in_words(error) or messages.cannot_use_database(first_line)
        raise click.ClickException(words) from error
    except OSError as error:
        if error.errno == errno.EPIPE:
            # Click ends quietly.
            raise
        is_closed = error.errno == errno.EBADF
        words = messages.OUTPUT_CLOSED if is_closed else messages.refused_by_system(error)
        raise click.ClickException(words) from error
    finally:
        _drop_output()


def _fill_output() -> None:
    """Let writing to a closed standard output fail; Click would drop what is printed."""
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w")


def _drop_output() -> None:
    """Drop what standard output did not take; at exit, Python would fail to write it again."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
