"""What a bot's allowlist and rate limit may be, and the words for what a bot may do."""

from collections.abc import Sequence

from sqlalchemy import select

from app.accounts.models import BotMode, User
from app.core import text
from app.core.errors import InvalidField
from app.database.session import session
from app.projects.models import Project


def may_do(username: str, mode: str, places: Sequence[str], *, global_wiki: bool) -> str:
    """Two sentences; without places, it is every project."""
    writes = mode == BotMode.WRITE
    verb = "read and write" if writes else "read"
    where = ", ".join(places) if places else "every project, also future ones"
    wiki = "may" if writes and global_wiki else "may not"
    return (
        f"{username} may {verb} tickets, comments, wiki pages and notes in {where}. "
        f"It {wiki} edit global wiki pages."
    )


LOWEST_RATE = 1
HIGHEST_RATE = 1_000_000
LONGEST_ALLOWLIST = 500


def rate(value: int) -> int:
    """The rate limit, if it is within bounds; raises InvalidField."""
    if not LOWEST_RATE <= value <= HIGHEST_RATE:
        raise InvalidField(
            "rate_limit_per_minute",
            "out_of_range",
            f"rate_limit_per_minute is {LOWEST_RATE} to {HIGHEST_RATE}.",
        )
    return value


def new_allowlist(user: User, project_ids: list[str]) -> list[str]:
    """The allowlist a PATCH asks for; the one there is, where only the order differs."""
    current = user.project_ids or []
    wanted = allowlist(project_ids, already=current)
    return current if set(wanted) == set(current) else wanted


def allowlist(project_ids: list[str], *, already: Sequence[str] = ()) -> list[str]:
    """The projects, each once; raises InvalidField where one does not exist.

    A deleted project counts as missing unless the list holds it already: lists keep those, so that
    none becomes empty, and so unlimited, by itself.
    """
    wanted = text.unique(project_ids)
    if len(wanted) > LONGEST_ALLOWLIST:
        raise InvalidField(
            "project_ids", "too_long", f"project_ids has at most {LONGEST_ALLOWLIST} entries."
        )
    if not wanted:
        return []
    live = session.scalars(
        select(Project.id).where(Project.id.in_(wanted), Project.deleted_at.is_(None))
    )
    unknown = set(wanted) - set(live) - set(already)
    if unknown:
        raise InvalidField("project_ids", "not_found", "project_ids names an unknown project.")
    return wanted
