import pytest

from tests.accounts.helpers import (
    API,
    PASSWORD,
    WEB,
    at_once,
    cookie_of,
    details,
    error,
    events,
    key_of,
    logged_in,
    new_bot,
    new_human,
    only,
    try_login,
)
from tests.support.cases import cases

CHANGE = f"{API}/auth/change-password"
ME = f"{API}/auth/me"
NEW = "another horse battery"
BODY = {"current_password": PASSWORD, "new_password": NEW}


def change(client, headers=WEB, **fields):
    return client.post(CHANGE, json={**BODY, **fields}, headers=headers)


def test_change_keeps_this_session_and_ends_the_others(app, admin):
    others = [logged_in(app, "ada") for _ in range(2)]
    new_human(admin, "grace")
    grace = logged_in(app, "grace")
    before = cookie_of(admin)
    answer = change(admin)
    assert (answer.status_code, answer.data) == (204, b"")
    assert cookie_of(admin) == before
    assert admin.get(ME).status_code == 200
    for other in others:
        assert error(other.get(ME)) == (401, "auth.unauthenticated")
    assert grace.get(ME).status_code == 200
    assert error(try_login(app.test_client(), "ada")) == (401, "auth.invalid_credentials")
    assert try_login(app.test_client(), "ada", NEW).status_code == 200


def test_change_is_recorded_without_a_password(app, admin):
    change(admin)
    event = only(app, "user.updated")
    assert event.payload == {"password_changed": True}
    assert event.actor_user_id == event.target_id == admin.get(ME).json["id"]


@cases(
    "fields, refusal",
    [
        ({"current_password": NEW}, (400, "auth.current_password_invalid")),
        ({"current_password": ""}, (400, "auth.current_password_invalid")),
        # The current password is checked first.
        ({"current_password": "x", "new_password": "y"}, (400, "auth.current_password_invalid")),
        ({"current_password": "x", "new_password": "x"}, (400, "auth.current_password_invalid")),
        ({"new_password": "a" * 11}, (400, "validation.password_too_short")),
        ({"new_password": ""}, (400, "validation.password_too_short")),
        ({"new_password": PASSWORD}, (400, "validation.password_unchanged")),
        ({"new_password": "a" * 1025}, (422, "validation.invalid_field")),
        ({"new_password": "a" * 12 + "\x00"}, (422, "validation.invalid_field")),
        ({"current_password": "a" * 1025}, (422, "validation.invalid_field")),
        ({"new_password": None}, (422, "request.validation_error")),
        ({"password": PASSWORD}, (422, "request.validation_error")),
    ],
)
def test_refused_change_changes_nothing(app, admin, fields, refusal):
    other = logged_in(app, "ada")
    answer = change(admin, **fields)
    assert error(answer) == refusal
    if refusal[0] == 400:
        assert "details" not in answer.json["error"]
    assert other.get(ME).status_code == 200
    assert try_login(app.test_client(), "ada").status_code == 200
    assert events(app, "user.updated") == []


@pytest.mark.parametrize("value", [None, "", "Web", "api"])
def test_change_needs_the_header_of_our_pages(admin, value):
    headers = {} if value is None else {"X-Requested-By": value}
    answer = change(admin, headers=headers)
    assert error(answer) == (403, "auth.forbidden")
    assert details(answer) == {"reason": "missing_requested_by"}


def test_header_is_checked_before_the_form(admin):
    assert error(admin.post(CHANGE, json={}))[1] == "auth.forbidden"
    assert error(admin.post(CHANGE, json={}, headers=WEB))[1] == "request.validation_error"


def test_change_is_for_humans(app, admin, client):
    assert error(change(client)) == (401, "auth.unauthenticated")
    _, token = new_bot(admin)
    answer = change(client, headers={**WEB, **key_of(token)})
    assert error(answer) == (403, "auth.forbidden")
    assert details(answer) == {"reason": "humans_only"}


def test_of_changes_at_once_one_wins_and_its_password_counts(app, admin):
    browsers = [logged_in(app, "ada") for _ in range(5)]
    answers = at_once(
        5, lambda number: change(browsers[number], new_password=f"{NEW} {number}").status_code
    )
    assert answers.count(204) == 1
    # The winner ended the sessions of the others, or changed their current password.
    assert set(answers) <= {204, 400, 401}
    winner = answers.index(204)
    assert try_login(app.test_client(), "ada", f"{NEW} {winner}").status_code == 200
    assert browsers[winner].get(ME).status_code == 200
    only(app, "user.updated")


def test_of_changes_at_once_in_one_session_one_wins(app, admin):
    token = cookie_of(admin)

    def one(number):
        browser = app.test_client()
        browser.set_cookie("app_session", token)
        answer = change(browser, new_password=f"{NEW} {number}")
        return answer.status_code if answer.status_code == 204 else error(answer)

    answers = at_once(5, one)
    assert answers.count(204) == 1
    assert answers.count((400, "auth.current_password_invalid")) == 4
    assert try_login(app.test_client(), "ada", f"{NEW} {answers.index(204)}").status_code == 200


def test_wrong_passwords_count_like_logins_and_are_audited(app, admin):
    for _ in range(5):
        assert error(change(admin, current_password="wrong")) == (
            400,
            "auth.current_password_invalid",
        )
    events_ = [event for event in events(app) if event.event_type == "auth.password.failure"]
    assert [event.payload for event in events_] == [{"username": "ada"}] * 5
    assert {event.actor_user_id for event in events_} == {admin.get(ME).json["id"]}
    answer = change(admin)
    assert error(answer) == (429, "rate_limit.exceeded")
    assert int(answer.headers["Retry-After"]) > 0
    # The windows are shared with the login.
    assert error(try_login(app.test_client(), "ada")) == (429, "rate_limit.exceeded")


def test_right_passwords_do_not_count(admin):
    for number in range(7):
        old, new = (
            f"{word} horse battery" for word in (("one", "two") if number % 2 else ("two", "one"))
        )
        body = {"current_password": PASSWORD if number == 0 else old, "new_password": new}
        assert admin.post(CHANGE, json=body, headers=WEB).status_code == 204


def test_passwords_that_are_guessed_first_are_refused(app, admin):
    person = new_human(admin, "adalovelace")
    mine = logged_in(app, "adalovelace")
    refusal = (400, "validation.password_too_common")
    path = f"{API}/users/{person['id']}"
    for new in ("password1234", "I am ADALOVELACE", "docket is fine"):
        assert error(change(mine, new_password=new)) == refusal, new
        assert error(admin.patch(path, json={"password": new})) == refusal, new
        made = admin.post(f"{API}/users", json={"username": "adalovelace", "password": new})
        assert error(made) == refusal, new
        form = {"current_password": PASSWORD, "new_password": new}
        page = mine.post("/profile/password", data=form)
        assert (page.status_code, "easy to guess" in page.text) == (422, True), new
