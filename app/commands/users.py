"""flask users, and flask login-limits."""

import json
from functools import partial
from typing import Any

import click
from sqlalchemy import delete, select

from app.accounts import emails, invitations, names, passkeys, second_factor, user_refs
from app.accounts import users as verbs
from app.accounts.models import LoginBucket, User, UserType
from app.accounts.throttle import (
    LIMIT,
    SITE_LIMIT,
    WINDOW_MS,
    Bucket,
    buckets_of,
    is_address,
    site_of,
)
from app.commands import JSON_LINES, PAGE_SIZE, all_rows, messages, show_once
from app.core import text
from app.core.actor import SYSTEM
from app.core.clock import iso, now_ms
from app.database.session import reading, run_write, session
from app.http.current import current_settings
from app.sign_on import identities

PASSWORD = click.option(
    "--password",
    prompt=True,
    hide_input=True,
    confirmation_prompt=True,
    help="At least 12 characters. Omit it to be asked, which keeps it out of process lists.",
)


def _address(_context: Any, _option: Any, value: str | None) -> str | None:
    """An address, bare of brackets; of IPv6 also as its /64, the network that counts."""
    if value is None:
        return None
    typed = value.strip()
    address = typed.removesuffix("/64").strip("[]")
    if not is_address(address) or (typed.endswith("/64") and site_of(address) is None):
        raise click.BadParameter(messages.not_an_address(value))
    return address


USERNAME = click.option("--username", help="The limit of this username.")
ADDRESS = click.option(
    "--address", callback=_address, help="The limits of this address, or of this /64 of IPv6."
)


@click.group("users")
def users() -> None:
    """Manage people."""


def _human_id(username: str) -> str:
    with reading():
        user_id = session.scalars(
            select(User.id).where(User.username == username, User.type == UserType.HUMAN.value)
        ).first()
    if user_id is None:
        raise click.ClickException(messages.person_not_found(username))
    return user_id


def _update(username: str, **fields: Any) -> None:
    verbs.update_user(SYSTEM, _human_id(username), settings=current_settings(), **fields)


@users.command("list")
@JSON_LINES
def list_users(as_json: bool) -> None:
    """List people and bots."""
    for user in all_rows(lambda cursor: verbs.list_users(SYSTEM, limit=PAGE_SIZE, cursor=cursor)):
        state = "active" if user["is_active"] else "inactive"
        line = f"{user['username']:<32} {user['type']:<6} {state:<9} {user['display_name']}"
        click.echo(json.dumps(user) if as_json else line)


@users.command("create")
@click.argument("username")
@click.option("--display-name", help="The display name. Default: the username.")
@click.option("--email", help="The email address.")
@PASSWORD
def create(username: str, display_name: str | None, email: str | None, password: str) -> None:
    """Add a person."""
    user = verbs.create_user(
        SYSTEM,
        username=username,
        password=password,
        display_name=display_name,
        email=email,
        settings=current_settings(),
    )
    click.echo(messages.created(user.username))


@users.command("reset-password")
@click.argument("username")
@PASSWORD
def reset_password(username: str, password: str) -> None:
    """Set a new password and end all sessions of a person."""
    _update(username, password=password)
    click.echo(messages.password_set(username))
    user_id = _human_id(username)
    with reading():
        has_passkeys = passkeys.usable_at(current_settings(), user_id) is not None
        has_logins = bool(identities.list_of(SYSTEM, user_id))
    if has_passkeys:
        click.echo(messages.passkeys_stay(username))
    if has_logins and current_settings().oidc_issuer:
        click.echo(messages.logins_stay(username))


@users.command("set-email")
@click.argument("username")
@click.argument("email", required=False)
@click.option("--confirmed", is_flag=True, help="Mark the address as confirmed.")
def set_email(username: str, email: str | None, confirmed: bool) -> None:
    """Set the email address of a person, or remove it."""
    if confirmed and not email:
        raise click.UsageError(messages.CONFIRMED_NEEDS_ADDRESS)
    _update(username, email=email, knows_email=confirmed)
    if confirmed:
        # An unchanged address is confirmed too.
        user_id = _human_id(username)
        run_write(lambda: emails.confirm(SYSTEM, user_refs.find_human(user_id)))
    click.echo(messages.email_changed(username, is_set=bool(email)))


@users.command("link")
@click.argument("username")
def link(username: str) -> None:
    """Show a one-time link with which a person sets a password and logs in.

    It works where PASSWORD_LOGIN is off, too.
    """
    user_id = _human_id(username)
    issued = run_write(lambda: invitations.issue_link(SYSTEM, user_id, by_operator=True))
    show_once(
        f"{current_settings().base_url}/password/{issued.token}",
        partial(messages.link_lost, username),
    )


@users.command("disable-totp")
@click.argument("username")
def disable_totp(username: str) -> None:
    """Turn off the two-factor authentication of a person."""
    user_id = _human_id(username)
    run_write(lambda: second_factor.reset(SYSTEM, user_id))
    click.echo(messages.totp_turned_off(username))


@users.command("passkeys")
@click.argument("username")
@JSON_LINES
def list_passkeys(username: str, as_json: bool) -> None:
    """List the passkeys of a person."""
    user_id = _human_id(username)
    for one in all_rows(
        lambda cursor: passkeys.list_of(SYSTEM, user_id, limit=PAGE_SIZE, cursor=cursor)
    ):
        used = one["last_used_at"] or messages.NEVER_USED
        click.echo(json.dumps(one) if as_json else f"{one['id']} {used:<24} {one['name']}")


@users.command("remove-passkeys")
@click.argument("username")
@click.argument("passkey_id", required=False)
def remove_passkeys(username: str, passkey_id: str | None) -> None:
    """Remove all passkeys of a person, or one."""
    user_id = _human_id(username)
    if passkey_id is not None:
        run_write(lambda: passkeys.remove_of(SYSTEM, user_id, passkey_id))
    count = 1 if passkey_id else run_write(lambda: passkeys.remove_all_of(SYSTEM, user_id))
    click.echo(messages.removed_of(count, text.pluralize(count, "passkeys"), username))


@users.command("logins")
@click.argument("username")
@JSON_LINES
def list_logins(username: str, as_json: bool) -> None:
    """List the logins at the identity provider that are linked to a person."""
    user_id = _human_id(username)
    with reading():
        linked = identities.list_of(SYSTEM, user_id)
    for one in linked:
        created_at = iso(one.created_at)
        shown = {"id": one.id, "name": one.name, "issuer": one.issuer, "created_at": created_at}
        line = f"{one.id} {created_at} {one.issuer} {one.name}"
        click.echo(json.dumps(shown) if as_json else line)


@users.command("remove-logins")
@click.argument("username")
@click.argument("login_id", required=False)
def remove_logins(username: str, login_id: str | None) -> None:
    """Remove all linked logins of a person, or one."""
    user_id = _human_id(username)
    count = run_write(lambda: identities.remove_of(SYSTEM, user_id, login_id))
    noun = f"linked {text.pluralize(count, 'logins')}"
    click.echo(messages.removed_of(count, noun, username))


@users.command("deactivate")
@click.argument("username")
def deactivate(username: str) -> None:
    """Deactivate a person. Their work is kept. One person must stay active."""
    _update(username, is_active=False)
    click.echo(messages.deactivated(username))


@users.command("activate")
@click.argument("username")
def activate(username: str) -> None:
    """Activate a person."""
    _update(username, is_active=True)
    click.echo(messages.activated(username))


@click.group("login-limits")
def login_limits() -> None:
    """Show and reset login limits.

    They are 5 attempts in 15 minutes per address and per username, and 20 per IPv6 /48.
    """


def _windows(username: str | None, address: str | None) -> dict[str, Bucket]:
    """The windows of a username and an address; the table holds only hashes of both."""
    key = current_settings().secret_key
    *by_address, by_name = buckets_of(key, address or "", names.looked_up(username or ""))
    windows = {}
    if address:
        windows[messages.address(address)] = by_address.pop()
        windows |= {messages.site(address): site for site in by_address}
    if username:
        windows[messages.username(username)] = by_name
    return windows


@login_limits.command("show")
@USERNAME
@ADDRESS
def show(username: str | None, address: str | None) -> None:
    """Show the counted attempts or, without a name, how many limits are reached."""
    moment = now_ms()
    with reading():
        if not (username or address):
            rows = session.scalars(select(LoginBucket)).all()
            full = sum(_is_full(len(_live(row, moment))) for row in rows)
            click.echo(messages.limits_reached(full, text.counted(len(rows), "limits")))
            return
        for name, window in _windows(username, address).items():
            row = session.get(LoginBucket, window.key_hash)
            hits = _live(row, moment) if row is not None else []
            is_full = len(hits) >= window.limit
            until = iso(hits[-window.limit] + WINDOW_MS) if is_full else None
            click.echo(messages.attempts(name, len(hits), window.limit, until))


def _is_full(hits: int) -> bool:
    """Whether a row's limit is reached. Rows lack their kind, but only a /48 exceeds LIMIT hits.

    A /48 with exactly LIMIT hits cannot be told from a full address, and counts as full.
    """
    return hits == LIMIT or hits >= SITE_LIMIT


def _live(row: LoginBucket, moment: int) -> list[int]:
    return sorted(int(at) for at, _ in row.hits if int(at) > moment - WINDOW_MS)


@login_limits.command("clear")
@USERNAME
@ADDRESS
@click.option("--all", "everyone", is_flag=True, help="All limits.")
def clear(username: str | None, address: str | None, everyone: bool) -> None:
    """Reset limits so that attempts are allowed again."""
    if not (username or address or everyone):
        raise click.UsageError(messages.SPECIFY_WHOSE_LIMITS)
    statement = delete(LoginBucket)
    if not everyone:
        keys = [window.key_hash for window in _windows(username, address).values()]
        statement = statement.where(LoginBucket.key_hash.in_(keys))
    returning = statement.returning(LoginBucket.key_hash)
    count = run_write(lambda: len(session.execute(returning).all()))
    click.echo(messages.limits_reset(text.counted(count, "limits")))
