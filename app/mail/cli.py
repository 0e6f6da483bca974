"""``flask mail test``: whether the mail server takes a message."""

import click

from app.core import ids
from app.http.current import current_settings
from app.mail import messages, outbox, writing
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
    settings = current_settings()
    if not outbox.is_on():
        raise click.ClickException(messages.OFF)
    if not address.isascii() or not address.isprintable() or address.count("@") != 1:
        raise click.UsageError(messages.SPECIFY_AN_ADDRESS)
    letter = Letter(
        subject=messages.test_subject(settings.app_name),
        heading=messages.TEST_HEADING,
        paragraphs=(messages.test_text(settings.app_name),),
        reason=messages.TEST_REASON,
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
        raise click.ClickException(messages.not_sent(outcome.error))
    click.echo(messages.sent(address))
