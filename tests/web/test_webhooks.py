"""The pages of webhooks, without a browser: created, viewed, tested, retried, deleted."""

import base64
import json
import re
import runpy
import shutil
import subprocess

import pytest

from app.database.session import run_write
from app.webhooks import outbox
from app.webhooks.attempts import DeliveryOutcome
from app.webhooks.cli import deliver_due
from app.webhooks.connecting import limits
from app.webhooks.snippets import NODE, PYTHON
from tests.support.receiver import SECRET
from tests.support.story import events, make_ticket, ok
from tests.webhooks.conftest import authority_directory, receiver, subscribe, trusting

__all__ = ["authority_directory", "receiver", "subscribe", "trusting"]

URL = "https://hooks.example.org/docket?team=ops"


@pytest.fixture
def deliver(trusting):
    """A function that makes all deliveries that are due."""

    def run():
        with trusting.app_context():
            deliver_due(limits(trusting), lambda _: None)

    return run


def secret_in(text):
    return re.search(r'id="secret" value="([^"]+)"', text).group(1)


def test_the_list_is_empty_at_first_and_says_what_it_is_for(ada):
    assert "No webhooks yet" in ada.get("/webhooks").text


def test_making_one_shows_its_secret_once(app, ada, cast):
    answer = ada.post("/webhooks", url=URL, secret="", event_types=["ticket.*", "wiki.created"])
    assert answer.status_code == 200
    made = secret_in(answer.text)
    assert len(base64.urlsafe_b64decode(made + "=")) == 32
    (webhook,) = ok(cast.ada.get("/webhooks"))["data"]
    assert (webhook["url"], webhook["event_types"]) == (URL, ["ticket.*", "wiki.created"])
    page = ada.get(f"/webhooks/{webhook['id']}").text
    assert made not in page
    assert "hooks.example.org" in page
    assert made not in str(events(app, event_type="webhook.created")[0].payload)


def test_a_secret_of_ones_own_and_all_events(ada, cast):
    given = ["*", "ticket.created"]
    assert (
        secret_in(ada.post("/webhooks", url=URL, secret=SECRET, event_types=given).text) == SECRET
    )
    assert ok(cast.ada.get("/webhooks"))["data"][0]["event_types"] == ["*"]


@pytest.mark.parametrize(
    ("form", "said"),
    [
        ({"url": "http://example.org", "event_types": "*"}, "must start with https://"),
        ({"url": URL}, "Select at least one event."),
        ({"url": URL, "event_types": "ticket.exploded"}, "Unknown event type"),
        ({"url": URL, "event_types": "*", "secret": "short"}, "16 bytes"),
        ({"event_types": "*"}, "url-problem"),
    ],
)
def test_a_mistake_is_said_beside_its_field(ada, cast, form, said):
    answer = ada.post("/webhooks", **form)
    assert answer.status_code == 422
    assert said in answer.text
    assert ok(cast.ada.get("/webhooks"))["data"] == []


def test_the_tree_offers_what_is_told_and_nothing_else(ada):
    text = ada.get("/webhooks/new").text
    assert 'value="ticket.*"' in text
    assert 'value="system.sweeper_ran"' in text
    offered = re.findall(r'value="([^"]+)"', text)
    assert not [one for one in offered if one.startswith("webhook.delivery")]


def test_changing_switching_rotating_deleting(ada, cast, subscribe):
    webhook = subscribe("ticket.created")
    path = f"/webhooks/{webhook['id']}"
    form = ada.get(f"{path}/edit").text
    assert webhook["url"] in form
    assert re.search(r'value="ticket.created" checked', form)
    assert ada.post(f"{path}/edit", url=URL, event_types=["wiki.*"]).location == path
    assert ada.post(f"{path}/edit", url=URL).status_code == 422
    assert ada.post(path, action="deactivate").location == path
    shown = ok(cast.ada.get(path))
    assert (shown["url"], shown["event_types"], shown["is_active"]) == (URL, ["wiki.*"], False)
    assert "is disabled" in ada.get(path).text
    ada.post(path, action="activate")
    made = secret_in(ada.post(path, action="rotate").text)
    assert made != SECRET
    assert made not in ada.get(path).text
    assert "Delete this webhook?" in ada.get(f"{path}/delete").text
    assert ada.post(f"{path}/delete").location == "/webhooks"
    assert ada.get(path).status_code == 404


def test_a_test_event_is_sent_and_stored_as_no_event(app, ada, trusting, receiver, subscribe):
    webhook = subscribe("wiki.created")
    answer = ada.post(f"/webhooks/{webhook['id']}", action="test")
    (came,) = receiver.received
    assert came.is_signed_with(SECRET)
    assert (came.event, came.body["type"]) == ("webhook.test", "webhook.test")
    assert came.body["actor"] == {"user_id": None, "kind": "system", "username": None}
    assert answer.location == f"/webhooks/{webhook['id']}/deliveries/{came.body['id']}"
    assert "webhook.test" not in {event.event_type for event in events(app)}
    page = ada.get(answer.location).text
    assert came.body["occurred_at"] in page
    assert "Send once more" not in page


def test_the_log_shows_the_body_as_it_was_sent(ada, cast, trusting, receiver, subscribe, deliver):
    webhook = subscribe("ticket.created")
    make_ticket(cast.ada, cast.open_project, "A <b>bold</b> title")
    deliver()
    (came,) = receiver.received
    text = ada.get(f"/webhooks/{webhook['id']}/deliveries/{came.body['id']}").text
    shown = re.search(r'aria-label="Body"><code>(.*?)</code>', text, re.DOTALL).group(1)
    for entity, character in (("&#34;", '"'), ("&lt;", "<"), ("&gt;", ">"), ("&amp;", "&")):
        shown = shown.replace(entity, character)
    assert json.loads(shown) == came.body
    assert "<b>bold</b>" not in text
    assert came.headers["X-Webhook-Delivery"] in text
    assert SECRET not in text
    assert "200" in text


def test_filters_and_pages_of_the_log(ada, cast, trusting, receiver, subscribe, deliver):
    webhook = subscribe("ticket.*")
    path = f"/webhooks/{webhook['id']}"
    receiver.answer = lambda came: 404 if came.event == "ticket.deleted" else 200
    for number in range(3):
        ticket = make_ticket(cast.ada, cast.open_project, f"{number}")
    ok(cast.ada.delete(f"/tickets/{ticket['id']}"), 204)
    deliver()

    def rows(query):
        return ada.get(path + query, htmx=True).text.count('class="row delivery-row"')

    assert rows("") == 4
    assert rows("?status=failed") == 1
    assert rows("?status=succeeded&since=24h") == 3
    assert rows("?event_type=ticket.deleted") == 1
    # Only event types that were delivered are offered; another one filters nothing.
    assert rows("?event_type=nonsense") == rows("")
    assert rows("?attempt_min=2") == 0
    assert rows("?status=nonsense&since=x&attempt_min=x") == 4
    assert "No deliveries match" in ada.get(f"{path}?attempt_min=2").text
    assert ada.get(f"{path}?cursor=nonsense").location == path


def test_sending_once_more(app, ada, cast, trusting, receiver, subscribe, deliver):
    webhook = subscribe("ticket.created")
    receiver.answer = 410
    make_ticket(cast.ada, cast.open_project)
    deliver()
    first = f"/webhooks/{webhook['id']}/deliveries/{receiver.received[0].body['id']}"
    assert "HTTP 410" in ada.get(first).text
    receiver.answer = 200
    answer = ada.post(f"{first}/retry")
    second = receiver.received[1].body["id"]
    assert answer.location == f"/webhooks/{webhook['id']}/deliveries/{second}"
    assert "Attempt 2 (current)" in ada.get(answer.location).text
    refused = ada.post(f"{answer.location}/retry")
    assert refused.status_code == 409
    assert "This delivery already succeeded." in refused.text
    assert len(receiver.received) == 2


def test_of_many_attempts_the_newest_and_the_current_one_are_shown(
    app, ada, cast, trusting, receiver, subscribe, deliver
):
    webhook = subscribe("ticket.created")
    receiver.answer = 410
    make_ticket(cast.ada, cast.open_project)
    deliver()
    made = [f"/webhooks/{webhook['id']}/deliveries/{receiver.received[0].body['id']}"]
    for _ in range(21):
        made.append(ada.post(f"{made[-1]}/retry").location)

    def listed(address):
        shown = r'href="(/webhooks/[^/"]+/deliveries/[^"]+)">Attempt|Attempt \d (\(current\))'
        return [link or current for link, current in re.findall(shown, ada.get(address).text)]

    assert listed(made[-1]) == [*made[2:-1], "(current)"]
    assert listed(made[1]) == ["(current)", *made[2:]]


def test_the_strip_says_how_it_goes(app, ada, cast, subscribe):
    webhook = subscribe("ticket.created")
    for number in range(60):
        make_ticket(cast.ada, cast.open_project, f"{number}")
        arrived = number < 49
        with app.app_context():
            (claimed,) = run_write(lambda: outbox.claim("test", 1))
            outcome = DeliveryOutcome(200, 1) if arrived else DeliveryOutcome(404, 1, "HTTP 404")
            run_write(lambda one=claimed, how=outcome: outbox.complete(one, how))
    for text in (ada.get("/webhooks").text, ada.get(f"/webhooks/{webhook['id']}").text):
        assert "Last 50 attempts: 39 delivered, 11 failed" in text
        assert text.count('class="bar succeeded"') == 39
        assert text.count('class="bar failed"') == 11
        # The newest attempts are at the end.
        assert re.search(r'(<i class="bar failed"></i>){11}\s*</span>', text)
        assert "78%" in text
    assert "Failing" in ada.get("/webhooks").text
    assert "The last ten attempts all failed" in ada.get(f"/webhooks/{webhook['id']}").text


def test_what_is_not_there(ada, subscribe):
    webhook = subscribe("*")
    for path in ("/webhooks/x", f"/webhooks/{webhook['id']}/deliveries/x", "/webhooks/x/edit"):
        assert ada.get(path).status_code == 404
    for path in ("/webhooks/x", f"/webhooks/{webhook['id']}/deliveries/x/retry"):
        assert ada.post(path, action="test").status_code == 404
    assert ada.post(f"/webhooks/{webhook['id']}", action="explode").status_code == 303
    assert ada.get(f"/webhooks/{webhook['id']}/deliveries/a%00b").status_code == 404


def test_pages_are_for_people(stranger):
    for path in ("/webhooks", "/webhooks/new", "/webhooks/x"):
        assert stranger.get(path).location.startswith("/login")


# --- the code that the page offers to receivers


@pytest.fixture
def sent(app, ada, trusting, receiver, subscribe):
    """A delivery as the receiver got it."""
    webhook = subscribe("*")
    ada.post(f"/webhooks/{webhook['id']}", action="test")
    return receiver.received[0]


def test_the_code_for_python_verifies_a_delivery(sent, tmp_path):
    (tmp_path / "receiver.py").write_text(PYTHON)
    genuine = runpy.run_path(str(tmp_path / "receiver.py"))["is_genuine"]
    assert genuine(SECRET, sent.headers, sent.raw)
    assert not genuine(SECRET, sent.headers, sent.raw + b" ")
    assert not genuine("another sixteen bytes", sent.headers, sent.raw)
    old = str(int(sent.headers["X-Webhook-Timestamp"]) - 301)
    assert not genuine(SECRET, sent.headers | {"X-Webhook-Timestamp": old}, sent.raw)


@pytest.mark.skipif(shutil.which("node") is None, reason="Node is not installed")
def test_the_code_for_node_verifies_a_delivery(sent, tmp_path):
    program = tmp_path / "verify.mjs"
    program.write_text(
        NODE + "const { secret, headers, body } = JSON.parse(process.argv[2]);\n"
        'console.log(isGenuine(secret, headers, Buffer.from(body, "base64")));\n'
    )

    def genuine(secret, raw):
        headers = {name.lower(): value for name, value in sent.headers.items()}
        body = base64.b64encode(raw).decode()
        given = json.dumps({"secret": secret, "headers": headers, "body": body})
        ran = subprocess.run(
            ["node", program, given], capture_output=True, text=True, timeout=30, check=True
        )
        return ran.stdout.strip()

    assert genuine(SECRET, sent.raw) == "true"
    assert genuine(SECRET, sent.raw + b" ") == "false"
    assert genuine("another sixteen bytes", sent.raw) == "false"


def test_a_chat_is_chosen_and_shows_no_code_to_verify(app, ada, cast):
    page = ada.get("/webhooks/new").text
    for name in ("Signed JSON", "Slack", "Mattermost", "Discord", "Microsoft Teams", "Matrix"):
        assert f">{name}</option>" in page
    answer = ada.post(
        "/webhooks", url=URL, form="slack", event_types="ticket.*", project_ids=[cast.open_project]
    )
    assert answer.status_code == 303
    (webhook,) = ok(cast.ada.get("/webhooks"))["data"]
    assert (webhook["form"], webhook["project_ids"]) == ("slack", [cast.open_project])
    shown = ada.get(answer.headers["Location"]).text
    assert "<dd>Slack</dd>" in shown
    assert ">OPEN</span>" in shown
    assert "Verify signatures" not in shown
    assert "Rotate secret" not in shown
    assert "Slack · ticket.*" in ada.get("/webhooks").text
    edited = ada.post(f"/webhooks/{webhook['id']}/edit", url=URL, event_types="ticket.*")
    assert edited.status_code == 303
    assert ok(cast.ada.get(f"/webhooks/{webhook['id']}"))["project_ids"] == []


def test_matrix_takes_an_access_token(ada, cast):
    url = "https://m.example/_matrix/client/v3/rooms/!r:m.example/send/m.room.message"
    given = {"url": url, "form": "matrix", "event_types": "ticket.*"}
    refused = ada.post("/webhooks", **given, secret="")
    assert refused.status_code == 422
    assert "Enter the access token" in refused.text
    assert ada.post("/webhooks", **given, secret="syt_an_access_token").status_code == 303
    (webhook,) = ok(cast.ada.get("/webhooks"))["data"]
    path = f"/webhooks/{webhook['id']}"
    assert "New access token" in ada.get(f"{path}/edit").text
    changed = ada.post(f"{path}/edit", url=url, event_types="*", secret="syt_another_one_now")
    assert changed.status_code == 303
    rotated = ok(cast.ada.get("/audit", query_string={"event_type": "webhook.secret_rotated"}))
    assert len(rotated["data"]) == 1
    moved = {"url": url.replace("m.example", "n.example", 1), "event_types": "*"}
    refused = ada.post(f"{path}/edit", **moved, secret="")
    assert (refused.status_code, "needs a new one" in refused.text) == (422, True)
    assert moved["url"] in refused.text
    assert ada.post(f"{path}/edit", **moved, secret="syt_of_the_other_one").status_code == 303
