import pytest

from tests.accounts.helpers import (
    API,
    at_once,
    cookie_of,
    details,
    error,
    event_types,
    events,
    me_by_key,
    new_bot,
    new_project,
    only,
)

BOTS = f"{API}/bots"
NOBODY = "00000000-0000-7000-8000-000000000000"


CHANGES = {
    "display_name": ("bot-test-1", "Triage"),
    "mode": ("write", "read"),
    "can_edit_global_wiki": (False, True),
    "rate_limit_per_minute": (60, 1),
}


@pytest.mark.parametrize("field", CHANGES)
def test_update_changes_one_field_and_records_it(app, admin, field):
    bot, _ = new_bot(admin)
    before, after = CHANGES[field]
    answer = admin.patch(f"{BOTS}/{bot['id']}", json={field: after})
    assert answer.status_code == 200
    assert answer.json == {**bot, field: after, "updated_at": answer.json["updated_at"]}
    assert answer.json["updated_at"] > bot["updated_at"]
    assert admin.get(f"{BOTS}/{bot['id']}").json == answer.json
    event = only(app, "bot.updated")
    assert event.payload == {"changes": {field: {"from": before, "to": after}}}
    assert (event.target_kind, event.target_id) == ("bot", bot["id"])


def test_update_of_the_allowlist(app, admin):
    one, two = new_project(admin, "ONE"), new_project(admin, "TWO")
    bot, _ = new_bot(admin)
    path = f"{BOTS}/{bot['id']}"
    assert admin.patch(path, json={"project_ids": [one, two]}).json["project_ids"] == [one, two]
    # A different order is the same allowlist.
    assert admin.patch(path, json={"project_ids": [two, one]}).json["project_ids"] == [one, two]
    assert admin.patch(path, json={"project_ids": []}).json["project_ids"] == []
    changes = [event.payload["changes"] for event in events(app, "bot.updated")]
    assert changes == [
        {"project_ids": {"from": [], "to": [one, two]}},
        {"project_ids": {"from": [one, two], "to": []}},
    ]


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"display_name": " bot-test-1 "},
        {"mode": "write", "project_ids": [], "is_active": True, "rate_limit_per_minute": 60},
    ],
)
def test_update_that_changes_nothing_emits_nothing(app, admin, body):
    bot, _ = new_bot(admin)
    before = event_types(app)
    answer = admin.patch(f"{BOTS}/{bot['id']}", json=body)
    assert (answer.status_code, answer.json) == (200, bot)
    assert event_types(app) == before


@pytest.mark.one_database
@pytest.mark.parametrize(
    "field",
    ["id", "type", "username", "active_token", "created_by_user_id", "created_at", "updated_at"],
)
def test_update_refuses_immutable_fields(admin, field):
    bot, _ = new_bot(admin)
    answer = admin.patch(f"{BOTS}/{bot['id']}", json={field: bot[field]})
    assert error(answer) == (422, "validation.invalid_field")
    assert details(answer) == {"field": field, "reason": "immutable"}


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"plaintext_token": "x"}, "request.validation_error"),
        ({"is_active": 0}, "request.validation_error"),
        ({"mode": "rw"}, "request.validation_error"),
        ({"project_ids": [5]}, "request.validation_error"),
        ({"project_ids": [NOBODY]}, "validation.invalid_field"),
        ({"display_name": ""}, "validation.invalid_field"),
        ({"rate_limit_per_minute": -1}, "validation.invalid_field"),
    ],
)
def test_update_checks_its_fields(app, admin, body, code):
    bot, _ = new_bot(admin)
    answer = admin.patch(f"{BOTS}/{bot['id']}", json=body)
    assert error(answer) == (422, code)
    assert admin.get(f"{BOTS}/{bot['id']}").json == bot
    assert events(app, "bot.updated") == []


def test_updates_at_once_lose_nothing(app, admin):
    bot, _ = new_bot(admin)
    token = cookie_of(admin)
    bodies = [
        {"display_name": "Triage"}, {"mode": "read"}, {"can_edit_global_wiki": True},
        {"rate_limit_per_minute": 9},
    ]  # fmt: skip

    def patch(number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        return browser.patch(f"{BOTS}/{bot['id']}", json=bodies[number]).status_code

    assert at_once(4, patch) == [200] * 4
    found = admin.get(f"{BOTS}/{bot['id']}").json
    assert all(body.items() <= found.items() for body in bodies)


def test_disabling_and_enabling(app, admin):
    bot, token = new_bot(admin)
    path = f"{BOTS}/{bot['id']}"
    assert me_by_key(app, token).status_code == 200
    answer = admin.patch(path, json={"is_active": False, "display_name": "Off"})
    assert answer.json["is_active"] is False
    assert error(me_by_key(app, token)) == (401, "auth.invalid_credentials")
    assert admin.patch(path, json={"is_active": True}).json["is_active"] is True
    # Its token was not revoked, so it works again.
    assert me_by_key(app, token).status_code == 200
    assert [event for event in event_types(app) if event.startswith("bot.")] == [
        "bot.created", "bot.token.created", "bot.updated", "bot.disabled", "bot.updated",
        "bot.enabled",
    ]  # fmt: skip
    assert events(app, "bot.updated")[0].payload == {
        "changes": {
            "is_active": {"from": True, "to": False},
            "display_name": {"from": "bot-test-1", "to": "Off"},
        }
    }
    assert only(app, "bot.enabled").payload == {"username": "bot-test-1"}


def test_delete_deactivates_once_and_answers_204_again(app, admin):
    bot, token = new_bot(admin)
    path = f"{BOTS}/{bot['id']}"
    for _ in range(2):
        answer = admin.delete(path)
        assert (answer.status_code, answer.data) == (204, b"")
    assert error(me_by_key(app, token)) == (401, "auth.invalid_credentials")
    found = admin.get(path).json
    assert found["is_active"] is False
    assert found["active_token"]["id"] == bot["active_token"]["id"]
    event = only(app, "bot.disabled")
    assert event.payload == {"username": "bot-test-1"}
    assert events(app, "bot.updated") == []
