"""/integrations: REST, pages and the command."""

import json

import pytest
from sqlalchemy import func, select, update

from app.database.session import session
from app.http.current import current_settings
from app.integrations.models import CodeChange, CodeCheck, CodeDelivery
from app.jobs.sweeping import SWEEPERS
from tests.integrations.deliveries import SECRET, Connected, checked, pull_request
from tests.support.cast import in_app
from tests.support.story import events, invalid, make_ticket, malformed, ok, refused, state_ids


def made(cast, **fields):
    body = {"name": "GitHub", "forge": "github", "project_ids": [cast.open_project], **fields}
    return cast.ada.post("/integrations", body)


def test_an_integration_has_a_bot_of_its_own(cast, app):
    states = state_ids(cast.ada, cast.open_project)
    move = {"project_id": cast.open_project, "state_id": states[-1]}
    answer = made(cast, on_merge=[move])
    shown = ok(answer, 201)
    assert answer.headers["Location"].endswith(f"/api/v1/integrations/{shown['id']}")
    assert len(shown.pop("secret")) >= 43
    assert shown["address"].endswith(f"/integrations/{shown['id']}/events")
    assert shown["on_merge"] == [move]
    path = f"/integrations/{shown['id']}"
    assert ok(cast.ada.get(path)) == shown
    assert ok(cast.ada.get("/integrations"))["data"] == [shown]
    bot = ok(cast.ada.get(f"/bots/{shown['bot_user_id']}"))
    assert (bot["username"], bot["display_name"]) == ("bot-github", "GitHub")
    assert (bot["mode"], bot["project_ids"]) == ("write", [cast.open_project])
    assert bot["active_token"] is None
    assert ok(made(cast), 201)["id"] != shown["id"]
    (first, _) = events(app, event_type="integration.created")
    assert first.payload["on_merge"] == {cast.open_project: states[-1]}
    ok(cast.ada.delete(path), 204)
    refused(cast.ada.get(path), 404, "resource.not_found", resource="integration")
    assert ok(cast.ada.get(f"/bots/{shown['bot_user_id']}"))["is_active"] is False


def test_projects_and_moves_can_change(cast, app):
    shown = ok(made(cast), 201)
    path = f"/integrations/{shown['id']}"
    both = [cast.open_project, cast.fenced_project]
    moves = [
        {"project_id": project, "state_id": state_ids(cast.ada, project)[-1]} for project in both
    ]
    changed = ok(cast.ada.patch(path, {"name": "Code", "project_ids": both, "on_merge": moves}))
    assert (changed["name"], changed["project_ids"]) == ("Code", both)
    assert sorted(changed["on_merge"], key=str) == sorted(moves, key=str)
    # Removing a project removes its move too.
    fewer = ok(cast.ada.patch(path, {"project_ids": [cast.open_project]}))
    assert fewer["on_merge"] == moves[:1]
    assert ok(cast.ada.patch(path, {})) == fewer
    assert len(events(app, event_type="integration.updated")) == 2


def test_unfit_integrations(cast):
    invalid(made(cast, project_ids=[]), "project_ids", "blank")
    invalid(made(cast, secret="short"), "secret", "too_short")
    for wrong in (f" {SECRET}", f"{SECRET} ", f"{SECRET}\n", f"a\tb{SECRET}", "\u00a0" * 16):
        invalid(made(cast, secret=wrong), "secret", "pattern")
    invalid(made(cast, name=" "), "name", "blank")
    malformed(made(cast, forge="svn"), ["body", "forge"], "invalid_value")
    state = state_ids(cast.ada, cast.open_project)[0]
    for wrong in (
        {"project_id": cast.fenced_project, "state_id": state},
        {"project_id": cast.open_project, "state_id": cast.open_project},
    ):
        invalid(made(cast, on_merge=[wrong]), "on_merge")
    other = made(cast, on_merge=[{"project_id": cast.fenced_project, "state_id": state}])
    assert "a project that the integration does not have" in other.text
    twice = {"project_id": cast.open_project, "state_id": state}
    answer = made(cast, on_merge=[twice, twice])
    invalid(answer, "on_merge", "wrong_project")
    assert "each project of the integration once" in answer.text
    path = f"/integrations/{ok(made(cast), 201)['id']}"
    invalid(cast.ada.patch(path, {"forge": "gitlab"}), "forge", "immutable")
    invalid(cast.ada.patch(path, {"project_ids": []}), "project_ids", "blank")
    invalid(cast.ada.post(f"{path}/secret", {"secret": f"{SECRET} "}), "secret", "pattern")
    refused(cast.smith.get("/integrations"), 403, "auth.forbidden", reason="humans_only")


def test_what_is_old_is_swept(cast, app):
    make_ticket(cast.ada, cast.open_project)
    at = Connected(cast)
    at.deliver(checked("github", 1, "success"))
    at.deliver(pull_request("github", 1, body="OPEN-1"))
    other = pull_request("github", 1, body="Nothing")
    other[1]["pull_request"]["number"] = 6
    at.deliver(other)

    def sweep():
        for model in (CodeDelivery, CodeChange, CodeCheck):
            name = "created_at" if model is CodeDelivery else "updated_at"
            session.execute(update(model).values({name: 1}))
        for name in ("code-deliveries", "code-news"):
            SWEEPERS[name](current_settings())
        models = (CodeDelivery, CodeChange, CodeCheck)
        return [session.scalar(select(func.count()).select_from(one)) for one in models]

    # Linked changes are kept, since their links are still being updated.
    assert in_app(app, sweep) == [0, 1, 0]
    ok(cast.ada.delete(f"/integrations/{at.integration['id']}"), 204)
    assert in_app(app, sweep) == [0, 0, 0]


def test_the_command_lists_them(cast, app):
    shown = ok(made(cast), 201)
    run = app.test_cli_runner().invoke
    assert f"{shown['id']}  github    no deliveries" in run(args=["integrations", "list"]).output
    listed = json.loads(run(args=["integrations", "list", "--json"]).output)
    assert listed["id"] == shown["id"]
    assert "secret" not in listed


@pytest.fixture(name="form")
def _form(cast):
    done = state_ids(cast.ada, cast.open_project)[-1]
    return {
        "name": "GitHub",
        "forge": "github",
        "project_ids": cast.open_project,
        f"on_merge:{cast.open_project}": done,
    }


def test_the_pages(cast, form):
    def open_page(path, method="GET", **sent):
        return cast.ada.client.open(path, method=method, data=sent, headers={"Accept": "text/html"})

    assert "No integrations yet" in open_page("/integrations").text
    assert "Move to Done" in open_page("/integrations/new").text
    page = open_page("/integrations", "POST", **form, secret=SECRET)
    assert f'value="{SECRET}"' in page.text
    (shown,) = ok(cast.ada.get("/integrations"))["data"]
    assert shown["on_merge"][0]["state_id"] == form[f"on_merge:{cast.open_project}"]
    path = f"/integrations/{shown['id']}"
    assert f'value="{shown["address"]}"' in page.text
    assert SECRET not in open_page(path).text
    refused_page = open_page("/integrations", "POST", name="X", forge="github")
    assert refused_page.status_code == 422
    assert "Select at least one project." in refused_page.text
    changed = {**form, "name": "Code", f"on_merge:{cast.open_project}": ""}
    assert open_page(path, "POST", **changed).location == path
    assert ok(cast.ada.get(path))["on_merge"] == []
    assert open_page(path, "POST", name="Code").status_code == 422
    assert "Copy the secret now" in open_page(path, "POST", action="rotate").text
    assert "Delete this integration?" in open_page(f"{path}/delete").text
    assert open_page(f"{path}/delete", "POST").location == "/integrations"
    assert open_page(path).status_code == 404
