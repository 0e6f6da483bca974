"""The rules of a bot's allowlist and rate limit, and the words for what a bot may do."""

from collections.abc import Iterable, Sequence
from typing import Any

from app.accounts.models import BotMode, User
from app.bots import messages
from app.core.errors import InvalidField
from app.projects.loaders import listed_projects

MIN_RATE = 1
MAX_RATE = 1_000_000


def may_do(username: str, mode: str, project_keys: Sequence[str], *, global_wiki: bool) -> str:
    """What a bot may do, in two sentences; without keys, in every project."""
    writes = mode == BotMode.WRITE
    return messages.may_do(
        username, project_keys, writes=writes, edits_global_wiki=writes and global_wiki
    )


def keys_of(project_ids: Iterable[str], projects: Iterable[dict[str, Any]]) -> list[str]:
    """The keys of an allowlist, given the JSON of live projects; deleted projects stay listed."""
    keys = {project["id"]: project["key"] for project in projects}
    return [keys.get(project_id, messages.DELETED_PROJECT) for project_id in project_ids]


def check_rate(value: int) -> None:
    """Raise InvalidField for a rate limit out of bounds."""
    if not MIN_RATE <= value <= MAX_RATE:
        raise InvalidField(
            "rate_limit_per_minute",
            "out_of_range",
            messages.rate_limit_invalid(MIN_RATE, MAX_RATE),
        )


def new_allowlist(user: User, project_ids: list[str]) -> list[str]:
    """The checked allowlist of a PATCH; the current one if only the order differs."""
    current = user.project_ids or []
    new = listed_projects(project_ids, already=current)
    return current if set(new) == set(current) else new
