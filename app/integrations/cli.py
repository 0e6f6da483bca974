"""``flask integrations``: listing integrations."""

import json

import click

from app.core import text
from app.database.session import reading, session
from app.http.current import current_settings
from app.integrations import messages
from app.integrations.models import Integration
from app.integrations.service import SHOWN, integration_json


@click.group("integrations")
def integrations() -> None:
    """Show integrations with code hosts."""


@integrations.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per integration.")
def list_command(as_json: bool) -> None:
    """List all integrations with the times of their last deliveries."""
    base_url = current_settings().base_url
    with reading():
        rows = session.execute(SHOWN.order_by(Integration.created_at)).all()
        listed = [integration_json(row, base_url) for row in rows]
    for one in listed:
        if as_json:
            click.echo(json.dumps(one))
        else:
            last = one["last_delivery_at"] or messages.NO_DELIVERIES
            click.echo(f"{one['id']}  {one['forge']:8}  {last:24}  {one['name']}")
    if not as_json:
        click.echo(messages.listed(len(listed), text.pluralize(len(listed), "integrations")))
