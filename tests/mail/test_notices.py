"""Notices: unread news is mailed once, as each person chooses, and can be turned off."""

import re
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime

import pytest
from sqlalchemy import insert, update

from app.accounts.models import User
from app.audit.models import AuditEvent
from app.core.actor import Actor, ActorKind
from app.core.clock import DAY_MS, HOUR_MS, MINUTE_MS, now_ms
from app.core.errors import InvalidField
from app.database.session import db, run_write
from app.inbox import service as inbox
from app.notices import collecting, service
from app.notices.service import NoticeChoice, next_morning
from tests.accounts.helpers import write
from tests.mail.test_outbox import mails, states
from tests.support.story import events, make_ticket, ok, urgent

HTML = {"Accept": "text/html"}


def person(caller):
    return Actor(ActorKind.HUMAN, user_id=caller.user_id, username=caller.username)


@pytest.fixture
def choose(posting, cast):
    """Confirm a person's address and choose how often they get mail."""

    def run(caller, frequency, zone="UTC"):
        address = f"{caller.username}@example.org"
        values = {"email": address, "email_confirmed_at": now_ms()}
        write(posting, update(User).where(User.id == caller.user_id).values(**values))
        with posting.app_context():
            run_write(lambda: service.choose(person(caller), frequency=frequency, zone=zone))

    return run


@pytest.fixture
def ticket(posting, cast, choose):
    """A ticket of ada's, assigned to bo, who has chosen messages."""
    made = make_ticket(
        cast.ada, cast.open_project, "Fix the pump", assignee_user_id=cast.bo.user_id
    )
    choose(cast.bo, "messages")
    return made


@pytest.fixture
def collect(posting, monkeypatch):
    """Collect notices as of ``minutes`` from now; return how many mails were queued."""

    def run(minutes):
        with monkeypatch.context() as patched:
            patched.setattr(collecting, "now_ms", lambda: now_ms() + minutes * MINUTE_MS)
            with posting.app_context():
                return collecting.collect()

    return run


def comment(caller, ticket, body):
    return ok(caller.post(f"/tickets/{ticket['id']}/comments", {"body": body}), 201)


def test_what_is_unread_for_ten_minutes_is_mailed_once(
    posting, cast, ticket, collect, deliver, mailbox
):
    comment(cast.ada, ticket, "Is it **done** <b>yet</b>?")
    assert collect(9) == 0
    assert collect(11) == 1
    assert collect(12) == 0
    deliver()
    (message,) = mailbox.received
    assert message["To"] == "bo@example.org"
    assert message["Subject"] == f"{ticket['display_id']} Fix the pump"
    assert message["References"] == f"<{ticket['id']}@mail.example.org>"
    assert message["In-Reply-To"] == message["References"]
    assert "commented" in mailbox.text()
    assert "> Is it done <b>yet</b>?" in mailbox.text()
    assert "&lt;b&gt;yet" in mailbox.html()
    for said in (mailbox.text(), mailbox.html().partition("<body")[2]):
        assert said.count(message["Subject"]) == 1
        assert f"/tickets/{ticket['display_id']}" in said
    assert "created" not in mailbox.text()
    assert "because you watch, are assigned to, reported" in mailbox.text()


def test_a_second_mail_tells_what_is_new_and_joins_the_thread(
    posting, cast, ticket, collect, deliver, mailbox
):
    comment(cast.ada, ticket, "First")
    collect(11)
    deliver()
    # As if the first mail covered everything up to when it was written.
    write(posting, update(NoticeChoice).values(noticed_until=now_ms()))
    write(posting, update(mails(posting)[0].__class__).values(until=now_ms()))
    comment(cast.ada, ticket, "Second")
    collect(11)
    deliver()
    first, second = mailbox.received
    assert first["References"] == second["References"]
    assert first["Message-ID"] != second["Message-ID"]
    assert "Second" in mailbox.text()
    assert "First" not in mailbox.text()


def test_a_busy_bot_makes_one_mail_of_all_that_it_did(
    posting, cast, ticket, collect, deliver, mailbox
):
    for number in range(8):
        comment(cast.smith, ticket, f"Step {number}")
    collect(11)
    deliver()
    assert len(mailbox.received) == 1
    assert "(bot) commented" in mailbox.text()
    assert "Step 7" in mailbox.text()
    assert "and 3 more" in mailbox.text()


def read_in_inbox(cast, ticket, app):
    newest = events(app, event_type="comment.created")[-1].id
    with app.app_context():
        run_write(lambda: inbox.mark_ticket_read(person(cast.bo), ticket["id"], newest))


def mute(cast, ticket, app):
    ok(cast.bo.call("POST", f"//tickets/{ticket['display_id']}/mute", headers=HTML), 303)


def delete_ticket(cast, ticket, app):
    ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)


def switch_off(cast, ticket, app):
    with app.app_context():
        run_write(lambda: service.choose(person(cast.bo), frequency="off", zone="UTC"))


def deactivate(cast, ticket, app):
    ok(cast.ada.patch(f"/users/{cast.bo.user_id}", {"is_active": False}))


def change_address(cast, ticket, app):
    ok(cast.ada.patch(f"/users/{cast.bo.user_id}", {"email": "bo2@example.org"}))


AFTERWARDS = [read_in_inbox, mute, delete_ticket, switch_off, deactivate, change_address]


@pytest.mark.parametrize("happens", AFTERWARDS)
def test_it_is_judged_when_it_is_sent(posting, cast, ticket, collect, deliver, mailbox, happens):
    comment(cast.ada, ticket, "Secret plan")
    assert collect(11) == 1
    happens(cast, ticket, posting)
    deliver()
    assert not any("Secret plan" in mailbox.text(index) for index in range(len(mailbox.received)))
    assert states(posting)[0] == "dropped"


def test_a_comment_that_was_deleted_or_edited_is_not_quoted(
    posting, cast, ticket, collect, deliver, mailbox
):
    gone = comment(cast.ada, ticket, "Password is hunter2")
    edited = comment(cast.ada, ticket, "Call me at home")
    collect(11)
    ok(cast.ada.delete(f"/comments/{gone['id']}"), 204)
    ok(cast.ada.patch(f"/comments/{edited['id']}", {"body": "Call me later"}))
    deliver()
    assert "hunter2" not in mailbox.text()
    assert "Call me at home" not in mailbox.text()
    assert "Call me later" in mailbox.text()


def test_ones_own_doing_and_the_time_before_are_no_news(posting, cast, ticket, collect):
    comment(cast.bo, ticket, "Mine")
    assert collect(11) == 0
    # The assignment happened before bo chose messages.
    assert collect(30) == 0


def test_many_tickets_at_once_come_together(posting, cast, choose, collect, deliver, mailbox):
    choose(cast.bo, "messages")
    for number in range(collecting.MAX_MAILS + 2):
        make_ticket(cast.ada, cast.open_project, f"No {number}", assignee_user_id=cast.bo.user_id)
    assert collect(11) == 1
    deliver()
    (message,) = mailbox.received
    assert message["Subject"] == f"Docket: updates on {collecting.MAX_MAILS + 2} tickets"
    assert message["References"] is None


def test_the_daily_mail(posting, cast, choose, collect, deliver, mailbox):
    choose(cast.bo, "daily", "Asia/Tokyo")
    made = [
        make_ticket(cast.ada, cast.open_project, f"No {n}", assignee_user_id=cast.bo.user_id)
        for n in range(2)
    ]
    comment(cast.ada, made[0], "Hello")
    assert collect(0) == 0
    assert collect(24 * 60 + 1) == 1
    assert collect(24 * 60 + 2) == 0
    deliver()
    (message,) = mailbox.received
    assert message["Subject"] == "Docket: updates on 2 tickets"
    for one in made:
        assert one["display_id"] in mailbox.text()
    # Without news there is no mail.
    assert collect(72 * 60) == 0


@pytest.mark.parametrize(
    ("now", "zone", "morning"),
    [
        ("2026-11-25T07:59:00", "UTC", "2026-11-25T08:00:00"),
        ("2026-11-25T08:00:00", "UTC", "2026-11-26T08:00:00"),
        ("2026-11-25T08:00:00", "Asia/Tokyo", "2026-11-25T23:00:00"),
        # Daylight saving time changes in between.
        ("2026-10-24T12:00:00", "Europe/Berlin", "2026-10-25T07:00:00"),
        ("2026-03-28T12:00:00", "Europe/Berlin", "2026-03-29T06:00:00"),
        ("2026-11-25T07:00:00", "No/Such", "2026-11-25T08:00:00"),
    ],
)
def test_the_next_morning(now, zone, morning):
    def ms(text):
        return int(datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp() * 1000)

    assert next_morning(ms(now), zone) == ms(morning)


def test_several_processes_put_each_notice_down_once(posting, cast, ticket, monkeypatch):
    comment(cast.ada, ticket, "Hello")
    monkeypatch.setattr(collecting, "now_ms", lambda: now_ms() + 11 * MINUTE_MS)
    barrier = threading.Barrier(3)

    def look(_):
        barrier.wait()
        with posting.app_context():
            return collecting.collect()

    with ThreadPoolExecutor(3) as pool:
        assert sorted(pool.map(look, range(3))) == [0, 0, 1]
    assert len(mails(posting)) == 1


def test_a_dead_mail_server_piles_up_nothing(posting, cast, ticket, collect, monkeypatch):
    monkeypatch.setattr(collecting, "MAX_WAITING_MAILS", 1)
    comment(cast.ada, ticket, "Hello")
    assert collect(11) == 1
    write(posting, update(NoticeChoice).values(noticed_until=now_ms()))
    other = make_ticket(cast.ada, cast.open_project, "B", assignee_user_id=cast.bo.user_id)
    assert collect(30) == 0
    monkeypatch.setattr(collecting, "MAX_WAITING_MAILS", 10)
    # Nothing was lost meanwhile.
    assert collect(30) == 1
    assert mails(posting)[-1].ticket_id == other["id"]


def unsubscribe_path(mailbox):
    value = mailbox.received[-1]["List-Unsubscribe"]
    return re.fullmatch(r"<http://localhost(/mail/unsubscribe/[\w-]+)>", value)[1]


def frequency(app, caller):
    with app.app_context():
        return run_write(lambda: service.choice_of(person(caller)))[0]


@pytest.fixture
def mailed(posting, cast, ticket, collect, deliver, mailbox):
    """Return the path in List-Unsubscribe of a mail to bo."""
    comment(cast.ada, ticket, "Hello")
    collect(11)
    deliver()
    return unsubscribe_path(mailbox)


def test_one_click_ends_them_without_a_login(posting, cast, mailed, mailbox):
    assert mailbox.received[0]["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    stranger = posting.test_client()
    # Opening the page does not unsubscribe.
    shown = stranger.get(mailed, headers=HTML)
    assert "bo@example.org" in shown.text
    assert frequency(posting, cast.bo) == "messages"
    done = stranger.post(mailed, data={"List-Unsubscribe": "One-Click"})
    assert done.status_code == 200
    assert frequency(posting, cast.bo) == "off"
    assert stranger.post(mailed).status_code == 200
    # The link gives access to nothing else.
    assert stranger.get("/profile/mail", headers=HTML).status_code != 200


def test_what_ends_the_token(posting, cast, mailed):
    stranger = posting.test_client()
    for wrong in (mailed[:-1], f"{mailed}x", mailed.replace(mailed[-43:], "A" * 43)):
        assert stranger.post(wrong).status_code == 404
    other = mailed.replace(cast.bo.user_id, cast.ada.user_id)
    assert stranger.post(other).status_code == 404
    assert stranger.post("/mail/unsubscribe/x").status_code == 404
    ok(cast.ada.patch(f"/users/{cast.bo.user_id}", {"email": "bo2@example.org"}))
    assert stranger.post(mailed).status_code == 404
    assert frequency(posting, cast.bo) == "messages"


def test_the_page_of_choices(posting, cast, choose):
    choose(cast.bo, "off")
    shown = cast.bo.call("GET", "//profile/mail", headers=HTML)
    assert 'value="off" checked' in shown.text
    given = {"frequency": "daily", "zone": "Europe/Berlin"}
    saved = cast.bo.call("POST", "//profile/mail", data=given, headers=HTML)
    assert saved.status_code == 303
    assert frequency(posting, cast.bo) == "daily"
    for wrong in ({"frequency": "hourly"}, {"zone": "../etc/passwd"}, {"zone": "x" * 65}):
        refused = cast.bo.call("POST", "//profile/mail", data=given | wrong, headers=HTML)
        assert refused.status_code == 422
    assert frequency(posting, cast.bo) == "daily"


@pytest.mark.parametrize("zone", ["Mars/Olympus", "..", "/etc/passwd", "Europe", "\ud800", "a\x01"])
def test_what_is_no_time_zone(zone):
    with pytest.raises(InvalidField):
        service._zone(zone)


def test_they_are_off_until_chosen_and_only_go_to_a_confirmed_address(
    posting, cast, collect, choose
):
    ticket = make_ticket(cast.ada, cast.open_project, "A", assignee_user_id=cast.bo.user_id)
    comment(cast.ada, ticket, "Hello")
    assert collect(11) == 0
    choose(cast.bo, "messages")
    write(posting, update(User).values(email_confirmed_at=None))
    comment(cast.ada, ticket, "Hello again")
    assert collect(11) == 0


@pytest.mark.parametrize("frequency", ["messages", "daily"])
def test_what_commits_late_is_mailed(
    posting, database, cast, ticket, choose, collect, deliver, mailbox, frequency
):
    if database.kind != "postgresql":
        # It has one writer at a time.
        return
    choose(cast.bo, frequency)
    days = (frequency == "daily") * DAY_MS // MINUTE_MS
    comment(cast.ada, ticket, "First")
    with posting.app_context(), db.engine.begin() as slow:
        slow.execute(insert(AuditEvent).values(urgent(ticket)))
        comment(cast.ada, ticket, "Second")
        assert collect(days + 11) == 1
        deliver()
        assert "First" in mailbox.text()
        assert "Second" not in mailbox.text()
    assert collect(days * 2 + 12) == 1
    deliver()
    assert "urgent" in mailbox.text()
    assert "Second" in mailbox.text()
    assert "First" not in mailbox.text()


def test_a_long_stop_tells_the_last_week(posting, cast, ticket, collect):
    write(posting, update(NoticeChoice).values(noticed_until=now_ms() - 30 * DAY_MS))
    comment(cast.ada, ticket, "Hello")
    collect(11)
    (mail,) = mails(posting)
    assert mail.since >= now_ms() - collecting.OLDEST_MS - HOUR_MS


@pytest.mark.parametrize("days", [1, 30])
def test_a_clock_that_was_ahead_loses_no_notice(posting, cast, ticket, choose, collect, days):
    choose(cast.ada, "daily")
    comment(cast.ada, ticket, "Is it done?")
    comment(cast.bo, ticket, "Not yet, @ada")
    collect(days * DAY_MS // MINUTE_MS + 11)
    comment(cast.ada, ticket, "And now?")
    comment(cast.bo, ticket, "Soon, @ada")
    # The daily mail is sent at once, as its due time is unknown; both may repeat news.
    assert collect(11) == 2
    assert collect(12) == 0


def test_the_choice_is_made_over_rest(cast):
    path = "/users/me/notices"
    assert ok(cast.bo.get(path)) == {"frequency": "off", "zone": "UTC"}
    chosen = {"frequency": "daily", "zone": "Europe/Berlin"}
    assert ok(cast.bo.patch(path, chosen)) == chosen
    # Omitted fields are unchanged.
    assert ok(cast.bo.patch(path, {"frequency": "messages"})) == chosen | {"frequency": "messages"}
    assert ok(cast.bo.patch(path, {"zone": ""})) == {"frequency": "messages", "zone": "UTC"}
    for body in ({"frequency": "hourly"}, {"zone": "Mars"}, {"zone": "../etc"}, {"zone": None}):
        assert cast.bo.patch(path, body).status_code == 422, body
    assert ok(cast.bo.get(path)) == {"frequency": "messages", "zone": "UTC"}
    assert ok(cast.ada.get(path))["frequency"] == "off"
