"""``flask mail test`` reports whether the server accepts a message, ``doctor`` whether it could."""

from urllib.parse import quote

from app.commands.doctor import _mail
from tests.support.mailbox import PASSWORD, USER, mail_server
from tests.support.serving import unused_port


def run(app, *args):
    return app.test_cli_runner().invoke(args=["mail", "test", *args])


def test_the_server_takes_it(posting, mailbox):
    result = run(posting, "ada@example.org")
    assert (result.exit_code, mailbox.recipients) == (0, ["ada@example.org"])
    assert "accepted the message for ada@example.org" in result.output


def test_the_server_does_not(posting, mailbox):
    mailbox.to_recipient = "550 No such user"
    result = run(posting, "ada@example.org")
    assert (result.exit_code, "550 No such user" in result.output) == (1, True)


def test_mail_is_off(app):
    result = run(app, "ada@example.org")
    assert (result.exit_code, "Set SMTP_URL and MAIL_FROM" in result.output) == (1, True)


def test_what_is_no_address(posting, mailbox):
    for wrong in ("ada", "a@b@c", "ada@x.org\nBcc: bo@x.org", "jürgen@x.org"):
        assert run(posting, wrong).exit_code == 2
    assert mailbox.received == []


def test_the_doctor_logs_in_and_sends_nothing(app, using, mailbox, authority, monkeypatch):
    ca, certificate = authority
    monkeypatch.setenv("SSL_CERT_FILE", str(ca))
    password = quote(PASSWORD, safe="")
    with mail_server(certificate=certificate) as guarded:
        said = {
            about: next(_mail(using(f"smtp://{server}")))
            for about, server in {
                "plain": f"127.0.0.1:{mailbox.port}?starttls=off",
                "guarded": f"{USER}:{password}@localhost:{guarded.port}",
                "wrong": f"{USER}:wrong@localhost:{guarded.port}",
                "no TLS": f"127.0.0.1:{mailbox.port}",
                "dead": f"127.0.0.1:{unused_port()}",
            }.items()
        }
    good = {about: one.message for about, one in said.items() if not one.remedy}
    assert good == {"plain": "reachable; SMTP_URL has no login", "guarded": "logged in"}
    assert "535" in said["wrong"].message
    assert "does not offer STARTTLS" in said["no TLS"].message
    assert "connection refused" in said["dead"].message
    assert (guarded.received, mailbox.received) == ([], [])
    assert list(_mail(using(""))) == []
