"""flask login-limits show|clear: who is kept from logging in, and letting them try again."""

import click
from sqlalchemy import delete, select

from app.accounts import names
from app.accounts.models import LoginBucket
from app.accounts.throttle import LIMIT, SITE_LIMIT, WINDOW_MS, Bucket, buckets_of
from app.config import settings_at_hand
from app.core.clock import iso, now_ms
from app.database.session import reading, run_write, session


@click.group("login-limits")
def login_limits() -> None:
    """Look into the limits of login: 5 attempts in 15 minutes for an address and for a username,
    and 20 for a /48 of IPv6.
    """


WHOM = (
    click.option("--username", help="The username whose window is meant."),
    click.option("--address", help="The address whose windows are meant."),
)


def _windows(username: str | None, address: str | None) -> dict[str, Bucket]:
    """The windows that are meant; the table holds no names, so they have to be told."""
    settings = settings_at_hand()
    counted = names.looked_up(username or "")
    *by_address, by_name = buckets_of(settings.secret_key, address or "", counted)
    found = {}
    if address:
        found[f"address {address}"] = by_address.pop()
        found |= {f"the /48 of {address}": site for site in by_address}
    if username:
        found[f"username {username}"] = by_name
    return found


@login_limits.command("show")
@WHOM[0]
@WHOM[1]
def show(username: str | None, address: str | None) -> None:
    """Show how full the windows are; without a name, how many are full."""
    moment = now_ms()
    with reading():
        if not (username or address):
            rows = session.scalars(select(LoginBucket)).all()
            full = sum(_is_full(len(_live(row, moment))) for row in rows)
            click.echo(f"{full} full of {len(rows)} windows")
            return
        for name, window in _windows(username, address).items():
            row = session.get(LoginBucket, window.key_hash)
            hits = _live(row, moment) if row is not None else []
            is_full = len(hits) >= window.limit
            until = f", open again at {iso(hits[-window.limit] + WINDOW_MS)}" if is_full else ""
            click.echo(f"{name}: {len(hits)} of {window.limit}{until}")


def _is_full(hits: int) -> bool:
    """A row does not say what its window is of; one with more than LIMIT is of a /48."""
    return hits == LIMIT or hits >= SITE_LIMIT


def _live(row: LoginBucket, moment: int) -> list[int]:
    return sorted(int(at) for at, _ in row.hits if int(at) > moment - WINDOW_MS)


@login_limits.command("clear")
@WHOM[0]
@WHOM[1]
@click.option("--all", "everyone", is_flag=True, help="All windows.")
def clear(username: str | None, address: str | None, everyone: bool) -> None:
    """Empty windows, so that their attempts count no more."""
    if not (username or address or everyone):
        raise click.UsageError("Say --username, --address or --all.")
    statement = delete(LoginBucket)
    if not everyone:
        keys = [window.key_hash for window in _windows(username, address).values()]
        statement = statement.where(LoginBucket.key_hash.in_(keys))

    def work() -> int:
        done = session.execute(statement.returning(LoginBucket.key_hash)).all()
        return len(done)

    click.echo(f"{run_write(work)} emptied")
