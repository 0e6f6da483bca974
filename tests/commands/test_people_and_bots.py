"""Managing people and bots from the command line."""

import json

from tests.support.story import events, make_ticket, ok, refused

PASSWORD = "correct horse battery"


def test_users(app, cast, client, flask):
    # At least one person who can log in must remain.
    flask("users", "reset-password", "ada", "--password", "a third calm sentence")
    made = flask("users", "create", "cleo", text=f"{PASSWORD}\n{PASSWORD}\n")
    assert made.endswith("Created cleo.\n")
    assert PASSWORD not in made
    rows = [json.loads(line) for line in flask("users", "list", "--json").splitlines()]
    assert {row["username"] for row in rows} >= {"ada", "bo", "cleo", "smith"}
    assert "cleo" in flask("users", "list")
    login = {"username": "cleo", "password": PASSWORD}
    ok(client.post("/api/v1/auth/login", json=login))
    flask("users", "reset-password", "cleo", "--password", "another calm sentence")
    assert client.get("/api/v1/auth/me").status_code == 401
    flask("users", "set-email", "cleo", "Cleo@Example.org", "--confirmed")
    shown = [json.loads(line) for line in flask("users", "list", "--json").splitlines()]
    cleo = next(row for row in shown if row["username"] == "cleo")
    assert (cleo["email"], cleo["email_confirmed"]) == ("cleo@example.org", True)
    assert flask("users", "set-email", "cleo") == "Removed the email address of cleo.\n"
    flask("users", "deactivate", "cleo")
    login = {"username": "cleo", "password": "another calm sentence"}
    assert client.post("/api/v1/auth/login", json=login).status_code == 401
    flask("users", "activate", "cleo")
    ok(client.post("/api/v1/auth/login", json=login))
    assert {event.actor_kind for event in events(app, event_type="user.updated")} == {"system"}


def test_refusals_of_users(cast, flask):
    flask("users", "reset-password", "ada", "--password", "a third calm sentence")
    assert "at least 12" in flask("users", "create", "x1", "--password", "short", code=1)
    assert "already taken" in flask("users", "create", "ada", "--password", PASSWORD, code=1)
    assert "Person nobody not found" in flask("users", "deactivate", "nobody", code=1)
    assert "Person smith not found" in flask("users", "deactivate", "smith", code=1)
    flask("users", "deactivate", "bo")
    assert "At least one person must stay" in flask("users", "deactivate", "ada", code=1)


def test_bots(app, cast, client, flask):
    made = flask(
        "bots", "create", "bot-new-1", "--mode", "write", "--project", "OPEN", "--as", "ada"
    )
    token = made.splitlines()[0]
    key = {"X-API-Key": token}
    shown = client.get("/api/v1/auth/me", headers=key).get_json()
    assert shown["project_ids"] == [cast.open_project]
    assert f"/mcp/bot/{token}/mcp" in made
    rotated = flask("bots", "rotate", "bot-new-1", "--as", "ada").splitlines()[0]
    assert client.get("/api/v1/auth/me", headers=key).status_code == 401
    key = {"X-API-Key": rotated}
    assert client.get("/api/v1/auth/me", headers=key).status_code == 200
    flask("bots", "revoke", "bot-new-1", "--as", "ada")
    assert client.get("/api/v1/auth/me", headers=key).status_code == 401
    assert "no active token" in flask("bots", "revoke", "bot-new-1", "--as", "ada", code=1)
    assert "bot-new-1" in flask("bots", "list")
    rows = [json.loads(line) for line in flask("bots", "list", "--json").splitlines()]
    assert "plaintext_token" not in str(rows)
    assert json.loads(flask("bots", "show", "bot-new-1"))["active_token"] is None
    assert "several people" in flask("bots", "revoke", "smith", code=1)
    assert "Bot ada not found" in flask("bots", "rotate", "ada", "--as", "ada", code=1)


def test_pausing(app, cast, flask):
    flask("bots", "pause")
    refused(
        cast.smith.post(f"/projects/{cast.open_project}/tickets", {"title": "T"}),
        403,
        "auth.read_only_bot",
    )
    assert "paused since" in flask("bots", "list")
    flask("bots", "resume")
    make_ticket(cast.smith, cast.open_project)
    (event,) = events(app, event_type="workspace.bots_paused")
    assert event.actor_kind == "system"
    flask("bots", "pause", "--as", "ada")
    flask("bots", "resume", "--as", "ada")
    for name in ("workspace.bots_paused", "workspace.bots_resumed"):
        assert events(app, event_type=name)[-1].actor_user_id == cast.ada.user_id


def test_projects(app, cast, flask):
    said = flask("projects", "create", "OPS", "Operations", "--description", "x", "--as", "ada")
    assert said == "Created OPS.\n"
    rows = [json.loads(line) for line in flask("projects", "list", "--json").splitlines()]
    assert (rows[0]["key"], rows[0]["name"]) == ("OPS", "Operations")
    assert rows[0]["owner_user_id"] == cast.ada.user_id
    assert "OPS        Operations" in flask("projects", "list")
    (event,) = [
        one for one in events(app, event_type="project.created") if one.payload["key"] == "OPS"
    ]
    assert event.actor_user_id == cast.ada.user_id
    assert "already taken" in flask("projects", "create", "OPS", "Again", "--as", "ada", code=1)
    assert "2 to 10" in flask("projects", "create", "ops", "Small", "--as", "ada", code=1)
    assert "several people" in flask("projects", "create", "NEW", "New", code=1)
