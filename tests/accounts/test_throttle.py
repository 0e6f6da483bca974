import pytest
from argon2 import PasswordHasher
from sqlalchemy import func, select, update

from app.accounts import login, throttle
from app.accounts.models import LoginBucket, User
from app.core.errors import Unavailable
from app.database.session import reading, session
from tests.accounts.helpers import (
    PASSWORD,
    at_once,
    details,
    error,
    events,
    new_human,
    only,
    set_up,
    try_login,
    write,
)

WRONG = "wrong horse battery"
MINUTE = 60_000


class Clock:
    """A clock that tests can set."""

    def __init__(self, moment):
        self.moment = moment

    def __call__(self):
        return self.moment


@pytest.fixture
def clock(monkeypatch):
    clock = Clock(throttle.now_ms())
    monkeypatch.setattr(throttle, "now_ms", clock)
    return clock


def fail(client, username="ada", address="10.0.0.1", times=1):
    for _ in range(times):
        assert error(try_login(client, username, WRONG, address)) == (
            401,
            "auth.invalid_credentials",
        )


def refused(client, username="ada", address="10.0.0.1", password=PASSWORD):
    answer = try_login(client, username, password, address)
    assert error(answer) == (429, "rate_limit.exceeded")
    seconds = details(answer)["retry_after_seconds"]
    assert answer.headers["Retry-After"] == str(seconds)
    return seconds


def test_sixth_attempt_of_a_username_is_refused_from_any_address(app, client):
    set_up(app)
    for number in range(5):
        fail(client, address=f"10.0.0.{number}")
    assert 890 <= refused(client, address="10.0.0.99") <= 900


def test_sixth_attempt_of_an_address_is_refused_for_any_username(app, client):
    set_up(app)
    for number in range(5):
        fail(client, username=f"nobody-{number}")
    refused(client, username="ada")
    assert try_login(client, "ada", address="10.0.0.2").status_code == 200


def test_refused_attempts_reach_no_hasher_and_prolong_nothing(app, client, clock, monkeypatch):
    set_up(app)
    fail(client, times=5)
    monkeypatch.setattr(PasswordHasher, "verify", lambda *_: pytest.fail("hashed"))
    seconds = [refused(client)]
    for _ in range(10):
        clock.moment += 30_000
        seconds.append(refused(client))
    assert seconds == [900 - 30 * number for number in range(11)]


def test_window_slides_to_the_millisecond(app, client, clock):
    set_up(app)
    start = clock.moment
    for number in range(5):
        clock.moment = start + number * MINUTE
        fail(client)
    clock.moment = start + 15 * MINUTE - 1
    assert refused(client) == 1
    clock.moment += 1
    fail(client)
    assert refused(client) == 60


def test_retry_after_is_that_of_the_window_that_opens_last(app, client, clock):
    set_up(app)
    fail(client, address="10.0.0.1", username="nobody", times=5)
    clock.moment += 5 * MINUTE
    fail(client, address="10.0.0.2", times=5)
    clock.moment += 5 * MINUTE
    assert refused(client, address="10.0.0.1") == 600
    assert refused(client, address="10.0.0.1", username="somebody") == 300


def test_success_takes_back_its_own_attempt_alone(app, client):
    set_up(app)
    fail(client, times=4)
    for _ in range(7):
        assert try_login(client, "ada", address="10.0.0.1").status_code == 200
    fail(client)
    refused(client)


def test_refused_body_counts_for_nothing(app, client):
    set_up(app)
    for body in (
        {},
        {"username": "ada"},
        {"username": "ada", "password": 5},
        {"username": "ada", "password": "a" * 1025},
        {"username": "a" * 65, "password": "b"},
    ):
        for _ in range(3):
            answer = client.post("/api/v1/auth/login", json=body)
            assert answer.status_code == 422
    fail(client, times=5, address="127.0.0.1")


def test_busy_hasher_counts_for_nothing(app, client, monkeypatch):
    set_up(app)

    def busy(*_):
        raise Unavailable

    with monkeypatch.context() as patch:
        patch.setattr(login.passwords, "verify", busy)
        for _ in range(6):
            assert error(try_login(client, "ada", address="10.0.0.1")) == (
                503,
                "server.unavailable",
            )
    fail(client, times=5)


def test_no_spelling_of_a_username_escapes_its_window(app, client):
    set_up(app)
    for number, spelling in enumerate(("ADA", " ada ", "ａｄａ", "Ada\u2003", "ada")):
        fail(client, username=spelling, address=f"10.0.1.{number}")
    refused(client, username="ada", address="10.0.0.9")
    refused(client, username="ADA", address="10.0.0.9")


def test_any_spelling_logs_in(app, client):
    set_up(app)
    assert try_login(client, " ＡDA ").status_code == 200


@pytest.mark.parametrize(
    ("first", "second"),
    [("::ffff:10.0.0.1", "10.0.0.1"), ("2001:db8:1:2::1", "2001:db8:1:2:ffff::9")],
)
def test_two_forms_of_one_network_share_a_window(app, client, first, second):
    set_up(app)
    for number in range(5):
        fail(client, username=f"nobody-{number}", address=first)
    refused(client, username="other", address=second)


def test_another_network_has_another_window(app, client):
    set_up(app)
    for number in range(5):
        fail(client, username=f"nobody-{number}", address="2001:db8:1:2::1")
    fail(client, username="other", address="2001:db8:1:3::1")


def test_a_site_of_ipv6_has_twenty_attempts_however_many_networks_it_has(app, client):
    set_up(app)
    for number in range(20):
        fail(client, username=f"nobody-{number}", address=f"2001:db8:1:{number}::1")
    refused(client, username="ada", address="2001:db8:1:ffff::1")
    assert try_login(client, "ada", address="2001:db8:2:1::1").status_code == 200
    # Refused requests of a full site add no rows.
    with app.app_context(), reading():
        rows = session.scalar(select(func.count()).select_from(LoginBucket))
    refused(client, username="bo", address="2001:db8:1:fffe::1")
    with app.app_context(), reading():
        assert session.scalar(select(func.count()).select_from(LoginBucket)) == rows


def test_clock_set_back_neither_locks_out_for_longer_nor_forgets(app, client, clock):
    set_up(app)
    fail(client, times=5)
    clock.moment -= 60 * MINUTE
    assert refused(client) == 900
    clock.moment += 5 * MINUTE
    assert refused(client) == 600
    clock.moment += 10 * MINUTE
    fail(client, times=5)
    refused(client)


def test_exhausted_address_makes_no_rows_of_usernames(app, client):
    set_up(app)
    fail(client, times=5, username="nobody")
    for number in range(10):
        refused(client, username=f"made-up-{number}")
    with app.app_context(), reading():
        assert session.scalar(select(func.count()).select_from(LoginBucket)) == 2


def test_table_names_nobody(app, client):
    set_up(app)
    fail(client)
    with app.app_context(), reading():
        keys = session.scalars(select(LoginBucket.key_hash)).all()
    assert len(keys) == 2
    assert all(len(key) == 64 and int(key, 16) for key in keys)


def test_exhaustion_is_recorded_once_per_bucket_and_window(app, client, clock):
    set_up(app)
    fail(client, times=5)
    for _ in range(4):
        refused(client)
    recorded = events(app, "auth.login.rate_limited")
    assert sorted(event.payload["bucket"] for event in recorded) == ["address", "username"]
    assert {event.payload["username"] for event in recorded} == {"ada"}
    assert {event.payload["retry_after_seconds"] for event in recorded} == {900}
    assert {(event.actor_kind, event.actor_user_id) for event in recorded} == {("system", None)}
    assert {event.category for event in recorded} == {"audit_only"}
    clock.moment += 15 * MINUTE
    fail(client, times=5)
    refused(client)
    assert len(events(app, "auth.login.rate_limited")) == 4


def test_of_64_parallel_wrong_logins_exactly_5_reach_the_hasher(app, monkeypatch):
    set_up(app)
    hashed = []
    verify = PasswordHasher.verify

    def spy(self, stored, password):
        hashed.append(password)
        return verify(self, stored, password)

    monkeypatch.setattr(PasswordHasher, "verify", spy)
    answers = at_once(
        64,
        lambda number: try_login(app.test_client(), "ada", WRONG, f"10.0.{number}.1").status_code,
    )
    assert (answers.count(401), answers.count(429)) == (5, 59)
    assert len(hashed) == 5
    assert len(events(app, "auth.login.failure")) == 5
    assert only(app, "auth.login.rate_limited").payload["bucket"] == "username"


def test_parallel_logins_of_many_usernames_from_one_address_share_its_window(app):
    set_up(app)
    answers = at_once(
        32,
        lambda number: (
            try_login(app.test_client(), f"nobody-{number % 7}", WRONG, "10.9.9.9").status_code
        ),
    )
    assert (answers.count(401), answers.count(429)) == (5, 27)


def test_parallel_good_logins_give_every_place_back(app, client):
    admin = set_up(app)
    new_human(admin, "grace")
    for _ in range(2):
        answers = at_once(
            5, lambda number: try_login(app.test_client(), "grace", address="10.0.0.1").status_code
        )
        assert answers == [200] * 5
    with app.app_context(), reading():
        assert session.scalars(select(LoginBucket.hits)).all() == [[], []]


def test_row_that_retention_removed_is_made_again(app, client, monkeypatch):
    set_up(app)
    real = throttle._lock
    lost = iter([True])

    def lose(bucket):
        return None if next(lost, False) else real(bucket)

    monkeypatch.setattr(throttle, "_lock", lose)
    fail(client)


def test_password_rehashed_by_another_login_is_judged_anew(app, client, monkeypatch):
    set_up(app)
    real, fresh = login.passwords.verify, []

    def changing(stored, password, cost):
        verdict = real(stored, password, cost)
        if not fresh:
            fresh.append(login.passwords.hash_new(PASSWORD, cost))
            write(app, update(User).values(password_hash=fresh[0]))
        return verdict

    monkeypatch.setattr(login.passwords, "verify", changing)
    assert try_login(client, "ada").status_code == 200
