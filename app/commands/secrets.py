"""flask rotate-secret-key, and whether the SECRET_KEY at hand opens what was sealed."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click
from flask import current_app
from sqlalchemy import select

from app.commands.stopped import server_stopped
from app.config import settings_at_hand
from app.core.clock import iso
from app.database import idempotency
from app.database.session import reading, run_write, session
from app.environment import replace_kept_secret
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook


def sealed_for_good() -> int:
    """How many webhooks have a secret that no key at hand opens."""
    return sum(webhooks.opened(one) is None for one in session.scalars(select(Webhook)))


def under_previous_key() -> int:
    """How many webhooks have a secret that SECRET_KEY_PREVIOUS alone opens."""
    return sum(webhooks.under_previous_key(one) for one in session.scalars(select(Webhook)))


@click.command("rotate-secret-key")
def rotate_secret_key() -> None:
    """Seal what is stored under a new SECRET_KEY.

    A key that Docket keeps itself is replaced, while the server is stopped. A key of your own is
    replaced by you: set SECRET_KEY to the new one and SECRET_KEY_PREVIOUS to the old one, restart
    every server, and run this. Interrupted, it goes on when it is run again.
    """
    settings = settings_at_hand()
    kept_in = settings.key_kept_in
    with server_stopped(settings) if kept_in else nullcontext():
        if kept_in is not None:
            with reading():
                unfinished = under_previous_key()
            if not unfinished:
                _make_new(kept_in, settings.secret_key)
        elif not settings.secret_key_previous:
            raise click.ClickException(
                "Set SECRET_KEY to a new key and SECRET_KEY_PREVIOUS to the present one, restart "
                "every server, and run this again."
            )
        _seal_all_anew()


def _make_new(kept_in: Path, present: str) -> None:
    made = replace_kept_secret(kept_in)
    current_app.config.update(SECRET_KEY=made, SECRET_KEY_FALLBACKS=[present])


def _seal_all_anew() -> None:
    with reading():
        every = list(session.scalars(select(Webhook.id).order_by(Webhook.id)))
    closed = 0
    with click.progressbar(every, label="Sealing webhook secrets", file=sys.stderr) as bar:
        for webhook_id in bar:
            closed += not run_write(partial(webhooks.seal_anew, webhook_id))
    click.echo(f"Webhook secrets under the new key: {len(every) - closed}")
    if closed:
        click.echo(f"Opened by neither key: {closed}. Rotate the secrets of those webhooks.")
    with reading():
        expiry = idempotency.last_expiry_under_other_keys()
    if expiry is not None:
        click.echo(f"Keep the previous key until {iso(expiry)}: answers to retries need it.")
    else:
        click.echo("The previous key is needed no more.")
