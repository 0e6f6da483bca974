"""Options that import commands share."""

import json
from pathlib import Path
from typing import Any

import click

from app.importing import messages

NAMED_USERS = click.option(
    "--user",
    "known",
    multiple=True,
    metavar="NAME=USERNAME",
    help="Username for a name in the file that is neither a username nor a display name.",
)


def pairs(values: tuple[str, ...], option: str) -> dict[str, str]:
    """Parse values such as ``title=Summary`` into a dictionary; raises BadParameter."""
    found = {}
    for pair in values:
        left, equals, right = pair.partition("=")
        if not equals or not left.strip() or not right.strip():
            raise click.BadParameter(messages.takes_pairs(option, pair))
        found[left.strip()] = right.strip()
    return found


def json_pairs(file: Path, meaning: str) -> dict[str, str]:
    """Read a JSON file with an object of texts; raises BadParameter."""
    try:
        found: Any = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise click.BadParameter(messages.no_valid_json(file)) from error
    if not isinstance(found, dict) or not all(isinstance(value, str) for value in found.values()):
        raise click.BadParameter(messages.not_an_object_of(file, meaning))
    return found


def named_users(given: tuple[str, ...], file: Path | None) -> dict[str, str]:
    """Usernames by name in the other tracker, from ``--users`` and ``--user``."""
    known = json_pairs(file, messages.NAMES_AND_USERNAMES) if file is not None else {}
    return {**known, **pairs(given, "--user")}
