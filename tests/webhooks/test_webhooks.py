"""Subscriptions over REST: every rule and every refusal."""

import pytest
from sqlalchemy import text as sql

from app.database.session import reading, session
from tests.support.cases import cases
from tests.support.receiver import SECRET
from tests.support.story import events, invalid, malformed, ok, refused

HOOK = {"url": "https://example.org/hook", "secret": SECRET, "event_types": ["*"]}


@pytest.fixture
def ada(cast):
    return cast.ada


def create(ada, **changes):
    return ok(ada.post("/webhooks", {**HOOK, **changes}), 201)


def test_the_secret_is_shown_once(app, ada):
    response = ada.post("/webhooks", {**HOOK, "client_request_id": "mine"})
    made = ok(response, 201)
    assert response.headers["Location"].endswith(f"/webhooks/{made['id']}")
    assert made.pop("client_request_id") == "mine"
    assert made.pop("secret") == SECRET
    assert made["is_active"] is True
    assert (made["last_success_at"], made["last_failure_at"]) == (None, None)
    assert ok(ada.get(f"/webhooks/{made['id']}")) == made
    assert ok(ada.get("/webhooks"))["data"] == [made]
    (event,) = events(app, event_type="webhook.created")
    assert (event.target_kind, event.target_id) == ("webhook", made["id"])
    assert SECRET not in str(event.payload)


def test_the_secret_is_nowhere_in_the_database(app, ada):
    create(ada)
    with app.app_context(), reading():
        for table in ("webhooks", "audit_events", "idempotency_records"):
            for row in session.execute(sql(f"SELECT * FROM {table}")):
                assert SECRET not in str(row)
                assert SECRET.encode() not in b"".join(
                    bytes(value) for value in row if isinstance(value, bytes | memoryview)
                )


@pytest.mark.one_database
@cases(
    "field, value",
    [
        ("url", "http://example.org/hook"),
        ("url", "HTTPS://example.org"),
        ("url", "example.org"),
        ("url", ""),
        ("url", "https://"),
        ("url", "https:///path"),
        ("url", "https://user@example.org/"),
        ("url", "https://user:word@example.org/"),
        ("url", "https://example.org/#here"),
        ("url", "https://example.org:99999/"),
        ("url", "https://example.org:0/"),
        ("url", "https://exa mple.org/"),
        ("url", "https://example.org\\@inside/"),
        ("url", "https://[::1/"),
        ("url", "https://[::1]x/"),
        ("url", "https://①②⑦.⓪.⓪.①/"),
        ("url", "https://ｅxample.org/"),
        ("url", "https://ex..ample/"),
        ("url", "https://example.org/" + "x" * 2048),
        ("secret", "short"),
        ("secret", "fifteen bytes.."),
        ("secret", "x" * 1025),
        ("event_types", []),
        ("event_types", ["ticket"]),
        ("event_types", ["tick.*"]),
        ("event_types", ["*.*"]),
        ("event_types", ["ticket.exploded"]),
        ("event_types", [""]),
        ("event_types", ["ticket.created", "nope"]),
    ],
)
def test_what_a_webhook_may_not_be(ada, field, value):
    invalid(ada.post("/webhooks", {**HOOK, field: value}), field)
    made = create(ada)
    if field != "secret":
        invalid(ada.patch(f"/webhooks/{made['id']}", {field: value}), field)
    else:
        path = f"/webhooks/{made['id']}?rotate_secret=true"
        invalid(ada.patch(path, {"secret": value}), "secret")


def test_the_form_of_a_webhook(ada):
    for field in ("url", "secret", "event_types"):
        given = {name: value for name, value in HOOK.items() if name != field}
        malformed(ada.post("/webhooks", given), ["body", field], "missing")
    malformed(ada.post("/webhooks", {**HOOK, "url": 1}), ["body", "url"], "invalid_type")
    malformed(
        ada.post("/webhooks", {**HOOK, "event_types": "*"}), ["body", "event_types"], "invalid_type"
    )
    malformed(ada.post("/webhooks", {**HOOK, "nope": 1}), ["body", "nope"], "unknown_field")


@pytest.mark.parametrize(
    "url",
    ["https://bücher.example/", "https://例え.example/x?y=z", "https://[2606:4700::1111]:8443/"],
)
def test_names_in_any_script_may_be_told(ada, url):
    assert create(ada, url=url)["url"] == url


@pytest.mark.parametrize("types", [["*"], ["ticket.*"], ["ticket.created", "wiki.*"], ["auth.*"]])
def test_types_and_prefixes(ada, types):
    assert create(ada, event_types=types)["event_types"] == types


def test_the_length_of_a_secret_is_counted_in_bytes(ada):
    assert create(ada, secret="ü" * 8)["secret"] == "ü" * 8
    invalid(ada.post("/webhooks", {**HOOK, "secret": "ü" * 7}), "secret")


def test_changing(app, ada):
    made = create(ada)
    path = f"/webhooks/{made['id']}"
    changed = ok(ada.patch(path, {"is_active": False, "event_types": ["wiki.*", "wiki.*"]}))
    assert (changed["is_active"], changed["event_types"]) == (False, ["wiki.*"])
    assert "secret" not in changed
    ok(ada.patch(path, {"is_active": False}))
    (event,) = events(app, event_type="webhook.updated")
    assert event.payload["changes"]["is_active"] == {"from": True, "to": False}
    invalid(ada.patch(path, {"secret": SECRET * 2}), "secret")
    invalid(ada.patch(path, {"id": made["id"]}), "id", "immutable")


def test_rotating(app, ada):
    path = f"/webhooks/{create(ada)['id']}"
    rotated = ok(ada.patch(f"{path}?rotate_secret=true", {"secret": "another sixteen bytes"}))
    assert rotated["secret"] == "another sixteen bytes"
    assert "secret" not in ok(ada.get(path))
    assert len(events(app, event_type="webhook.secret_rotated")) == 1
    assert events(app, event_type="webhook.updated") == []
    for empty in ({}, {"is_active": False}):
        refused(
            ada.patch(f"{path}?rotate_secret=true", empty),
            409,
            "resource.conflict",
            reason="invariant_violation",
        )
    assert ok(ada.get(path))["is_active"] is True
    malformed(ada.patch(f"{path}?rotate_secret=1", {}), ["query", "rotate_secret"], "invalid_value")


def test_deleting(app, ada):
    path = f"/webhooks/{create(ada)['id']}"
    ok(ada.delete(path), 204)
    refused(ada.get(path), 404, "resource.not_found", resource="webhook")
    refused(ada.delete(path), 404, "resource.not_found")
    refused(ada.patch(path, {}), 404, "resource.not_found")
    assert ok(ada.get(f"{path}/deliveries"))["data"] == []
    assert len(events(app, event_type="webhook.deleted")) == 1


def test_an_idempotency_key_subscribes_once(ada):
    headers = {"Idempotency-Key": "k"}
    first = ada.post("/webhooks", HOOK, headers=headers)
    again = ada.post("/webhooks", HOOK, headers=headers)
    assert again.data == first.data
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(ok(ada.get("/webhooks"))["data"]) == 1


def test_unknown_ids(ada):
    for unknown in ("x", "00000000-0000-7000-8000-000000000000"):
        refused(ada.get(f"/webhooks/{unknown}"), 404, "resource.not_found", resource="webhook")
        refused(ada.get(f"/webhooks/{unknown}/deliveries"), 404, "resource.not_found")
    made = create(ada)
    refused(
        ada.post(f"/webhooks/{made['id']}/deliveries/x/retry"),
        404,
        "resource.not_found",
        resource="delivery",
    )


def test_filters_of_deliveries(ada):
    path = f"/webhooks/{create(ada)['id']}/deliveries"
    malformed(ada.get(f"{path}?status=done"), ["query", "status"], "invalid_value")
    malformed(ada.get(f"{path}?since=now"), ["query", "since"], "invalid_value")
    malformed(ada.get(f"{path}?attempt_min=x"), ["query", "attempt_min"], "invalid_type")
    for number in ("-1", "2147483648", "9" * 18):
        assert ok(ada.get(f"{path}?attempt_min={number}"))["data"] == []
