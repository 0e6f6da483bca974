"""Password links by mail: for forgotten passwords, and for invitations."""

import pytest
from sqlalchemy import insert, select, update

from app.accounts.models import LoginBucket, ProviderIdentity, User
from app.core.clock import DAY_MS
from app.core.ids import new_id
from app.database.session import reading, session
from app.mail.models import Mail
from tests.accounts.conftest import setting
from tests.accounts.helpers import API, events, logged_in, new_human, try_login, write
from tests.mail.test_confirming import is_confirmed, link_in
from tests.mail.test_outbox import mails, make_due, states

__all__ = ["setting"]

HTML = {"Accept": "text/html"}
USERS = f"{API}/users"
FORGOT = "/forgot-password"
NEW = "a sentence of their own"


def ask(app, email, address="127.0.0.1"):
    return app.test_client().post(
        FORGOT, data={"email": email}, headers=HTML, environ_base={"REMOTE_ADDR": address}
    )


def password_link(mailbox, index=-1):
    return "/password/" + mailbox.text(index).split("/password/")[1].split()[0]


def use(client, path, password=NEW):
    return client.post(path, data={"password": password}, headers=HTML)


@pytest.fixture
def grace(app, posting, admin, mailbox, deliver):
    """Create a person with a confirmed address."""
    made = new_human(admin, "grace", email="grace@example.org")
    deliver()
    app.test_client().post(link_in(mailbox), headers=HTML)
    mailbox.received.clear()
    return made


def test_a_forgotten_password_is_replaced(app, posting, admin, mailbox, grace, deliver):
    assert 'href="/forgot-password"' in app.test_client().get("/login", headers=HTML).text
    asked = ask(app, "Grace@Example.org")
    assert (asked.status_code, "Check your email" in asked.text) == (200, True)
    browser = logged_in(app, "grace")
    deliver()
    assert mailbox.recipients[-1] == "grace@example.org"
    assert "grace" in mailbox.text()
    # Until it is used, nothing changes.
    assert browser.get(f"{API}/auth/me").status_code == 200
    path, stranger = password_link(mailbox), app.test_client()
    assert use(stranger, path).status_code == 303
    assert stranger.get(f"{API}/auth/me").json["username"] == "grace"
    assert browser.get(f"{API}/auth/me").status_code == 401
    assert try_login(app.test_client(), "grace", NEW).status_code == 200
    assert use(app.test_client(), path).status_code == 404
    payloads = [one.payload for one in events(app, "user.updated")][1:]
    assert payloads == [{"password_link_issued": True}, {"password_changed": True}]


def test_asking_again_ends_no_link_and_using_one_ends_all(
    app, posting, admin, mailbox, grace, deliver
):
    shown = admin.post(f"/people/{grace['id']}/link", headers=HTML)
    by_hand = "/password/" + shown.text.split("/password/")[1].split('"')[0]
    for _ in range(2):
        ask(app, "grace@example.org")
        deliver()
    links = [by_hand, password_link(mailbox, 0), password_link(mailbox, 1)]
    assert len(set(links)) == 3
    stranger = app.test_client()
    assert {stranger.get(one, headers=HTML).status_code for one in links} == {200}
    assert use(stranger, links[1]).status_code == 303
    assert {use(app.test_client(), one).status_code for one in links} == {404}


@pytest.mark.parametrize("end", ["late", "address", "inactive", "replaced"])
def test_a_link_that_was_asked_for_ends(app, posting, admin, mailbox, grace, deliver, end):
    ask(app, "grace@example.org")
    deliver()
    person, path = f"{USERS}/{grace['id']}", password_link(mailbox)
    if end == "late":
        write(app, update(Mail).values(created_at=Mail.created_at - DAY_MS))
    elif end == "address":
        for email in ("other@example.org", "grace@example.org"):
            assert admin.patch(person, json={"email": email}).status_code == 200
    elif end == "inactive":
        for is_active in (False, True):
            assert admin.patch(person, json={"is_active": is_active}).status_code == 200
    else:
        admin.post(f"/people/{grace['id']}/link", headers=HTML)
    assert use(app.test_client(), path).status_code == 404


def test_nobody_learns_whose_address_it_is(app, posting, admin, mailbox, grace, deliver):
    new_human(admin, "carol", email="carol@example.org")
    new_human(admin, "dan")
    admin.patch(f"{USERS}/{new_human(admin, 'eve')['id']}", json={"is_active": False})
    deliver()
    mailbox.received.clear()
    before = len(mails(app))
    texts = set()
    addresses = ("grace@example.org", "nobody@example.org", "carol@example.org")
    for number, email in enumerate(addresses):
        asked = ask(app, email, f"203.0.113.{number}")
        texts.add((asked.status_code, asked.text))
    # The same response after the same work: a row for each.
    assert len(texts) == 1
    assert len(mails(app)) == before + 3
    deliver()
    # Mails to unknown and unconfirmed addresses are dropped.
    assert [one["To"] for one in mailbox.received] == ["grace@example.org"]
    assert len(mails(app)) == before + 1


def test_whom_only_the_provider_logs_in_gets_no_link(
    app, posting, admin, mailbox, grace, deliver, setting
):
    """Removed at the provider, they would have a way in of their own."""
    write(app, update(User).where(User.username == "grace").values(password_hash=None))
    identity = {"id": new_id(), "user_id": grace["id"], "issuer": "https://login.example"}
    identity |= {"subject": "1", "name": "Grace", "created_at": 1}
    write(app, insert(ProviderIdentity).values(identity))
    setting("oidc_issuer", "https://login.example")
    recorded = len(events(app))
    asked, others = ask(app, "grace@example.org"), ask(app, "nobody@example.org")
    assert (asked.status_code, asked.text) == (200, others.text)
    deliver()
    assert [one["To"] for one in mailbox.received] == ["grace@example.org"]
    assert "/password/" not in mailbox.text()
    assert "Continue with single sign-on" in mailbox.text()
    assert len(events(app)) == recorded
    # The link of an operator works, and so does one that is requested once there is a password.
    result = app.test_cli_runner().invoke(args=["users", "link", "grace"])
    assert use(app.test_client(), "/password/" + result.output.split("/")[-1].strip()).location
    ask(app, "grace@example.org")
    deliver()
    assert use(app.test_client(), password_link(mailbox), f"{NEW} too").location == "/"


def test_without_a_provider_a_link_is_the_way_in(app, posting, admin, mailbox, grace, deliver):
    write(app, update(User).where(User.username == "grace").values(password_hash=None))
    ask(app, "grace@example.org")
    deliver()
    assert use(app.test_client(), password_link(mailbox)).location == "/"


def test_a_deactivated_person_gets_none(app, posting, admin, mailbox, grace, deliver):
    admin.patch(f"{USERS}/{grace['id']}", json={"is_active": False})
    ask(app, "grace@example.org")
    deliver()
    assert mailbox.received == []


def test_a_mailed_link_ends_with_the_address_it_went_to(
    app, posting, admin, mailbox, grace, deliver
):
    invited = new_human(admin, "dan", email="dan@example.org")
    admin.post(f"/people/{grace['id']}/link", data={"by_mail": "true"}, headers=HTML)
    deliver()
    path = password_link(mailbox)
    shown = admin.post(f"/people/{invited['id']}/link", headers=HTML)
    shown_path = "/password/" + shown.text.split("/password/")[1].split('"')[0]
    for person in (grace, invited):
        changed = admin.patch(f"{USERS}/{person['id']}", json={"email": f"{person['id']}@new.org"})
        assert changed.status_code == 200, changed.json
    assert use(app.test_client(), path).status_code == 404
    # A link that was handed over in person is not affected.
    assert use(app.test_client(), shown_path).status_code == 303


@pytest.mark.parametrize("email", ["grace@example.org", "nobody@example.org"])
def test_it_is_asked_for_a_few_times_only(app, posting, grace, email):
    for number in range(5):
        assert ask(app, email, f"203.0.113.{number}").status_code == 200
    refused = ask(app, email, "203.0.113.9")
    assert (refused.status_code, "Too many attempts" in refused.text) == (429, True)
    assert int(refused.headers["Retry-After"]) > 0
    # Nor for many addresses from one client address.
    for number in range(5):
        ask(app, f"other{number}@example.org", "198.51.100.1")
    assert ask(app, "other9@example.org", "198.51.100.1").status_code == 429
    # Logins are counted separately.
    assert try_login(app.test_client(), "grace", address="198.51.100.1").status_code == 200
    with app.app_context(), reading():
        for row in session.scalars(select(LoginBucket)):
            assert "@" not in row.key_hash


def test_what_is_no_address_is_said(app, posting):
    refused = ask(app, "grace")
    assert (refused.status_code, "Email must be an address" in refused.text) == (422, True)


def test_without_mail_there_is_no_such_page(app, admin):
    assert app.test_client().get(FORGOT, headers=HTML).status_code == 404
    assert ask(app, "grace@example.org").status_code == 404
    assert "Ask a teammate" in app.test_client().get("/login", headers=HTML).text
    assert "Send by email" not in admin.get("/people", headers=HTML).text


def test_a_mail_that_is_sent_again_has_the_same_link(app, posting, mailbox, grace, deliver):
    mailbox.to_text = "451 Later"
    ask(app, "grace@example.org")
    deliver()
    before = mails(app)[-1].token_hash
    mailbox.to_text = "250 OK"
    make_due(app)
    deliver()
    assert use(app.test_client(), password_link(mailbox)).status_code == 303
    assert len(before) == 64
    # Using it ended it.
    assert mails(app)[-1].token_hash is None
    assert states(app)[-1] == "sent"


def test_a_link_that_was_replaced_meanwhile_is_not_sent(
    app, posting, admin, mailbox, grace, deliver
):
    mailbox.to_text = "451 Later"
    ask(app, "grace@example.org")
    deliver()
    admin.post(f"/people/{grace['id']}/link", headers=HTML)
    mailbox.to_text = "250 OK"
    make_due(app)
    deliver()
    assert (states(app)[-1], mailbox.received) == ("dropped", [])


def invite(admin, **fields):
    data = {"display_name": "Hedy Lamarr", "email": "hedy@example.org", "by_mail": "true"}
    return admin.post("/people", data=data | fields, headers=HTML)


def test_an_invitation_is_mailed_and_its_use_confirms_the_address(
    app, posting, admin, mailbox, deliver
):
    shown = invite(admin)
    assert "Invite link\n      sent to hedy@example.org" in shown.text
    assert "/password/" not in shown.text
    deliver()
    # One mail only: the invitation link confirms the address.
    assert mailbox.recipients == ["hedy@example.org"]
    assert "invited as hedy.lamarr" in mailbox.text()
    browser = app.test_client()
    assert use(browser, password_link(mailbox)).status_code == 303
    me = browser.get(f"{API}/auth/me").json
    assert (me["username"], me["email_confirmed"]) == ("hedy.lamarr", True)


def test_a_link_that_was_shown_proves_no_address(app, posting, admin, mailbox, deliver):
    invite(admin, by_mail="false")
    mailbox.received.clear()
    shown = admin.post(f"/people/{admin.get(USERS).json['data'][0]['id']}/link", headers=HTML)
    path = "/password/" + shown.text.split("/password/")[1].split('"')[0]
    browser = app.test_client()
    assert use(browser, path).status_code == 303
    assert browser.get(f"{API}/auth/me").json["email_confirmed"] is False


def test_an_invitation_by_mail_needs_an_address(posting, admin):
    refused = invite(admin, email="")
    assert refused.status_code == 422
    assert "Enter an email address for this person." in refused.text
    refused = invite(admin, email="hedy")
    assert refused.status_code == 422
    assert mails(posting) == []


def test_a_mail_server_that_is_off_is_said(app, admin):
    refused = invite(admin)
    assert refused.status_code == 422
    assert "Email is off." in refused.text
    assert len(admin.get(USERS).json["data"]) == 1


def test_a_reset_is_mailed_to_a_confirmed_address_alone(
    app, posting, admin, mailbox, grace, deliver
):
    carol = new_human(admin, "carol", email="carol@example.org")
    sent = admin.post(f"/people/{grace['id']}/link", data={"by_mail": "true"}, headers=HTML)
    assert "sent to grace@example.org" in sent.text
    refused = admin.post(f"/people/{carol['id']}/link", data={"by_mail": "true"}, headers=HTML)
    assert (refused.status_code, "no confirmed email" in refused.text) == (409, True)
    deliver()
    index = [one["To"] for one in mailbox.received].index("grace@example.org")
    assert use(app.test_client(), password_link(mailbox, index)).status_code == 303
    assert not is_confirmed(admin, carol)
