"""The format of mails: headers safe from injection, both text forms, threads."""

import email
import email.policy
from email.header import decode_header, make_header

import pytest

from app.core import ids
from app.mail import writing
from app.mail.writing import Letter, Line, Section

pytestmark = pytest.mark.one_database

HOSTILE = [
    "Fix\r\nBcc: eve@example.org",
    "Fix\nBcc: eve@example.org\n\nbody",
    "Fix\rBcc: eve@example.org",
    "Fix\x0bBcc: eve@example.org",
    "Fix\u2028Bcc: eve@example.org\u2029",
    "Fix\x85Bcc: eve@example.org",
    "=?utf-8?q?Fix=0D=0ABcc:_eve@example.org?=",
    "\u202egpj.exe\u2066",
    "日本語のとても長い題名" * 30,
    "x" * 5000,
    "<script>alert(1)</script> & \"quotes\" 'single'",
    "Zero\u200bwidth\ufeff",
    "\t  spaced \x00 nul",
    "🎉" * 200,
]


def made(app, letter, **changes):
    settings = app.config["SETTINGS"]
    with app.app_context():
        raw = writing.message(letter, ids.new_id(), "ada@example.org", settings)
    return raw, email.message_from_bytes(raw, policy=email.policy.default)


@pytest.fixture
def app(app, using):
    using("smtp://127.0.0.1:1?starttls=off")
    return app


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_adds_a_header_or_markup(app, text):
    line = Line(text, text, text)
    letter = Letter(
        text,
        text,
        (text,),
        ("Open", "http://localhost/x"),
        (Section(text, "http://localhost", (line,)),),
        text,
    )
    raw, message = made(app, letter)
    assert message["Bcc"] is None
    assert [name for name in message if name.lower() not in KNOWN] == []
    assert len(message["Subject"]) <= writing.SUBJECT_LENGTH
    assert message.get_all("To") == ["ada@example.org"]
    assert all(len(one) <= 998 for one in raw.split(b"\r\n"))
    assert raw.replace(b"\r\n", b"").count(b"\n") == raw.replace(b"\r\n", b"").count(b"\r") == 0
    html = message.get_body(("html",)).get_content()
    assert "<script>" not in html
    for part in message.walk():
        if not part.is_multipart():
            shown = part.get_content()
            assert not set(shown) & set("\x00\x0b\x85\u2028\u2029\u202e\u2066")


KNOWN = {
    *("from", "to", "subject", "date", "message-id", "auto-submitted", "x-auto-response-suppress"),
    *("mime-version", "content-type", "in-reply-to", "references"),
    *("list-unsubscribe", "list-unsubscribe-post"),
}


@pytest.mark.parametrize("text", HOSTILE)
def test_the_subject_says_what_it_can(app, text):
    _, message = made(app, Letter(text, "x"))
    assert message["Subject"] == writing.one_line(text)


@pytest.mark.parametrize(
    "text",
    [
        'OPS-1 日本語 "quoted" 👍🏽 🚀🔥 für 🚀🔥 =',
        "OPS-1 Über ЖЖЖЖЖЖЖЖЖЖЖЖЖЖЖ straße, _ a 🚀",
        "OPS-12 Не открывается страница входа после обновления сервера",
        "OPS-12 Übergrößenträger müssen größere Äpfel öfter für Ämter prüfen",
        "می\u200cخواهم 👩\u200d💻 " * 8,
        "日本語の長い件名" * 12,
    ],
)
def test_every_reader_decodes_a_long_subject(app, text):
    raw, message = made(app, Letter(text, "x"))
    stored = email.message_from_bytes(raw)["Subject"].replace("\r\n", "")
    decoded = str(make_header(decode_header(stored)))
    assert decoded == message["Subject"] == text.strip()
    assert all(len(line) <= 78 for line in raw.partition(b"\r\n\r\n")[0].split(b"\r\n"))


def test_long_identifiers_stay_whole(app, using):
    domain = ".".join(["a" * 60] * 2 + ["example.org"])
    using("smtp://127.0.0.1:1", mail_from=f"docket@{domain}")
    unsubscribe = f"http://localhost/mail/unsubscribe/{'t' * 100}"
    raw, message = made(app, Letter("x", "x", about="ticket", unsubscribe=unsubscribe))
    assert f"References: <ticket@{domain}>\r\n".encode() in raw
    assert f"List-Unsubscribe: <{unsubscribe}>\r\n".encode() in raw
    assert message["Message-ID"].endswith(f"@{domain}>")
    assert message["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    assert message["In-Reply-To"] == message["References"]


def test_what_happened_stands_in_both_forms(app):
    lines = (Line("Bo commented", "25 Nov", "First\nsecond <b>"),)
    section = Section("OPS-1 Fix", "http://localhost/tickets/OPS-1", lines, more=3)
    _, message = made(app, Letter("x", "News", sections=(section,), reason="Because."))
    plain = message.get_body(("plain",)).get_content()
    html = message.get_body(("html",)).get_content()
    for text in (plain, html):
        for said in (
            "News",
            "OPS-1 Fix",
            "tickets/OPS-1",
            "Bo commented",
            "and 3 more",
            "Because.",
        ):
            assert said in text
    assert "  > second <b>" in plain
    assert "second &lt;b&gt;" in html
    assert "src=" not in html
