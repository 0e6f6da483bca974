"""``flask webhooks``: what an operator looks at and repairs."""

import json
import os
import secrets
import sys
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import click
from flask import current_app
from sqlalchemy import select

from app.core import text
from app.core.errors import Conflict
from app.database.session import reading, run_write, session
from app.projects.command_line import acting_human
from app.webhooks import deliveries, outbox, retrying
from app.webhooks.attempts import DeliveryOutcome
from app.webhooks.builders import webhook_json
from app.webhooks.connecting import Limits, limits
from app.webhooks.deliveries import Health, health_of
from app.webhooks.models import Webhook
from app.webhooks.outbox import Claimed
from app.webhooks.sending import send

# Receivers spoken to at a time.
BATCH = 16


def deliver_due(allowed: Limits, advance: Callable[[int], None]) -> Counter[str]:
    """Make an attempt for each entry that is due; how many succeeded and failed.

    Retries that become due meanwhile are made too; those of later are left to whoever comes next.
    A server may run beside it: each entry is in one pair of hands.
    """
    owner = f"{outbox.BY_COMMAND}{os.getpid()}-{secrets.token_hex(8)}"
    counts: Counter[str] = Counter(succeeded=0, failed=0)
    run_write(outbox.recover)
    with ThreadPoolExecutor(BATCH) as pool:
        while claimed := run_write(lambda: outbox.claim(owner, BATCH)):
            outcomes = list(pool.map(lambda one: send(one.attempt, allowed), claimed))
            run_write(partial(_complete, claimed, outcomes))
            for outcome in outcomes:
                counts["succeeded" if outcome.is_success else "failed"] += 1
            advance(len(claimed))
    return counts


def _complete(claimed: list[Claimed], outcomes: list[DeliveryOutcome]) -> None:
    outbox.complete_all(list(zip(claimed, outcomes, strict=True)))


@click.group("webhooks")
def webhooks() -> None:
    """Look after webhooks and their deliveries."""


@webhooks.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per webhook.")
def list_command(as_json: bool) -> None:
    """List all webhooks with how their last attempts went."""
    with reading():
        found = session.scalars(select(Webhook).order_by(Webhook.created_at)).all()
        health = health_of([one.id for one in found])
        due = outbox.count_due()
    for one in found:
        if as_json:
            click.echo(json.dumps(webhook_json(one) | _counts(health[one.id])))
        else:
            state = "active" if one.is_active else "inactive"
            types = ",".join(one.event_types)
            click.echo(f"{one.id}  {state:8}  {_said(health[one.id]):22}  {one.url}  {types}")
    if not as_json:
        waiting = "delivery is" if due == 1 else "deliveries are"
        click.echo(f"{len(found)} {text.named(len(found), 'webhooks')}; {due} {waiting} due.")


def _counts(health: Health) -> dict[str, Any]:
    return {"recent_attempts": health.attempts, "recent_successes": health.successes}


def _said(health: Health) -> str:
    return f"{health.successes} of {health.attempts} arrived" if health.attempts else "no attempts"


@webhooks.command("deliver-due")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def deliver_due_command(as_json: bool) -> None:
    """Deliver what is due now, in this process. The server may run meanwhile.

    For an installation whose server is down. Exit code 0 whatever the receivers answered: what
    failed has its row in the log and its retry.
    """
    with reading():
        total = outbox.count_due()
    with click.progressbar(length=total, label="Delivering", file=sys.stderr) as bar:
        counts = deliver_due(limits(current_app), bar.update)
    if as_json:
        click.echo(json.dumps(counts))
    else:
        click.echo(f"{counts['succeeded']} attempts succeeded, {counts['failed']} failed.")


@webhooks.command("retry")
@click.argument("delivery_ids", nargs=-1)
@click.option("--failed-of", "webhook_id", help="All events that this webhook did not get.")
@click.option("--as", "username", help="The human who retries; needed if there are several.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per attempt.")
def retry_command(
    delivery_ids: tuple[str, ...], webhook_id: str | None, username: str | None, as_json: bool
) -> None:
    """Send deliveries once more, by their ids or all that failed of a webhook.

    Exit codes: 0 all of them arrived, 1 some did not or there is no such delivery, 2 wrong usage.
    """
    if bool(delivery_ids) == bool(webhook_id):
        raise click.UsageError("Name deliveries, or a webhook with --failed-of.")
    with reading():
        actor = acting_human(username)
        if webhook_id:
            wanted = [(webhook_id, one) for one in deliveries.undelivered(actor, webhook_id)]
        else:
            found = [deliveries.find_any(one) for one in delivery_ids]
            wanted = [(one.webhook_id, one.id) for one in found]
    failed = 0
    with click.progressbar(length=len(wanted), label="Retrying", file=sys.stderr) as bar:
        for of_webhook, delivery_id in wanted:
            failed += not _retried(actor, of_webhook, delivery_id, as_json=as_json)
            bar.update(1)
    if failed:
        raise click.ClickException(f"{failed} of {len(wanted)} did not arrive.")


def _retried(actor: Any, webhook_id: str, delivery_id: str, *, as_json: bool) -> bool:
    try:
        row = retrying.retry_delivery(actor, webhook_id, delivery_id)
    except Conflict as error:
        click.echo(f"{delivery_id}: {error.message}", err=True)
        return True
    if as_json:
        click.echo(json.dumps(row))
    else:
        click.echo(f"{row['id']}: {row['status']} {row['error_message'] or row['http_status']}")
    return bool(row["status"] == "succeeded")
