import pytest
from sqlalchemy import select

from app.accounts.models import BotToken, User
from app.database.session import reading, session
from tests.accounts.helpers import (
    API,
    at_once,
    cookie_of,
    details,
    error,
    event_types,
    key_of,
    me_by_key,
    new_bot,
    new_human,
    new_project,
    only,
)
from tests.support.cases import cases

BOTS = f"{API}/bots"
ME = f"{API}/auth/me"
NOBODY = "00000000-0000-7000-8000-000000000000"
MANY = [f"{NOBODY[:-5]}{number:05d}" for number in range(501)]
BODY = {"username": "bot-triage-1", "mode": "read"}
KEYS = [
    "id", "type", "username", "display_name", "mode", "project_ids", "can_edit_global_wiki",
    "rate_limit_per_minute", "is_active", "is_paused", "active_token", "created_by_user_id",
    "created_at", "updated_at",
]  # fmt: skip


def test_create_answers_the_bot_and_its_token_once(app, admin):
    answer = admin.post(BOTS, json=BODY)
    assert answer.status_code == 201
    assert list(answer.json) == ["bot", "plaintext_token"]
    bot, token = answer.json["bot"], answer.json["plaintext_token"]
    assert list(bot) == KEYS
    assert bot | {"id": 0, "active_token": 0, "created_at": 0, "updated_at": 0} == {
        "id": 0,
        "type": "bot",
        "username": "bot-triage-1",
        "display_name": "bot-triage-1",
        "mode": "read",
        "project_ids": [],
        "can_edit_global_wiki": False,
        "rate_limit_per_minute": 60,
        "is_active": True,
        "is_paused": False,
        "active_token": 0,
        "created_by_user_id": admin.get(ME).json["id"],
        "created_at": 0,
        "updated_at": 0,
    }
    shown = bot["active_token"]
    assert shown == {
        "id": shown["id"],
        "prefix": token[4:12],
        "issued_at": shown["issued_at"],
        "rotated_at": None,
        "revoked_at": None,
        "last_used_at": None,
    }
    assert answer.headers["Location"] == f"http://localhost/api/v1/bots/{bot['id']}"
    assert admin.get(f"{BOTS}/{bot['id']}").json == bot
    assert me_by_key(app, token).json["id"] == bot["id"]


def test_create_is_recorded_without_the_token(app, admin):
    project = new_project(admin, "OPS")
    bot, token = new_bot(admin, display_name="Triage", project_ids=[project])
    created, issued = only(app, "bot.created"), only(app, "bot.token.created")
    assert created.payload == {
        "username": "bot-test-1",
        "display_name": "Triage",
        "mode": "write",
        "project_ids": [project],
        "can_edit_global_wiki": False,
    }
    assert issued.payload == {
        "token_id": bot["active_token"]["id"],
        "token_prefix": token[4:12],
    }
    for event in (created, issued):
        assert (event.target_kind, event.target_id) == ("bot", bot["id"])
        assert event.actor_user_id == admin.get(ME).json["id"]
        assert event.category == "audit_only"
        assert token not in str(event.payload)
        assert token[12:] not in str(event.payload)


def test_plaintext_is_stored_nowhere(app, admin):
    _, token = new_bot(admin)
    with app.app_context(), reading():
        row = session.scalars(select(BotToken)).one()
        user = session.get(User, row.bot_user_id)
    assert token[12:] not in str(vars(row)) + str(vars(user))
    assert len(row.token_hash) == 64


def test_create_takes_every_field(admin):
    projects = [new_project(admin, key) for key in ("ONE", "TWO")]
    fields = {
        "display_name": "Triage", "mode": "write", "project_ids": projects,
        "can_edit_global_wiki": True, "rate_limit_per_minute": 7,
    }  # fmt: skip
    answer = admin.post(BOTS, json={**BODY, **fields, "client_request_id": "mine"})
    assert answer.json["client_request_id"] == "mine"
    assert fields.items() <= answer.json["bot"].items()


def test_project_named_twice_counts_once(admin):
    project = new_project(admin, "OPS")
    bot, _ = new_bot(admin, project_ids=[project, project.upper()])
    assert bot["project_ids"] == [project]


def test_settings_give_the_defaults_of_new_bots_alone(admin, setting):
    old, _ = new_bot(admin, "bot-old")
    setting("bot_can_edit_global_wiki_default", True)
    setting("default_rate_limit_per_minute", 120)
    new, _ = new_bot(admin, "bot-new")
    assert (new["can_edit_global_wiki"], new["rate_limit_per_minute"]) == (True, 120)
    assert admin.get(f"{BOTS}/{old['id']}").json == old
    told, _ = new_bot(admin, "bot-told", can_edit_global_wiki=False)
    assert told["can_edit_global_wiki"] is False


@cases(
    "fields, found",
    [
        ({"username": "Bot"}, ("username", "pattern")),
        ({"username": "b" * 65}, ("username", "too_long")),
        ({"display_name": " "}, ("display_name", "blank")),
        ({"display_name": "b" * 201}, ("display_name", "too_long")),
        ({"project_ids": [NOBODY]}, ("project_ids", "not_found")),
        ({"project_ids": MANY}, ("project_ids", "too_long")),
        ({"rate_limit_per_minute": 0}, ("rate_limit_per_minute", "out_of_range")),
        ({"rate_limit_per_minute": 2**52}, ("rate_limit_per_minute", "out_of_range")),
        ({"client_request_id": "b" * 129}, ("client_request_id", "too_long")),
    ],
)  # fmt: skip
def test_create_refuses_what_breaks_a_rule(app, admin, fields, found):
    before = event_types(app)
    answer = admin.post(BOTS, json={**BODY, **fields})
    assert error(answer) == (422, "validation.invalid_field")
    assert (details(answer)["field"], details(answer)["reason"]) == found
    assert event_types(app) == before


@pytest.mark.one_database
@pytest.mark.parametrize(
    ("fields", "loc", "kind"),
    [
        ({"mode": "admin"}, ["body", "mode"], "invalid_value"),
        ({"mode": None}, ["body", "mode"], "invalid_type"),
        ({"username": 5}, ["body", "username"], "invalid_type"),
        ({"project_ids": "all"}, ["body", "project_ids"], "invalid_type"),
        ({"project_ids": ["OPS"]}, ["body", "project_ids", 0], "invalid_value"),
        ({"project_ids": None}, ["body", "project_ids"], "invalid_type"),
        ({"can_edit_global_wiki": "yes"}, ["body", "can_edit_global_wiki"], "invalid_type"),
        ({"rate_limit_per_minute": True}, ["body", "rate_limit_per_minute"], "invalid_type"),
        ({"rate_limit_per_minute": 1.5}, ["body", "rate_limit_per_minute"], "invalid_type"),
        ({"is_active": False}, ["body", "is_active"], "unknown_field"),
        ({"password": "x"}, ["body", "password"], "unknown_field"),
    ],
)
def test_create_checks_the_form(admin, fields, loc, kind):
    answer = admin.post(BOTS, json={**BODY, **fields})
    assert error(answer) == (422, "request.validation_error")
    assert (loc, kind) in [(e["loc"], e["type"]) for e in details(answer)["errors"]]


@pytest.mark.parametrize("missing", ["username", "mode"])
def test_create_needs_username_and_mode(admin, missing):
    answer = admin.post(BOTS, json={k: v for k, v in BODY.items() if k != missing})
    assert details(answer)["errors"][0]["loc"] == ["body", missing]


@pytest.mark.parametrize("taken", ["ada", "bot-test-1"])
def test_username_is_unique_and_stays_reserved(app, admin, taken):
    bot, _ = new_bot(admin, "bot-test-1")
    admin.delete(f"{BOTS}/{bot['id']}")
    before = event_types(app)
    answer = admin.post(BOTS, json={**BODY, "username": taken})
    assert error(answer) == (409, "resource.conflict")
    assert details(answer) == {"reason": "duplicate_key", "field": "username"}
    assert event_types(app) == before


def test_deleted_project_is_refused_anew_and_kept_where_it_stands(admin):
    gone, kept = new_project(admin, "GONE"), new_project(admin, "KEPT")
    bot, _ = new_bot(admin, "bot-old", project_ids=[gone])
    assert admin.delete(f"{API}/projects/{gone}").status_code == 204
    assert admin.get(f"{BOTS}/{bot['id']}").json["project_ids"] == [gone]
    answer = admin.post(BOTS, json={**BODY, "project_ids": [gone]})
    assert error(answer) == (422, "validation.invalid_field")
    answer = admin.patch(f"{BOTS}/{bot['id']}", json={"project_ids": [gone, kept]})
    assert answer.json["project_ids"] == [gone, kept]
    assert admin.patch(f"{BOTS}/{bot['id']}", json={"project_ids": [kept]}).status_code == 200
    answer = admin.patch(f"{BOTS}/{bot['id']}", json={"project_ids": [gone]})
    assert error(answer) == (422, "validation.invalid_field")


def test_same_idempotency_key_replays_the_token_and_makes_one_bot(app, admin):
    headers = {"Idempotency-Key": "once"}
    first = admin.post(BOTS, json=BODY, headers=headers)
    again = admin.post(BOTS, json=BODY, headers=headers)
    assert first.status_code == again.status_code == 201
    assert again.data == first.data
    assert again.headers["Location"] == first.headers["Location"]
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    only(app, "bot.created")
    other = admin.post(BOTS, json={**BODY, "mode": "write"}, headers=headers)
    assert error(other) == (409, "resource.conflict")
    assert details(other)["reason"] == "idempotency_mismatch"


def test_one_key_used_at_once_makes_one_bot(app, admin):
    token = cookie_of(admin)

    def create(_number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        return browser.post(BOTS, json=BODY, headers={"Idempotency-Key": "once"}).data

    assert len(set(at_once(8, create))) == 1
    only(app, "bot.created")


def test_list_shows_bots_alone_newest_first_page_by_page(admin):
    new_human(admin, "grace")
    bots = [new_bot(admin, f"bot-{number}")[0] for number in range(5)]
    admin.post(f"{BOTS}/{bots[2]['id']}/tokens/revoke")
    bots[2]["active_token"] = None
    bots.reverse()
    assert admin.get(BOTS).json == {
        "data": bots,
        "page": {"next_cursor": None, "has_more": False},
    }
    first = admin.get(f"{BOTS}?limit=2").json
    second = admin.get(f"{BOTS}?limit=3&cursor={first['page']['next_cursor']}").json
    assert first["data"] + second["data"] == bots
    assert (first["page"]["has_more"], second["page"]["has_more"]) == (True, False)


def test_list_never_shows_a_plaintext(admin):
    _, token = new_bot(admin)
    for path in (BOTS, f"{API}/users"):
        assert token[12:] not in admin.get(path).text


ENDPOINTS = [
    ("GET", ""), ("POST", ""), ("GET", "/{bot}"), ("PATCH", "/{bot}"), ("DELETE", "/{bot}"),
    ("POST", "/{bot}/tokens/rotate"), ("POST", "/{bot}/tokens/revoke"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "path"), ENDPOINTS)
def test_bots_are_managed_by_humans_alone(app, admin, method, path):
    before, tokens = None, {}
    for mode in ("read", "write"):
        bot, tokens[mode] = new_bot(admin, f"bot-{mode}", mode=mode)
    before = event_types(app)
    address = BOTS + path.format(bot=bot["id"])
    assert error(app.test_client().open(address, method=method)) == (401, "auth.unauthenticated")
    for token in tokens.values():
        answer = app.test_client().open(address, method=method, headers=key_of(token))
        assert error(answer) == (403, "auth.forbidden")
        assert details(answer) == {"reason": "humans_only"}
    assert event_types(app) == [*before, "auth.bot.success", "auth.bot.success"]


@cases("method, path", ENDPOINTS[2:])
@cases("kind", ["nobody", "no uuid", "human"])
def test_what_is_no_bot_is_not_found(admin, method, path, kind):
    identifier = {"nobody": NOBODY, "no uuid": "triage", "human": admin.get(ME).json["id"]}[kind]
    answer = admin.open(BOTS + path.format(bot=identifier), method=method, json={})
    assert error(answer) == (404, "resource.not_found")
    assert details(answer) == {"resource": "bot", "id": identifier}
