"""``flask webhooks``: listing webhooks, delivering what is due, and retrying."""

import json
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import click
from flask import current_app
from sqlalchemy import select

from app.core import text
from app.core.actor import Actor
from app.core.errors import Conflict
from app.database.session import reading, run_write, session
from app.projects.command_line import acting_human
from app.webhooks import deliveries, manual_delivery, messages, outbox
from app.webhooks.connecting import Limits, limits
from app.webhooks.deliveries import Health, health_of
from app.webhooks.models import Webhook
from app.webhooks.sending import send
from app.webhooks.service import webhook_json

# The most attempts at the same time.
BATCH = 16


def deliver_due(allowed: Limits, advance: Callable[[int], None]) -> Counter[str]:
    """Make an attempt for each due entry; returns the counts of ``succeeded`` and ``failed``.

    Includes retries that become due in the meantime. A server may run at the same time, because a
    claim is exclusive.
    """
    owner = f"{outbox.BY_COMMAND}{os.getpid()}-{secrets.token_hex(8)}"
    counts: Counter[str] = Counter(succeeded=0, failed=0)
    run_write(outbox.recover)
    with ThreadPoolExecutor(BATCH) as pool:
        while claimed := run_write(lambda: outbox.claim(owner, BATCH)):
            outcomes = pool.map(lambda entry: send(entry.attempt, allowed), claimed)
            results = list(zip(claimed, outcomes, strict=True))
            run_write(partial(outbox.complete_all, results))
            for _, outcome in results:
                counts["succeeded" if outcome.is_success else "failed"] += 1
            advance(len(claimed))
    return counts


@click.group("webhooks")
def webhooks() -> None:
    """Manage webhooks and their deliveries."""


@webhooks.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per webhook.")
def list_command(as_json: bool) -> None:
    """List all webhooks with the results of their last attempts."""
    with reading():
        rows = session.scalars(select(Webhook).order_by(Webhook.created_at)).all()
        health = health_of([row.id for row in rows])
        due = outbox.count_due()
    for row in rows:
        click.echo(_line(row, health[row.id], as_json=as_json))
    if not as_json:
        number = len(rows)
        click.echo(messages.webhooks_and_due(number, text.pluralize(number, "webhooks"), due))


def _line(webhook: Webhook, health: Health, *, as_json: bool) -> str:
    if as_json:
        counts = {"recent_attempts": health.attempts, "recent_successes": health.successes}
        return json.dumps(webhook_json(webhook) | counts)
    state = "active" if webhook.is_active else "inactive"
    attempts = messages.NO_ATTEMPTS
    if health.attempts:
        attempts = messages.delivered_of(health.successes, health.attempts)
    types = ",".join(webhook.event_types)
    return f"{webhook.id}  {state:8}  {attempts:22}  {webhook.form:10}  {webhook.url}  {types}"


@webhooks.command("deliver-due")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def deliver_due_command(as_json: bool) -> None:
    """Deliver due events now, in this process. The server can keep running.

    Use this while the server is down. Exits with 0 even if deliveries fail: they are logged and
    retried.
    """
    with reading():
        total = outbox.count_due()
    with click.progressbar(length=total, label=messages.DELIVERING, file=sys.stderr) as bar:
        counts = deliver_due(limits(current_app), bar.update)
    if as_json:
        click.echo(json.dumps(counts))
    else:
        click.echo(
            messages.attempts_made(text.counted(counts["succeeded"], "attempts"), counts["failed"])
        )


@webhooks.command("retry")
@click.argument("delivery_ids", nargs=-1)
@click.option("--failed-of", "webhook_id", help="All events that failed for this webhook.")
@click.option("--as", "username", help="The person who retries. Required if there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per attempt.")
def retry_command(
    delivery_ids: tuple[str, ...], webhook_id: str | None, username: str | None, as_json: bool
) -> None:
    """Retry deliveries by ID, or all failed ones of a webhook.

    Exit codes: 0 all succeeded, 1 some failed or do not exist, 2 wrong usage.
    """
    if bool(delivery_ids) == bool(webhook_id):
        raise click.UsageError(messages.SPECIFY_DELIVERIES)
    with reading():
        actor = acting_human(username)
        if webhook_id:
            ids = deliveries.undelivered(actor, webhook_id)
            chosen = [(webhook_id, delivery_id) for delivery_id in ids]
        else:
            rows = [deliveries.find(delivery_id) for delivery_id in delivery_ids]
            chosen = [(row.webhook_id, row.id) for row in rows]
    failed = 0
    with click.progressbar(length=len(chosen), label=messages.RETRYING, file=sys.stderr) as bar:
        for of_webhook, delivery_id in chosen:
            failed += not _retry(actor, of_webhook, delivery_id, as_json=as_json)
            bar.update(1)
    if failed:
        raise click.ClickException(messages.failed_of(failed, len(chosen)))


def _retry(actor: Actor, webhook_id: str, delivery_id: str, *, as_json: bool) -> bool:
    """Retry a delivery and print its outcome; returns whether it arrived."""
    try:
        row = manual_delivery.retry_delivery(actor, webhook_id, delivery_id)
    except Conflict as error:
        click.echo(messages.delivery_refused(delivery_id, error.message), err=True)
        return True
    if as_json:
        click.echo(json.dumps(row))
    else:
        click.echo(
            messages.delivery_ended(
                row["id"], row["status"], row["error_message"] or row["http_status"]
            )
        )
    return bool(row["status"] == "succeeded")
