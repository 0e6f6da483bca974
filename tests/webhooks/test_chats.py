"""Messages to chats: each in the chat's published format, containing nothing but text."""

import html
import re

import jsonschema_rs
import orjson
import pytest

from app.webhooks import outbox
from app.webhooks.chats import content, message
from app.webhooks.models import WebhookForm
from tests.support.cases import cases
from tests.support.receiver import SECRET
from tests.support.serving import until
from tests.support.story import events, invalid, make_ticket, malformed, ok
from tests.webhooks.chat_schemas import SCHEMAS

ROOM = "/_matrix/client/v3/rooms/!ops:example.org/send/m.room.message"
CHATS = [form for form in WebhookForm if form is not WebhookForm.JSON]
TOKEN = "app_" + "a" * 32
ACCESS_TOKEN = "syt_YWRh_aNfW6mSqRk_0xTz3d"
HOSTILE = [
    "<!channel> <!here> <!everyone> <@U012AB3CD> <#C0123> <https://evil.example|docs>",
    "@here @channel @all @everyone @room @ada <@123456789> <@&42> <#7> @[bo]",
    "[docs](https://evil.example) ![x](https://evil.example/x.png) <https://evil.example>",
    "**bold** *it* _it_ __u__ ~~gone~~ `code` ```fence``` ||spoiler|| # head > quote - list 1. one",
    "<script>alert(1)</script> <img src=x onerror=alert(1)> & &lt; \" '",
    ":tada: $x^2$ ~town-square #tag https://evil.example www.evil.example",
    "one\ntwo\r\n\n> three\u2028four\x00\x1b[31m\u202eevil",
    "\\*not\\* \\\\ \\[x\\](y)",
]


def check(form, body):
    jsonschema_rs.validator_for(SCHEMAS[form]).validate(body)
    # The strictest limit, that of a Teams card.
    assert len(orjson.dumps(body)) < 28_000


def seen(form, body):
    """Return the visible text of formats that need escaping because text and markup are mixed."""
    match form:
        case "mattermost":
            return body["text"]
        case "discord":
            return body["content"]
        case "matrix":
            return body["formatted_body"]
        case "slack":
            return body["text"]
    return ""


@pytest.mark.parametrize("form", CHATS)
@pytest.mark.parametrize("written", HOSTILE)
def test_what_people_wrote_is_text(form, written):
    told = message(f"Ada said {written}", written, "https://d.example/tickets/OPS-1", written)
    body = content(form, told)
    check(form, body)
    shown = seen(form, body)
    # No character that makes a mention precedes a name.
    assert not re.search(r"@\w", shown) or form == "slack"
    match form:
        case "slack":
            assert not re.search(r"[<>]", shown)
            assert "\u202e" not in shown
        case "mattermost" | "discord":
            sentence, _, rest = shown.partition("\n")
            unescaped = re.sub(r"\\(?:[^\w\s]|_)", "", sentence)
            assert not re.search(r"[*_`~\[\]()!|#]", unescaped), unescaped
            assert "://" not in sentence
            # Mattermost shows the character that a reference names.
            assert not re.search(r"(?<!\\)&[#\w]", shown)
            link, _, quote = rest.partition("\n")
            assert link.endswith("](<https://d.example/tickets/OPS-1>)")
            assert quote.startswith("> ")
            assert "\n" not in quote
        case "matrix":
            tags = re.findall(r"<[^>]*>", shown)
            assert tags == [
                "<br>",
                '<a href="https://d.example/tickets/OPS-1">',
                "</a>",
                "<blockquote>",
                "</blockquote>",
            ]
            assert html.unescape(shown) != shown or not re.search(r"[<>&\"']", written)


@pytest.mark.parametrize("form", CHATS)
def test_the_longest_message_fits(form):
    for character in ("x", "@", "*", "<", "é", "&", "😀"):
        told = message(
            character * 5000, character * 5000, "https://d.example/" + "p" * 400, character * 5000
        )
        check(form, content(form, told))


@pytest.mark.parametrize("form", CHATS)
def test_credentials_are_left_out(form):
    told = message(f"said {TOKEN}", f"title {TOKEN}", "", f"password=hunter22 {TOKEN}")
    body = orjson.dumps(content(form, told)).decode()
    assert TOKEN not in body
    assert "hunter22" not in body


@pytest.mark.parametrize("invisible", ["\u200b", "\u2060", "\u00ad", "\ufeff", "\x00"])
def test_an_invisible_character_brings_no_token_in(invisible):
    told = message(
        f"said {TOKEN[:9]}{invisible}{TOKEN[9:]}", "", "", f"pass{invisible}word=hunter22"
    )
    assert told.sentence == "said <redacted>"
    assert "hunter22" not in told.quote


def secret_of(form):
    """A secret of a webhook; Matrix gets an access token, which has no spaces."""
    return ACCESS_TOKEN if form == "matrix" else SECRET


@pytest.fixture
def chat(receiver, subscribe):
    """Return a function that creates a webhook to a chat."""

    def run(form, *event_types, **fields):
        url = receiver.url.replace("/hook", ROOM) if form == "matrix" else receiver.url
        secret = secret_of(form)
        return subscribe(*event_types, url=url, form=str(form), secret=secret, **fields)

    return run


@pytest.mark.parametrize("form", CHATS)
def test_a_chat_is_told_what_happened(form, app, cast, worker, receiver, chat, deliveries):
    webhook = chat(form, "ticket.*", "comment.created")
    ticket = make_ticket(cast.ada, cast.open_project, "Mend the gate")
    cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "It *squeaks*, @everyone"})
    first, second = receiver.wait_for(2)
    for came in (first, second):
        check(form, came.body)
        assert secret_of(form) not in came.raw.decode()
    said = first.raw.decode().replace("\\", "").replace("\u200b", "")
    assert "Ada created OPEN-1, Mend the gate" in said
    assert "http://localhost/tickets/OPEN-1" in said
    said = second.raw.decode().replace("\\", "").replace("\u200b", "")
    assert "Smith (bot) commented on OPEN-1" in said
    assert "squeaks" in said
    rows = until(lambda: len(deliveries(webhook)) == 2 and deliveries(webhook))
    assert {row["status"] for row in rows} == {"succeeded"}
    if form == "matrix":
        ids = {
            event.id
            for event in events(app)
            if event.event_type in ("ticket.created", "comment.created")
        }
        assert {came.path.removeprefix(f"{ROOM}/") for came in (first, second)} == ids
        assert (first.method, first.headers["Authorization"]) == ("PUT", f"Bearer {ACCESS_TOKEN}")
        assert "X-Webhook-Signature" not in first.headers
    else:
        assert (first.method, first.path) == ("POST", "/hook")
        assert "Authorization" not in first.headers
        assert first.is_signed_with(SECRET)


def test_a_message_to_matrix_keeps_its_id_when_it_is_sent_again(
    cast, worker, receiver, chat, monkeypatch
):
    monkeypatch.setattr(outbox, "BACKOFF_MS", (10, 50, 300))
    receiver.answer = lambda came: 200 if len(receiver.received) > 2 else 502
    chat("matrix", "ticket.created")
    make_ticket(cast.ada, cast.open_project)
    came = receiver.wait_for(3)
    assert len({one.path for one in came}) == 1
    assert len({one.raw for one in came}) == 1


@pytest.mark.parametrize("form", CHATS)
def test_a_test_message(form, cast, trusting, receiver, chat):
    webhook = chat(form, "ticket.*")
    answer = cast.ada.client.post(f"/webhooks/{webhook['id']}", data={"action": "test"})
    assert answer.status_code == 303
    (came,) = receiver.received
    check(form, came.body)
    assert "This is a test of Docket" in came.raw.decode().replace("\\", "")
    page = cast.ada.client.get(answer.headers["Location"]).text
    assert "This is a test" in page.replace("\\", "")
    assert secret_of(form) not in page


def test_every_event_has_a_message(app, cast, worker, receiver, chat, all_done):
    """Including events without a ticket, page or project."""
    chat("slack", "*")
    ada = cast.ada
    page = ok(
        ada.post("/wiki/pages", {"title": "House rules", "project_id": cast.open_project}), 201
    )
    ada.post("/wiki/pages", {"title": "Everywhere"})
    ada.post("/bots", {"username": "bot-9", "mode": "read"})
    ada.post(f"/projects/{cast.open_project}/labels", {"name": "later"})
    ticket = make_ticket(ada, cast.open_project, "A & B <i>")
    ada.delete(f"/tickets/{ticket['id']}")
    ada.post(
        "/webhooks",
        {
            "url": "https://h.example/?token=x1y2",
            "secret": SECRET,
            "event_types": ["*"],
            "is_active": False,
        },
    )
    all_done()
    said = [came.raw.decode() for came in receiver.received]
    for came in receiver.received:
        check("slack", came.body)
    everything = "\n".join(said)
    assert f"http://localhost/projects/OPEN/wiki/{page['slug']}" in everything
    assert "http://localhost/wiki/everywhere" in everything
    assert "Ada created the bot bot-9 (read)" in everything
    assert "http://localhost/bots" in everything
    assert "Ada added the label later" in everything
    assert "created a webhook to h.example" in everything
    assert "x1y2" not in everything


def test_only_some_projects_are_told(cast, worker, receiver, subscribe, all_done):
    webhook = subscribe("ticket.*", "bot.*", project_ids=[cast.fenced_project])
    assert webhook["project_ids"] == [cast.fenced_project]
    make_ticket(cast.ada, cast.open_project, "Elsewhere")
    make_ticket(cast.ada, cast.fenced_project, "Here")
    cast.ada.post("/bots", {"username": "bot-9", "mode": "read"})
    all_done()
    assert [came.body["payload"]["title"] for came in receiver.received] == ["Here"]
    path = f"/webhooks/{webhook['id']}"
    ok(cast.ada.patch(path, {"project_ids": []}))
    make_ticket(cast.ada, cast.open_project, "There")
    all_done()
    assert receiver.received[-1].body["payload"]["title"] == "There"


def test_a_deleted_project_stays_listed(cast, receiver, subscribe):
    """Deleting it must not turn a webhook of one project into one of all projects."""
    webhook = subscribe("ticket.*", project_ids=[cast.fenced_project])
    assert cast.ada.delete(f"/projects/{cast.fenced_project}").status_code == 204
    path = f"/webhooks/{webhook['id']}"
    assert ok(cast.ada.get(path))["project_ids"] == [cast.fenced_project]
    page = cast.ada.client.get(f"{path}/edit").text
    assert re.search(rf'value="{cast.fenced_project}" checked', page)
    ok(cast.ada.patch(path, {"project_ids": [cast.open_project, cast.fenced_project]}))
    invalid(
        cast.ada.post(
            "/webhooks",
            {
                "url": receiver.url,
                "secret": SECRET,
                "event_types": ["*"],
                "project_ids": [cast.fenced_project],
            },
        ),
        "project_ids",
    )


def test_the_form_of_a_webhook_stays(cast, subscribe):
    webhook = subscribe("ticket.*")
    assert webhook["form"] == "json"
    assert webhook["project_ids"] == []
    invalid(cast.ada.patch(f"/webhooks/{webhook['id']}", {"form": "slack"}), "form")
    given = {"url": "https://e.example", "secret": SECRET, "event_types": ["*"]}
    malformed(
        cast.ada.post("/webhooks", {**given, "form": "irc"}), ["body", "form"], "invalid_value"
    )


@cases(
    "path",
    [
        "/hook",
        "/_matrix/client/v3/rooms//send/m.room.message",
        f"{ROOM}/",
        f"{ROOM}?a=b",
        f"{ROOM}/txn",
        f"/x{ROOM}",
    ],
)
def test_a_room_of_matrix_has_its_address(cast, path):
    given = {"secret": ACCESS_TOKEN, "event_types": ["*"], "form": "matrix"}
    invalid(cast.ada.post("/webhooks", {**given, "url": f"https://m.example{path}"}), "url")
    made = ok(cast.ada.post("/webhooks", {**given, "url": f"https://m.example{ROOM}"}), 201)
    invalid(cast.ada.patch(f"/webhooks/{made['id']}", {"url": f"https://m.example{path}"}), "url")


@cases(
    "secret",
    [f"{ACCESS_TOKEN}\n", f"syt {ACCESS_TOKEN}", f"syt_é{ACCESS_TOKEN}", f"{ACCESS_TOKEN}\x7f"],
)
def test_an_access_token_of_matrix_fits_a_header(cast, secret):
    given = {"url": f"https://m.example{ROOM}", "event_types": ["*"]}
    matrix = given | {"form": "matrix"}
    invalid(cast.ada.post("/webhooks", {**matrix, "secret": secret}), "secret", "pattern")
    made = ok(cast.ada.post("/webhooks", {**matrix, "secret": ACCESS_TOKEN}), 201)
    rotation = f"/webhooks/{made['id']}?rotate_secret=true"
    invalid(cast.ada.patch(rotation, {"secret": secret}), "secret", "pattern")
    # Other secrets sign, and are in no header.
    ok(cast.ada.post("/webhooks", {**given, "secret": secret}), 201)


@cases("host", ["evil.example", "m.example:8448", "m.example.evil.example"])
def test_no_server_gets_the_access_token_of_another(app, cast, host):
    given = {"url": f"https://m.example{ROOM}", "secret": ACCESS_TOKEN, "event_types": ["*"]}
    made = ok(cast.ada.post("/webhooks", given | {"form": "matrix"}), 201)
    path, moved = f"/webhooks/{made['id']}", f"https://{host}{ROOM}"
    invalid(cast.ada.patch(path, {"url": moved}), "secret", "missing")
    invalid(cast.ada.patch(path, {"url": moved, "secret": f"{ACCESS_TOKEN}2"}), "secret")
    assert ok(cast.ada.get(path))["url"] == given["url"]
    both = {"url": moved, "secret": f"{ACCESS_TOKEN}2"}
    assert ok(cast.ada.patch(f"{path}?rotate_secret=true", both))["url"] == moved


def test_another_room_of_the_server_gets_the_same_token(cast):
    given = {"url": f"https://m.example{ROOM}", "secret": ACCESS_TOKEN, "event_types": ["*"]}
    made = ok(cast.ada.post("/webhooks", given | {"form": "matrix"}), 201)
    path = f"/webhooks/{made['id']}"
    for url in (f"https://M.example:443{ROOM}", f"https://m.example{ROOM.replace('ops', 'dev')}"):
        ok(cast.ada.patch(path, {"url": url}))
    # Secrets that sign reach nobody.
    signed = ok(cast.ada.post("/webhooks", given | {"url": "https://one.example"}), 201)
    ok(cast.ada.patch(f"/webhooks/{signed['id']}", {"url": "https://two.example"}))


def test_the_address_of_a_chat_is_in_no_event(app, cast, subscribe):
    secret_part = "T0/B0/nobodyKnowsThis"
    webhook = subscribe("*", url=f"https://hooks.slack.com/services/{secret_part}", form="slack")
    path = f"/webhooks/{webhook['id']}"
    ok(cast.ada.patch(path, {"url": f"https://hooks.slack.com/services/{secret_part}2"}))
    assert cast.ada.delete(path).status_code == 204
    recorded = [event for event in events(app) if event.event_type.startswith("webhook.")]
    assert len(recorded) == 3
    assert all("https://hooks.slack.com/…" in str(event.payload) for event in recorded)
    assert secret_part not in str([event.payload for event in recorded])
