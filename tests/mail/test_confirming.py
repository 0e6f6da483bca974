"""Confirming an address: before that it gets no other mail, and the link proves it."""

import pytest
from sqlalchemy import update

from app.accounts import mailing
from app.core.clock import DAY_MS
from app.core.logs import scrub
from app.mail.models import Mail
from tests.accounts.helpers import API, events, logged_in, new_human, write
from tests.mail.test_outbox import mails, make_due, states

HTML = {"Accept": "text/html"}
USERS = f"{API}/users"


def link_in(mailbox, index=-1):
    """Return the path of the link in a mail."""
    return "/mail/confirm/" + mailbox.text(index).split("/mail/confirm/")[1].split()[0]


@pytest.fixture
def grace(posting, admin, deliver):
    made = new_human(admin, "grace", email="grace@example.org")
    deliver()
    return made


def is_confirmed(admin, person):
    rows = admin.get(USERS).json["data"]
    return next(row["email_confirmed"] for row in rows if row["id"] == person["id"])


def test_the_link_asks_and_the_button_confirms(app, posting, admin, mailbox, grace):
    assert mailbox.recipients == ["grace@example.org"]
    path, stranger = link_in(mailbox), app.test_client()
    asked = stranger.get(path, headers=HTML)
    assert asked.status_code == 200
    assert "Use grace@example.org for the account grace" in asked.text
    assert path.rsplit("/", 1)[1] not in asked.text
    # Programs that prefetch links confirm nothing.
    assert not is_confirmed(admin, grace)
    assert stranger.post(path, headers=HTML).status_code == 200
    assert is_confirmed(admin, grace)
    # Opened again, it offers no button.
    used = stranger.get(path, headers=HTML)
    assert (used.status_code, "This link has already been used" in used.text) == (200, True)
    assert ("grace@example.org" in used.text, "<button" in used.text) == (True, False)
    # A second click shows the same, and nothing is written again.
    assert stranger.post(path, headers=HTML).status_code == 200
    payloads = [one.payload for one in events(app, "user.updated")]
    assert payloads == [{"email_confirmed": True}]


def test_an_operator_who_knows_the_address_has_no_link_mailed(posting, admin, mailbox, grace):
    given = ["users", "set-email", "grace", "hopper@example.org", "--confirmed"]
    assert posting.test_cli_runner().invoke(args=given).exit_code == 0
    assert is_confirmed(admin, grace)
    assert [mail.address for mail in mails(posting)] == ["grace@example.org"]
    told = [one.payload for one in events(posting, "user.updated")]
    assert told == [{"email_changed": True, "email_confirmed": True}]


def test_what_ends_the_link(app, posting, admin, mailbox, grace, deliver):
    path = link_in(mailbox)
    admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False})
    assert app.test_client().post(path, headers=HTML).status_code == 404
    admin.patch(f"{USERS}/{grace['id']}", json={"is_active": True})
    admin.patch(f"{USERS}/{grace['id']}", json={"email": "hopper@example.org"})
    assert app.test_client().post(path, headers=HTML).status_code == 404
    deliver()
    fresh = link_in(mailbox)
    write(app, update(Mail).values(created_at=Mail.created_at - DAY_MS))
    assert app.test_client().get(fresh, headers=HTML).status_code == 404
    assert app.test_client().get("/mail/confirm/x", headers=HTML).status_code == 404
    assert not is_confirmed(admin, grace)


def test_no_log_shows_the_link():
    for path in ("/mail/confirm/abc", "/mail/unsubscribe/abc?x=1"):
        assert "abc" not in scrub(f"GET {path} HTTP/1.1")


def test_another_site_cannot_confirm(app, posting, mailbox, grace):
    refused = app.test_client().post(
        link_in(mailbox), headers=HTML | {"Origin": "https://evil.example"}
    )
    assert refused.status_code == 403


def test_the_old_address_is_told_once_it_was_proven(app, posting, admin, mailbox, grace, deliver):
    path = f"{USERS}/{grace['id']}"
    admin.patch(path, json={"email": "second@example.org"})
    app.test_client()
    deliver()
    assert mailbox.recipients[1:] == ["second@example.org"]
    app.test_client().post(link_in(mailbox), headers=HTML)
    admin.patch(path, json={"email": "third@example.org"})
    deliver()
    assert sorted(mailbox.recipients[2:]) == ["second@example.org", "third@example.org"]
    told = mailbox.recipients.index("second@example.org", 2)
    assert "no longer uses this address" in mailbox.text(told)
    assert "third@example.org" not in mailbox.text(told)


def test_a_mail_whose_reason_is_gone_is_dropped(posting, admin, mailbox, deliver):
    made = new_human(admin, "carol", email="carol@example.org")
    admin.patch(f"{USERS}/{made['id']}", json={"email": None})
    deliver()
    assert (states(posting), mailbox.received) == (["dropped"], [])


def test_one_asks_for_the_link_again_in_the_profile_but_not_for_ever(
    app, posting, admin, mailbox, grace, deliver
):
    browser = logged_in(app, "grace")
    assert "Not confirmed" in browser.get("/profile", headers=HTML).text
    for _ in range(mailing.MAX_CONFIRMATIONS_PER_HOUR - 1):
        assert browser.post("/profile/email/confirm", headers=HTML).status_code == 303
        deliver()
    assert len(mailbox.received) == mailing.MAX_CONFIRMATIONS_PER_HOUR
    refused = browser.post("/profile/email/confirm", headers=HTML)
    assert refused.status_code == 429
    # Changing the address back and forth does not help either.
    for number in range(3):
        data = {"email": f"grace{number}@example.org"}
        assert browser.post("/profile/email", data=data, headers=HTML).status_code == 303
        deliver()
    assert len(mailbox.received) == mailing.MAX_CONFIRMATIONS_PER_HOUR
    # The first link still works for the address that it was sent to, if that is set again.
    assert app.test_client().get(link_in(mailbox), headers=HTML).status_code == 404


def test_a_new_secret_key_breaks_no_link_and_mail_that_waits_is_still_sent(
    posting, admin, mailbox, using, deliver
):
    new_human(admin, "grace", email="grace@example.org")
    before = posting.config["SETTINGS"]
    url = f"smtp://127.0.0.1:{mailbox.port}?starttls=off"
    new = "another secret key, long enough for tests"
    using(url, secret_key=new, secret_key_previous=before.secret_key)
    deliver()
    assert posting.test_client().post(link_in(mailbox), headers=HTML).status_code == 200
    new_human(admin, "carol", email="carol@example.org")
    using(url, secret_key="a third secret key, long enough for it", secret_key_previous="")
    make_due(posting)
    deliver()
    assert [mail.state for mail in mails(posting)] == ["sent", "dropped"]
