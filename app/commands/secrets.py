"""flask rotate-secret-key, and counting the stored secrets that a key decrypts."""

import sys
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import click
from flask import current_app
from sqlalchemy import Select, select

from app.accounts import second_factor
from app.accounts.models import SecondFactor
from app.audit import checkpoints
from app.audit.checkpoints import AuditCheckpoint
from app.commands import messages, server_stopped
from app.core.clock import iso
from app.database import idempotency
from app.database.encryption import SecretColumn
from app.database.session import reading, run_write, session
from app.environment import replace_kept_secret
from app.http.current import current_settings
from app.integrations import service as integrations
from app.integrations.models import Integration
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook

# A second factor that waits for its first code is not worth keeping: it is set up again.
_ENABLED = SecondFactor.enabled_at.is_not(None)


def lost_secrets() -> int:
    """How many webhooks and integrations have a secret that neither configured key decrypts."""
    of_webhooks = [webhooks.SECRETS.decrypt(one) for one in session.scalars(select(Webhook))]
    of_integrations = [
        integrations.SECRETS.decrypt(one) for one in session.scalars(select(Integration))
    ]
    return (of_webhooks + of_integrations).count(None)


def lost_second_factors() -> int:
    """How many people have a second factor whose secret neither configured key decrypts."""
    factors = session.scalars(select(SecondFactor).where(_ENABLED))
    return sum(second_factor.SECRETS.decrypt(one) is None for one in factors)


def under_previous_key() -> int:
    """How many stored secrets only SECRET_KEY_PREVIOUS decrypts."""
    of_webhooks = session.scalars(select(Webhook))
    of_integrations = session.scalars(select(Integration))
    of_people = session.scalars(select(SecondFactor).where(_ENABLED))
    return (
        sum(map(webhooks.SECRETS.is_under_previous_key, of_webhooks))
        + sum(map(integrations.SECRETS.is_under_previous_key, of_integrations))
        + sum(map(second_factor.SECRETS.is_under_previous_key, of_people))
    )


@click.command("rotate-secret-key")
def rotate_secret_key() -> None:
    """Encrypt stored secrets under a new SECRET_KEY.

    If Docket generated the key, stop the server first; the key is replaced. If you set the key, set
    SECRET_KEY to the new one and SECRET_KEY_PREVIOUS to the old one, restart every server, then run
    this. Run it again if it is interrupted.
    """
    settings = current_settings()
    kept_in = settings.key_kept_in
    with server_stopped(settings) if kept_in else nullcontext():
        if kept_in is not None:
            with reading():
                unfinished = under_previous_key()
            if not unfinished:
                _replace_key(kept_in, settings.secret_key)
        elif not settings.secret_key_previous:
            raise click.ClickException(messages.SET_BOTH_KEYS)
        _reencrypt_all()


def _replace_key(kept_in: Path, previous: str) -> None:
    key = replace_kept_secret(kept_in)
    current_app.config.update(SECRET_KEY=key, SECRET_KEY_FALLBACKS=[previous])


def _sign_anew() -> None:
    """Sign this installation's checkpoints again, with the key derived from the new SECRET_KEY."""
    secret_key = current_app.config["SECRET_KEY"]
    previous = current_app.config["SECRET_KEY_FALLBACKS"]
    own = {checkpoints.public_key(one) for one in (secret_key, *previous)}
    with reading():
        statement = select(AuditCheckpoint.sequence).order_by(AuditCheckpoint.sequence)
        sequences = list(session.scalars(statement))

    def sign(sequence: int) -> None:
        checkpoint = session.get_one(AuditCheckpoint, sequence)
        # A checkpoint that another key signed must not appear to be signed by this installation.
        if checkpoint.public_key in own and checkpoints.is_signed(checkpoint):
            checkpoints.sign(checkpoint, secret_key)
            session.flush()

    with click.progressbar(sequences, label=messages.SIGNING, file=sys.stderr) as bar:
        for sequence in bar:
            run_write(partial(sign, sequence))


def _encrypt_anew(rows: Select[str], label: str, secrets: SecretColumn) -> tuple[int, int]:
    """Reencrypt these rows' secrets; how many there are, and how many no key decrypts."""
    with reading():
        found = sorted(session.scalars(rows))
    lost = 0
    with click.progressbar(found, label=label, file=sys.stderr) as bar:
        for row_id in bar:
            lost += not run_write(partial(secrets.encrypt_anew, row_id))
    return len(found), lost


def _reencrypt_all() -> None:
    count, lost = _encrypt_anew(select(Webhook.id), messages.ENCRYPTING_WEBHOOKS, webhooks.SECRETS)
    click.echo(messages.webhooks_encrypted(count - lost))
    if lost:
        click.echo(messages.webhooks_lost(lost))
    _, unread = _encrypt_anew(
        select(Integration.id), messages.ENCRYPTING_INTEGRATIONS, integrations.SECRETS
    )
    if unread:
        click.echo(messages.integrations_lost(unread))
    count, lost = _encrypt_anew(
        select(SecondFactor.user_id).where(_ENABLED),
        messages.ENCRYPTING_FACTORS,
        second_factor.SECRETS,
    )
    click.echo(messages.factors_encrypted(count - lost))
    if lost:
        click.echo(messages.factors_lost(lost))
    _sign_anew()
    with reading():
        expiry = idempotency.last_expiry_under_other_keys()
    if expiry is not None:
        click.echo(messages.keep_previous_key(iso(expiry)))
    else:
        click.echo(messages.PREVIOUS_KEY_NOT_NEEDED)
