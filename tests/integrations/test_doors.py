"""The address where code hosts deliver: who is accepted, and what hostile senders get."""

import base64
import hashlib
import hmac
import json
from urllib.parse import urlencode

import pytest

from app.core.clock import now_ms
from tests.integrations.deliveries import FORGES, SECRET, Connected, pull_request, signed
from tests.support.cases import cases
from tests.support.cast import in_app
from tests.support.story import events, make_ticket, ok, refused

NEWS = pull_request("github", 1, body="OPEN-1")
BODY = json.dumps(NEWS[1]).encode()


@pytest.fixture(name="at")
def _at(cast):
    make_ticket(cast.ada, cast.open_project)
    return Connected(cast)


def standard(body, secret, *, identifier="msg", moment=None, key=None):
    """Return the headers with which GitLab signs."""
    sent_at = str(moment if moment is not None else now_ms() // 1000)
    digest = hmac.new(key or secret.encode(), f"{identifier}.{sent_at}.".encode() + body, "sha256")
    return {
        "X-Gitlab-Event": "Merge Request Hook",
        "webhook-id": identifier,
        "webhook-timestamp": sent_at,
        "webhook-signature": f"v1,{base64.b64encode(digest.digest()).decode()}",
    }


@pytest.mark.parametrize("forge", FORGES)
def test_a_wrong_secret_and_no_integration_are_answered_alike(cast, app, forge):
    at = Connected(cast, forge)
    nobodys = at.integration["id"].replace("7", "8")
    wrong = signed(forge, "x", BODY, "another secret")
    unsigned = {name: value for name, value in wrong.items() if name.endswith("Event")}
    for headers in (wrong, unsigned):
        answer = at.post(BODY, headers)
        error = refused(answer, 404, "resource.not_found", resource="integration")
        client = cast.nobody.client
        other = client.post(f"/integrations/{nobodys}/events", data=BODY, headers=headers)
        assert ok(other, 404)["error"] == {
            **error,
            "details": {"resource": "integration", "id": nobodys},
        }
        assert {*other.headers.keys()} == {*answer.headers.keys()}
    for path in ("nothing", "%00", "x" * 300):
        answer = cast.nobody.client.post(f"/integrations/{path}/events", data=BODY, headers=wrong)
        assert answer.status_code == 404
    # One event per client network and minute, as for wrong bot tokens.
    assert len(events(app, event_type="auth.bot.failure")) == 1


def test_every_byte_of_the_body_is_signed(at):
    headers = signed("github", *NEWS[:1], BODY)
    assert at.post(BODY.replace(b"OPEN-1", b"OPEN-2"), headers).status_code == 404
    assert at.post(BODY + b" ", headers).status_code == 404
    for wrong in ("sha256=", "", "sha1=x", headers["X-Hub-Signature-256"][:-1], "\u00e4" * 71):
        assert at.post(BODY, headers | {"X-Hub-Signature-256": wrong}).status_code == 404
    ok(at.post(BODY, headers))


def test_a_header_of_another_forge_proves_nothing(cast, at):
    gitlab = Connected(cast, "gitlab")
    assert gitlab.post(BODY, signed("github", "push", BODY)).status_code == 404
    assert at.post(BODY, signed("gitlab", "push", BODY)).status_code == 404
    assert at.post(BODY, signed("forgejo", "push", BODY)).status_code == 404
    # The right signature in another header does not make up for a wrong one.
    forgejo = Connected(cast, "forgejo")
    both = signed("gitea", "push", BODY) | {"X-Forgejo-Signature": "0" * 64}
    assert forgejo.post(BODY, both).status_code == 404


def test_the_signature_of_gitlab(cast):
    at = Connected(cast, "gitlab")
    make_ticket(cast.ada, cast.open_project)
    body = json.dumps(pull_request("gitlab", 1, body="OPEN-1")[1]).encode()
    minutes_ago = now_ms() // 1000 - 301
    for wrong in (
        standard(body, "another secret"),
        standard(body, SECRET, moment=minutes_ago),
        standard(body, SECRET) | {"webhook-id": "other"},
        standard(body, SECRET) | {"webhook-timestamp": "soon"},
        standard(body, SECRET) | {"webhook-timestamp": "\u0663"},
        # If there is a signature, it decides.
        {**standard(body, "another secret"), "X-Gitlab-Token": SECRET},
    ):
        assert at.post(body, wrong).status_code == 404
    assert ok(at.post(body, standard(body, SECRET)))["outcome"] == "1 linked"
    key = bytes(range(32))
    token = {"secret": "whsec_" + base64.b64encode(key).decode()}
    ok(cast.ada.post(f"/integrations/{at.integration['id']}/secret", token))
    assert at.post(body, standard(body, SECRET)).status_code == 404
    ok(at.post(body, standard(body, "", key=key)))


def test_a_token_of_gitlab_may_have_any_letters(cast):
    at = Connected(cast, "gitlab")
    secret = "schl\u00fcssel-\u043a\u043b\u044e\u0447-1"
    ok(cast.ada.post(f"/integrations/{at.integration['id']}/secret", {"secret": secret}))
    # A WSGI server passes the bytes of a header as Latin-1.
    sent = secret.encode().decode("latin-1")
    headers = {"X-Gitlab-Event": "Push Hook", "X-Gitlab-Token": sent}
    assert at.post(b"{}", headers | {"X-Gitlab-Token": sent[:-1]}).status_code == 404
    ok(at.post(b"{}", headers))


def test_a_repetition_does_nothing(at):
    assert at.deliver(NEWS) == "1 linked"
    assert at.deliver(NEWS) == "Received before"


def test_a_form_with_a_payload_is_read_too(at):
    body = urlencode({"payload": BODY.decode()}).encode()
    headers = signed("github", "pull_request", body)
    form = "application/x-www-form-urlencoded"
    assert ok(at.post(body, headers, form))["outcome"] == "1 linked"


def test_a_new_secret_ends_the_old_one(cast, at):
    opened = ok(cast.ada.post(f"/integrations/{at.integration['id']}/secret", {}))
    assert at.send(*NEWS).status_code == 404
    ok(at.send(*NEWS, secret=opened["secret"]))


@cases(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b'"x"',
        b"\xff\xfe",
        b'{"a": "\\ud800"}',
        b"[" * 5000,
        b'{"number": NaN}',
    ],
)
def test_what_is_no_payload_is_refused(at, body):
    answer = at.post(body, signed("github", "push", body))
    refused(answer, 422, "request.validation_error")


def test_a_body_has_a_limit(at):
    body = b'{"x": "' + b"x" * 1024 * 1024 + b'"}'
    answer = at.post(body, signed("github", "push", body))
    refused(answer, 413, "request.too_large", limit_bytes=1024 * 1024)


ODD = [
    None, True, -1, 0, 1.5, 2**70, "", "x" * 100_000, "OPEN-1\x00", "\u202e OPEN-1",
    "https://x.org", "9999-99-99T00:00:00Z", "0001-01-01T00:00:00Z", [], [[]],
    [None, {"id": "a" * 40}], {}, {"x": {}},
]  # fmt: skip


def paths(content, here=()):
    for name, value in content.items():
        yield (*here, name)
        if isinstance(value, dict):
            yield from paths(value, (*here, name))


def put(content, path, value):
    changed = json.loads(json.dumps(content))
    inner = changed
    for name in path[:-1]:
        inner = inner[name]
    inner[path[-1]] = value
    return changed


@pytest.mark.parametrize("forge", FORGES)
def test_no_value_of_a_payload_breaks_anything(cast, forge):
    """Each value in turn is replaced by each odd one, for every kind of event."""
    from tests.integrations.deliveries import checked, push
    from tests.support.sizes import every

    at = Connected(cast, forge)
    make_ticket(cast.ada, cast.open_project)
    cases = [
        (event, path, odd)
        for event in (
            pull_request(forge, 1, body="fixes OPEN-1", action="closed", state="merged"),
            push(forge, "open-1", "OPEN-1 done"),
            checked(forge, 2, "success"),
        )
        for path in paths(event[1])
        for odd in ODD
    ]
    for (event, payload), path, odd in every(89, cases):
        answer = at.send(event, put(payload, path, odd))
        assert answer.status_code == 200, (path, odd, answer.text)


def test_a_session_or_a_token_opens_nothing_here(cast, at):
    headers = {**cast.smith.headers, "X-GitHub-Event": "push"}
    assert cast.nobody.client.post(at.address, data=BODY, headers=headers).status_code == 404
    answer = cast.ada.client.post(at.address, data=BODY, headers={"X-GitHub-Event": "push"})
    assert answer.status_code == 404
    assert cast.nobody.client.get(at.address).status_code == 405


def test_the_secret_is_stored_encrypted(app, at):
    from sqlalchemy import select

    from app.database.session import session
    from app.integrations.models import Integration

    (kept,) = in_app(app, lambda: session.scalars(select(Integration.sealed_secret)).all())
    assert SECRET.encode() not in kept
    assert hashlib.sha256(SECRET.encode()).digest() not in kept
