"""The mail worker of a process: one thread, because all mail uses one server."""

import logging
import threading
from collections.abc import Callable

from flask import Flask

from app.config import Settings
from app.core.errors import Unavailable
from app.core.ids import request_id
from app.database.session import reading, run_write, session
from app.mail import messages, outbox, writing
from app.mail.models import Mail
from app.mail.outbox import HeldMail, Outcome
from app.mail.smtp import UNTRIED, Addressed, send_all

log = logging.getLogger(__name__)

# Other processes fill the outbox without waking this worker, and retries become due.
POLL_SECONDS = 5.0
# How long ``stop`` waits for the mail that is being sent.
STOP_SECONDS = 5.0
DROPPED = Outcome(is_dropped=True)


class MailWorker:
    """Sends mails that are due until it is stopped."""

    def __init__(self, app: Flask) -> None:
        self._app = app
        self._stopping = threading.Event()
        self._wake = threading.Event()
        self._thread = threading.Thread(target=self._run, name="mail-worker", daemon=True)

    def start(self) -> None:
        outbox.outbox_filled.listen(self._wake.set)
        self._thread.start()

    def stop(self) -> None:
        """Claim nothing more and wait up to STOP_SECONDS; the next process sends what is left."""
        outbox.outbox_filled.forget(self._wake.set)
        self._stopping.set()
        self._wake.set()
        self._thread.join(STOP_SECONDS)

    def _run(self) -> None:
        with self._app.app_context():
            request_id.set(None)
            while not self._stopping.is_set():
                self._wake.clear()
                try:
                    while send_due(self._app.config["SETTINGS"], self._stopping.is_set):
                        pass
                except Unavailable:
                    log.warning("mail waits: the database is unavailable")
                except Exception:
                    log.exception("the mail worker failed a turn")
                self._wake.wait(POLL_SECONDS)


def send_due(settings: Settings, is_stopping: Callable[[], bool] = lambda: False) -> int:
    """Claim and send the mails that are due; returns how many. Opens its own units of work."""
    with reading():
        if is_stopping() or not outbox.has_due():
            return 0
    claimed = run_write(outbox.claim)
    ready: list[Addressed] = []
    for one in claimed:
        addressed = _compose(one, settings)
        if isinstance(addressed, Outcome):
            _end(one, addressed)
        else:
            ready.append(addressed)
    send_all(ready, settings, _end)
    return len(claimed)


def _compose(claimed: HeldMail, settings: Settings) -> Addressed | Outcome:
    """The message of a mail, checked and written now, or the outcome if there is none."""
    try:
        with reading():
            mail = session.get(Mail, claimed.mail_id)
            letter = writing.write(mail) if mail is not None else None
            if mail is None or letter is None:
                return DROPPED
            message = writing.message(letter, mail.id, mail.address, settings)
            return Addressed(claimed, mail.address, message)
    except Unavailable:
        return UNTRIED
    except Exception as problem:
        log.exception("a mail could not be written", extra={"mail": claimed.mail_id})
        return Outcome(messages.internal_error(type(problem).__name__), is_transient=True)


def _end(claimed: HeldMail, outcome: Outcome) -> None:
    """Record how an attempt ended; if that fails, the mail is due again after its lease."""
    try:
        run_write(lambda: outbox.finish([(claimed, outcome)]))
    except Unavailable:
        log.warning("the end of a mail was not noted: the database is unavailable")
    if outcome.error is not None:
        log.warning("a mail was not sent", extra={"mail": claimed.mail_id, "error": outcome.error})
