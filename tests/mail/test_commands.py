"""``flask mail test`` says whether the server takes a message."""


def run(app, *args):
    return app.test_cli_runner().invoke(args=["mail", "test", *args])


def test_the_server_takes_it(posting, mailbox):
    result = run(posting, "ada@example.org")
    assert (result.exit_code, mailbox.recipients) == (0, ["ada@example.org"])
    assert "took the message for ada@example.org" in result.output


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
