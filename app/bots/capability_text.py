"""What a bot may do, said in words: for people who decide it."""

from collections.abc import Sequence

from app.accounts.models import BotMode


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
