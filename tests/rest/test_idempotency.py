"""Idempotency-Key: one sealed response per actor and key, stored only for successes."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest
from sqlalchemy import select, text

from app.core.clock import HOUR_MS, now_ms
from app.database import encryption
from app.database.idempotency import IdempotencyRecord
from app.database.session import reading, run_write, session
from tests.support.story import event_types, invalid, make_ticket, ok, refused

KEY = {"Idempotency-Key": "a key of mine"}


@pytest.fixture(name="tickets")
def _tickets(cast):
    return f"/projects/{cast.open_project}/tickets"


def count(cast):
    return len(ok(cast.ada.get("/tickets"))["data"])


def test_a_replay_is_the_first_answer_to_the_byte(app, cast, tickets):
    body = {"title": "Once", "client_request_id": "mine"}
    first = cast.ada.post(tickets, body, headers=KEY)
    again = cast.ada.post(tickets, body, headers=KEY)
    assert first.status_code == again.status_code == 201
    assert first.data == again.data
    for name in ("Location", "ETag", "Content-Type"):
        assert first.headers[name] == again.headers[name]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.headers["X-Request-Id"] != again.headers["X-Request-Id"]
    assert count(cast) == 1
    assert event_types(app).count("ticket.created") == 1


def test_a_replay_shows_what_was_then(cast, tickets):
    ticket = ok(cast.ada.post(tickets, {"title": "Then"}, headers=KEY), 201)
    ok(cast.ada.patch(f"/tickets/{ticket['id']}", {"title": "Now"}))
    assert ok(cast.ada.post(tickets, {"title": "Then"}, headers=KEY), 201)["title"] == "Then"


def test_the_same_json_written_otherwise_is_the_same_request(cast, tickets):
    one = b'{"title": "Once", "body": "x"}'
    other = b'{ "body":"\\u0078" ,"title":"Once" }'
    for raw in (one, other):
        response = cast.ada.call(
            "POST", tickets, data=raw, content_type="application/json", headers=KEY
        )
        ok(response, 201)
    assert count(cast) == 1


def test_another_request_under_the_key_is_a_conflict(cast, tickets):
    ok(cast.ada.post(tickets, {"title": "Once"}, headers=KEY), 201)
    mismatch = {"code": "resource.conflict", "reason": "idempotency_mismatch"}
    refused(cast.ada.post(tickets, {"title": "Other"}, headers=KEY), 409, **mismatch)
    other = f"/projects/{cast.fenced_project}/tickets"
    refused(cast.ada.post(other, {"title": "Once"}, headers=KEY), 409, **mismatch)
    assert count(cast) == 1


def test_a_key_belongs_to_its_actor(cast, tickets):
    callers = (cast.ada, cast.bo, cast.smith)
    made = [ok(caller.post(tickets, {"title": "Once"}, headers=KEY), 201) for caller in callers]
    again = [ok(caller.post(tickets, {"title": "Once"}, headers=KEY), 201) for caller in callers]
    assert again == made
    assert [ticket["reporter"]["username"] for ticket in made] == ["ada", "bo", "smith"]
    assert count(cast) == 3


def test_a_refused_request_leaves_its_key_free(app, cast, tickets):
    invalid(cast.ada.post(tickets, {"title": " "}, headers=KEY), "title")
    refused(cast.ada.post(tickets, {}, headers=KEY), 422, "request.validation_error")
    with app.app_context(), reading():
        assert session.scalars(select(IdempotencyRecord.id)).all() == []
    ok(cast.ada.post(tickets, {"title": "Now"}, headers=KEY), 201)


def test_the_answer_is_looked_up_before_existence(cast, tickets):
    ok(cast.smith.post(tickets, {"title": "Once"}, headers=KEY), 201)
    ok(cast.ada.delete(f"/projects/{cast.open_project}"), 204)
    replayed = cast.smith.post(tickets, {"title": "Once"}, headers=KEY)
    assert replayed.headers["Idempotency-Replayed"] == "true"


def test_credentials_and_form_are_judged_before_the_replay(cast, tickets):
    ok(cast.smith.post(tickets, {"title": "Once"}, headers=KEY), 201)
    refused(cast.nobody.post(tickets, {"title": "Once"}, headers=KEY), 401, "auth.unauthenticated")
    refused(cast.smith.post(tickets, {"x": 1}, headers=KEY), 422, "request.validation_error")
    ok(cast.ada.patch(f"/bots/{cast.smith.user_id}", {"mode": "read"}))
    refused(cast.smith.post(tickets, {"title": "Once"}, headers=KEY), 403, "auth.read_only_bot")


@pytest.mark.parametrize(
    ("key", "reason"), [("", "blank"), ("   ", "blank"), ("k" * 129, "too_long")]
)
def test_a_key_of_the_wrong_length_is_refused(cast, tickets, key, reason):
    response = cast.ada.post(tickets, {"title": "x"}, headers={"Idempotency-Key": key})
    invalid(response, "Idempotency-Key", reason)
    assert count(cast) == 0


def test_a_key_of_full_length_is_a_key(cast, tickets):
    for _ in range(2):
        key = {"Idempotency-Key": "k" * 128}
        ok(cast.ada.post(tickets, {"title": "x"}, headers=key), 201)
    assert count(cast) == 1


def test_comments_and_bots_take_keys_too(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    calls = {
        f"/tickets/{ticket['id']}/comments": {"body": "Words"},
        "/bots": {"username": "bot-once-1", "mode": "read"},
    }
    for path, body in calls.items():
        key = {"Idempotency-Key": path}
        first, again = (cast.ada.post(path, body, headers=key) for _ in range(2))
        assert ok(first, 201) == ok(again, 201)


def test_other_posts_ignore_the_header(cast):
    for number in range(2):
        body = {"key": f"K{number}", "name": "Same key"}
        ok(cast.ada.post("/projects", body, headers=KEY), 201)


def test_whoever_reads_the_database_learns_neither_key_nor_answer(app, cast):
    body = {"username": "bot-sealed-1", "mode": "read"}
    key = {"Idempotency-Key": "the-key-itself"}
    token = ok(cast.ada.post("/bots", body, headers=key), 201)["plaintext_token"]
    with app.app_context(), reading():
        row = session.execute(text("SELECT * FROM idempotency_records")).one()
        stored = " ".join(
            bytes(value).decode("latin-1") if isinstance(value, bytes | memoryview) else str(value)
            for value in row
        )
        sealed = session.scalar(select(IdempotencyRecord.sealed))
        for guess in ("idempotency:another", "idempotency:"):
            with pytest.raises(Exception, match=r"^$"):
                encryption.decrypt(sealed, guess)
        assert token.encode() in encryption.decrypt(sealed, "idempotency:the-key-itself")
    for secret in (token, token[4:], "the-key-itself", "bot-sealed-1", "plaintext"):
        assert secret not in stored


def test_an_expired_answer_is_forgotten(app, cast, tickets):
    first = ok(cast.ada.post(tickets, {"title": "Once"}, headers=KEY), 201)

    def age():
        record = session.scalars(select(IdempotencyRecord)).one()
        hours = app.config["SETTINGS"].idempotency_key_ttl_hours
        assert record.expires_at == record.created_at + hours * HOUR_MS
        record.expires_at = now_ms() - 1
        session.flush()

    with app.app_context():
        run_write(age)
    later = cast.ada.post(tickets, {"title": "Another now"}, headers=KEY)
    assert ok(later, 201)["id"] != first["id"]
    assert "Idempotency-Replayed" not in later.headers


def test_thirty_two_at_once_make_one_ticket_and_get_equal_answers(app, cast, tickets):
    barrier = Barrier(32)

    def create(_):
        client = app.test_client(use_cookies=False)
        barrier.wait()
        return client.post(
            f"/api/v1{tickets}", json={"title": "Once"}, headers={**KEY, **cast.smith.headers}
        )

    with ThreadPoolExecutor(32) as pool:
        answers = list(pool.map(create, range(32)))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.data for answer in answers}) == 1
    assert len({answer.headers["Location"] for answer in answers}) == 1
    replays = [answer.headers.get("Idempotency-Replayed") for answer in answers]
    assert replays.count("true") == 31
    assert count(cast) == 1
