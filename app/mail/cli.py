"""``flask mail test``: whether the mail server takes a message."""

import click

from app.config import settings_at_hand
from app.core import ids
from app.mail import outbox, writing
from app.mail.outbox import HeldMail, Outcome
from app.mail.smtp import Addressed, send_all
from app.mail.writing import Letter


@click.group("mail")
def mail() -> None:
    """Check how mail is sent."""


@mail.command("test")
@click.argument("address")
def test(address: str) -> None:
    """Send a test message to an address now.

    Exit codes: 0 the server took it, 1 it did not, or SMTP_URL is not set.
    """
    settings = settings_at_hand()
    if not outbox.is_on():
        raise click.ClickException("Mail is off. Set SMTP_URL and MAIL_FROM.")
    if not address.isascii() or not address.isprintable() or address.count("@") != 1:
        raise click.UsageError("Specify an address such as ada@example.org.")
    letter = Letter(
        subject=f"Test message from {settings.app_name}",
        heading="It works",
        paragraphs=(f"{settings.app_name} can send mail through your server.",),
        reason="Sent by flask mail test.",
    )
    mail_id = ids.new_id()
    outcomes: list[Outcome] = []
    send_all(
        [
            Addressed(
                HeldMail(mail_id, 1), address, writing.message(letter, mail_id, address, settings)
            )
        ],
        settings,
        lambda _, outcome: outcomes.append(outcome),
    )
    (outcome,) = outcomes
    if outcome.error is not None:
        raise click.ClickException(f"Not sent: {outcome.error}")
    click.echo(f"The server took the message for {address}.")
