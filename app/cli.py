"""Attaching all commands to ``flask``.

A command runs in the application's context. The events of one run share a request id, and a refusal
is one line with exit code 1.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from flask import Flask
from flask.cli import with_appcontext
from sqlalchemy.exc import OperationalError, ProgrammingError

from app import messages, registry
from app.core import ids
from app.core.errors import DomainError, Unavailable
from app.core.ids import request_id
from app.database.failures import outage_in_words
from app.serving.demo import demo_command
from app.serving.parent import serve_command


def install(app: Flask) -> None:
    app.cli.add_command(serve_command)
    app.cli.add_command(demo_command)
    for command in registry.commands():
        _prepare(command)
        app.cli.add_command(command)


def _prepare(command: click.Command) -> None:
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            _prepare(inner)
    elif command.callback is not None:
        command.callback = _edge(command.callback)


def _is_garbled(value: str) -> bool:
    """Whether the argument was not UTF-8, so that Python holds its bytes as surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in value)


def _edge(callback: Callable[..., Any]) -> Callable[..., Any]:
    @with_appcontext
    @wraps(callback)
    def run(*args: Any, **kwargs: Any) -> Any:
        request_id.set(ids.new_id())
        for name, value in kwargs.items():
            if isinstance(value, str) and _is_garbled(value):
                raise click.UsageError(messages.not_utf8(name))
        try:
            return callback(*args, **kwargs)
        except Unavailable as error:
            raise click.ClickException(outage_in_words(error)) from error
        except DomainError as error:
            raise click.ClickException(error.message) from error
        except (OperationalError, ProgrammingError) as error:
            first_line = str(error.orig).partition("\n")[0]
            raise click.ClickException(messages.cannot_use_database(first_line)) from error

    return run
