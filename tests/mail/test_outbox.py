"""The outbox: mail is queued in the transaction that causes it, and arrives at least once."""

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, update

from app.core.clock import now_ms
from app.core.errors import Conflict
from app.database.session import reading, run_write, session
from app.jobs.sweeping import MAIL_MS, sweep
from app.mail import outbox
from app.mail.models import Mail, MailKind, MailState
from app.mail.outbox import LAST_ATTEMPT, LEASE_MS, Outcome
from app.mail.worker import MailWorker
from tests.accounts.helpers import API, new_human, write
from tests.support.serving import until

USERS = f"{API}/users"


def mails(app):
    with app.app_context(), reading():
        return session.scalars(select(Mail).order_by(Mail.id)).all()


def states(app):
    return [mail.state for mail in mails(app)]


def make_due(app):
    write(app, update(Mail).values(due_at=now_ms()))


def test_without_a_mail_server_no_row_is_written(app, admin):
    new_human(admin, "grace", email="grace@example.org")
    admin.patch(f"{USERS}/{admin.get(f'{API}/auth/me').json['id']}", json={"email": "a@x.org"})
    assert mails(app) == []


def test_it_is_written_with_its_cause_or_not_at_all(posting, admin):
    new_human(admin, "grace", email="grace@example.org")
    refused = admin.post(
        USERS,
        json={"username": "eve", "password": "correct horse battery", "email": "grace@example.org"},
    )
    assert refused.status_code == 409
    assert [mail.address for mail in mails(posting)] == ["grace@example.org"]

    def fail():
        outbox.enqueue(MailKind.CONFIRM, "x@example.org", None)
        raise Conflict("invariant_violation", "No.")

    with posting.app_context(), pytest.raises(Conflict):
        run_write(fail)
    assert len(mails(posting)) == 1


def test_a_greylisted_mail_is_sent_again_later_with_the_same_id(posting, admin, mailbox, deliver):
    mailbox.to_text = "451 Greylisted"
    new_human(admin, "grace", email="grace@example.org")
    deliver()
    (mail,) = mails(posting)
    assert (mail.state, mail.attempts, mail.error) == ("pending", 1, "451 Greylisted")
    assert mail.due_at > now_ms() + 50_000
    assert deliver() == 0
    mailbox.to_text = "250 OK"
    make_due(posting)
    deliver()
    assert states(posting) == ["sent"]
    assert mailbox.received[0]["Message-ID"] == f"<{mail.id}@mail.example.org>"


def test_a_refused_mail_is_not_sent_again(posting, admin, mailbox, deliver):
    mailbox.to_recipient = "550 No such user"
    new_human(admin, "grace", email="grace@example.org")
    deliver()
    (mail,) = mails(posting)
    assert (mail.state, mail.attempts, mail.error) == ("failed", 1, "550 No such user")
    make_due(posting)
    assert deliver() == 0


def test_after_the_last_attempt_it_has_failed(posting, admin, mailbox, deliver):
    mailbox.to_recipient = "451 Later"
    new_human(admin, "grace", email="grace@example.org")
    for _ in range(LAST_ATTEMPT + 2):
        make_due(posting)
        deliver()
    (mail,) = mails(posting)
    assert (mail.state, mail.attempts) == ("failed", LAST_ATTEMPT)


def test_a_process_that_dies_leaves_it_to_another(posting, admin, mailbox, deliver):
    new_human(admin, "grace", email="grace@example.org")
    with posting.app_context():
        (held,) = run_write(outbox.claim)
        assert run_write(outbox.claim) == []
    assert deliver() == 0
    write(posting, update(Mail).values(due_at=Mail.due_at - LEASE_MS))
    deliver()
    assert (states(posting), len(mailbox.received)) == (["sent"], 1)
    # The outcome recorded late by a dead sender changes nothing.
    with posting.app_context():
        run_write(lambda: outbox.finish([(held, Outcome("too late"))]))
    assert states(posting) == ["sent"]


def test_a_mail_that_was_sent_and_not_noted_comes_twice_with_one_id(
    posting, admin, mailbox, deliver, monkeypatch
):
    new_human(admin, "grace", email="grace@example.org")
    with monkeypatch.context() as patched:
        patched.setattr("app.mail.worker._end", lambda *_: None)
        deliver()
    write(posting, update(Mail).values(due_at=Mail.due_at - LEASE_MS))
    deliver()
    first, second = mailbox.received
    assert first["Message-ID"] == second["Message-ID"]
    assert first["Date"] == second["Date"]
    assert mailbox.raw[0].count(b"/mail/confirm/") == mailbox.raw[1].count(b"/mail/confirm/")


def test_processes_share_the_outbox(posting, admin):
    for number in range(12):
        new_human(admin, f"person{number}", email=f"person{number}@example.org")
    barrier = threading.Barrier(3)

    def take(_):
        barrier.wait()
        with posting.app_context():
            return [one.mail_id for one in run_write(lambda: outbox.claim(4))]

    with ThreadPoolExecutor(3) as pool:
        taken = [one for batch in pool.map(take, range(3)) for one in batch]
    assert len(taken) == len(set(taken)) == 12


def test_a_clock_that_was_set_back_keeps_no_mail(posting, admin, mailbox, deliver):
    new_human(admin, "grace", email="grace@example.org")
    write(posting, update(Mail).values(due_at=now_ms() + 400 * 24 * 3_600_000))
    deliver()
    assert states(posting) == ["sent"]


def test_the_worker_sends_at_once_and_stops(posting, admin, mailbox):
    worker = MailWorker(posting)
    worker.start()
    try:
        new_human(admin, "grace", email="grace@example.org")
        until(lambda: len(mailbox.received) == 1, seconds=4)
        until(lambda: states(posting) == ["sent"])
    finally:
        worker.stop()
    assert not worker._thread.is_alive()


def test_the_row_holds_neither_the_text_nor_the_token(posting, admin, mailbox, deliver):
    new_human(admin, "grace", email="grace@example.org")
    deliver()
    token = mailbox.text().split("/mail/confirm/")[1].split()[0]
    (mail,) = mails(posting)
    for column in mail.__table__.columns:
        assert token not in str(getattr(mail, column.name))
    assert len(token) >= 43


def test_the_log_lists_them_and_is_swept_after_a_month(posting, admin, mailbox, deliver):
    mailbox.to_recipient = "550 <script>No</script>"
    new_human(admin, "grace", email="grace@example.org")
    deliver()
    page = admin.get("/mail", headers={"Accept": "text/html"})
    assert "grace@example.org" in page.text
    assert "Failed" in page.text
    assert "550 &lt;script&gt;No" in page.text
    assert admin.get("/mail?cursor=x", headers={"Accept": "text/html"}).status_code == 303
    with posting.app_context():
        settings = posting.config["SETTINGS"]
        assert sweep("mails", settings, now=True).deleted == 0
        write(posting, update(Mail).values(finished_at=now_ms() - MAIL_MS - 1))
        new_human(admin, "hedy", email="hedy@example.org")
        pending = update(Mail).where(Mail.state == MailState.PENDING.value)
        write(posting, pending.values(created_at=now_ms() - MAIL_MS - 1))
        assert sweep("mails", settings, now=True).deleted == 2
    assert mails(posting) == []


@pytest.mark.parametrize("size", [25])
def test_the_log_is_read_page_by_page(posting, admin, monkeypatch, size):
    monkeypatch.setattr("app.mail.pages.PAGE_SIZE", 10)
    for number in range(size):
        with posting.app_context():
            run_write(lambda n=number: outbox.enqueue(MailKind.RESET, f"p{n}@example.org", None))
    path, seen = "/mail", []
    while path:
        text = admin.get(path, headers={"Accept": "text/html"}).text
        seen += [one for one in range(size) if f">p{one}@example.org<" in text]
        _, _, rest = text.partition('href="/mail?cursor=')
        path = f"/mail?cursor={rest.partition(chr(34))[0]}" if rest else ""
    assert sorted(seen) == list(range(size))
