"""Logins with passkeys: what is refused, what is counted, and what works only once."""

from sqlalchemy import select

from app.accounts.models import UsedToken
from app.core import clock
from app.database.session import reading, session
from tests.accounts.helpers import at_once, details, error, events
from tests.accounts.passkeys import LOGIN, add, begin, begin_adding, log_in, reasons
from tests.support.authenticator import PRESENT, VERIFIED, Authenticator, encoded


def unthrottled(app):
    app.test_cli_runner().invoke(args=["login-limits", "clear", "--all"])


LOGIN_REFUSED = {
    "origin": {"client_data": {"origin": "https://evil.example"}},
    "embedded": {"client_data": {"crossOrigin": True}},
    "host": {"host": "evil.example"},
    "kind": {"kind": "webauthn.create"},
    "challenge": {"challenge": encoded(bytes(32))},
    "not verified": {"flags": PRESENT},
    "not present": {"flags": VERIFIED},
    "signature": {"signature": b"\x30\x06\x02\x01\x01\x02\x01\x01"},
    "no signature": {"signature": b""},
    "handle": {"handle": bytes(16)},
}


def test_what_is_no_right_answer_is_refused(app, admin, device):
    """One installation for all cases: none may log anybody in or move the counter."""
    client = app.test_client()
    for case, changes in LOGIN_REFUSED.items():
        unthrottled(app)
        answer = log_in(client, device, **changes)
        assert error(answer) == (401, "auth.invalid_credentials"), case
        assert details(answer) == {"reason": "passkey_invalid"}, case
    assert reasons(app) == ["passkey_not_verified"] * len(LOGIN_REFUSED)
    failures = events(app, "auth.login.failure")
    assert {one.payload["username"] for one in failures} == {"ada"}
    stranger = Authenticator()
    stranger.handle = device.handle
    unthrottled(app)
    for case, answer in {
        "unknown": log_in(client, stranger),
        # A key of its own under the id of ada's passkey.
        "key": log_in(client, stranger, id=device.id),
        "id": log_in(client, device, id=b""),
    }.items():
        assert details(answer) == {"reason": "passkey_invalid"}, case
    assert reasons(app)[-3:] == ["passkey_unknown", "passkey_not_verified", "passkey_unknown"]
    begun = begin(client)
    right = {"state": begun["state"], **device.answer(begun["options"])}
    unthrottled(app)
    for field, longest in {
        "state": 1000,
        "credential_id": 1400,
        "client_data": 4096,
        "authenticator_data": 4096,
        "signature": 2048,
        "user_handle": 100,
    }.items():
        for value in ("A" * (longest + 1), "\x00"):
            answer = client.post(LOGIN, json={**right, field: value})
            assert details(answer)["field"] == field
    assert client.post(LOGIN, json={**right, "padding": "A" * 70_000}).status_code == 413
    for state in ("", "x", "ü", begin_adding(admin).json["state"]):
        answer = client.post(LOGIN, json={**right, "state": state})
        assert details(answer) == {"reason": "passkey_over"}
    answer = client.post(LOGIN, json={**right, "authenticator_data": encoded(b"short")})
    assert details(answer) == {"reason": "passkey_invalid"}
    assert client.get_cookie("app_session") is None
    assert events(app, "auth.login.success")[1:] == []
    assert log_in(client, device).status_code == 200


def test_a_challenge_works_once(app, admin, device, monkeypatch):
    client = app.test_client()
    begun = begin(client)
    right = {"state": begun["state"], **device.answer(begun["options"])}
    answers = at_once(3, lambda _: app.test_client().post(LOGIN, json=right).status_code)
    assert sorted(answers) == [200, 401, 401]
    # A challenge with a wrong response cannot be used again either.
    begun = begin(client)
    device.count += 1
    assert log_in(client, device, begun, flags=PRESENT).status_code == 401
    assert log_in(client, device, begun).status_code == 401
    assert reasons(app)[-2:] == ["passkey_not_verified", "passkey_replayed"]
    begun = begin(client)
    later = clock.now_ms() + 5 * 60_000
    monkeypatch.setattr("app.accounts.ceremonies.now_ms", lambda: later)
    assert details(log_in(client, device, begun)) == {"reason": "passkey_over"}
    with app.app_context(), reading():
        assert len(session.scalars(select(UsedToken.token_hash)).all()) == 3


def test_a_counter_that_does_not_grow_is_a_copy(app, admin, device, client):
    assert log_in(client, device).status_code == 200
    for count in (6, 1, 0):
        device.count = count
        assert details(log_in(client, device)) == {"reason": "passkey_invalid"}
    assert reasons(app) == ["passkey_counter"] * 3
    device.count = 7
    assert log_in(client, device).status_code == 200


def test_devices_that_do_not_count_stay_at_nought(app, admin, client):
    device = Authenticator()
    assert add(admin, device).status_code == 201
    for _ in range(2):
        assert log_in(client, device).status_code == 200


def test_failures_count_for_the_address_and_not_for_the_person(app, admin, device):
    client = app.test_client()
    for _ in range(5):
        assert log_in(client, device, flags=PRESENT).status_code == 401
    assert error(log_in(client, device)) == (429, "rate_limit.exceeded")
    begun = begin(client)
    right = {"state": begun["state"], **device.answer(begun["options"])}
    answer = client.post(LOGIN, json=right, environ_base={"REMOTE_ADDR": "192.0.2.7"})
    assert answer.status_code == 200
    # Successful logins are not counted.
    for _ in range(6):
        device.count += 1
        begun = begin(client)
        right = {"state": begun["state"], **device.answer(begun["options"])}
        answer = client.post(LOGIN, json=right, environ_base={"REMOTE_ADDR": "192.0.2.7"})
        assert answer.status_code == 200
