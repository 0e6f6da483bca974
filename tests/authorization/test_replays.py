"""A replay belongs to the actor of its key, and is authorized as if the request were new."""

import pytest

from tests.support.agent import Agent
from tests.support.story import ok, refused


def test_an_idempotency_key_is_its_actors_own(cast):
    """The key of another actor replays nothing, and does not reveal that it was used."""
    body = {"title": "Keyed by smith"}
    key = {"Idempotency-Key": "one key"}
    path = f"/projects/{cast.fenced_project}/tickets"
    first = cast.smith.post(path, body, headers=key)
    again = cast.smith.post(path, body, headers=key)
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.data == first.data
    for who in (cast.ada, cast.bo, cast.fenced):
        made = who.post(path, {"title": who.username}, headers=key)
        assert made.status_code == 201
        assert "Idempotency-Replayed" not in made.headers
        assert "Keyed" not in made.text
    refused(cast.scout.post(path, body, headers=key), 403, "auth.read_only_bot")


def test_a_replay_is_refused_to_whoever_may_no_longer_write(cast):
    """Credentials and the kind of actor are checked before the key."""
    body, key = {"title": "Keyed"}, {"Idempotency-Key": "one key"}
    path = f"/projects/{cast.open_project}/tickets"
    smith, ada = cast.smith, cast.ada
    ok(smith.post(path, body, headers=key), 201)
    ok(ada.patch(f"/bots/{smith.user_id}", {"mode": "read"}))
    refused(smith.post(path, body, headers=key), 403, "auth.read_only_bot")
    ok(ada.post(f"/bots/{smith.user_id}/tokens/revoke"), 204)
    refused(smith.post(path, body, headers=key), 401, "auth.invalid_credentials")


@pytest.mark.parametrize("door", ["rest", "mcp"])
def test_a_replay_is_judged_by_the_allowlist_of_now(cast, door):
    smith, ada = cast.smith, cast.ada
    project, others = cast.open_project, cast.fenced_project
    key = {"Idempotency-Key": "one key"}

    def create():
        if door == "rest":
            return smith.post(f"/projects/{project}/tickets", {"title": "Keyed"}, headers=key)
        arguments = {"project": project, "title": "Keyed", "idempotency_key": "one key"}
        return Agent(smith).send("tools/call", {"name": "create_ticket", "arguments": arguments})

    def number_of_next():
        return ok(ada.post(f"/projects/{project}/tickets", {"title": "Next"}), 201)["ticket_number"]

    first, before = create(), number_of_next()
    assert create().text == first.text
    ok(ada.patch(f"/bots/{smith.user_id}", {"project_ids": [others]}))
    answer = create()
    if door == "rest":
        refused(answer, 403, "auth.forbidden", reason="project_not_in_allowlist")
    else:
        assert answer.json["result"]["isError"]
        assert "Keyed" not in answer.text
    ok(ada.patch(f"/bots/{smith.user_id}", {"project_ids": [others, project]}))
    again = create()
    assert again.status_code == first.status_code
    assert "Keyed" in again.text
    # Authorizing the replay created nothing.
    assert number_of_next() == before + 1
