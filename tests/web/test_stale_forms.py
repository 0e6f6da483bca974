"""A form that was open while someone else changed the same thing changes only what it edited."""

from dataclasses import dataclass
from html import unescape
from threading import Thread
from typing import Any

import pytest

from app.web import forms
from tests.support.story import ok
from tests.web.conftest import Reader
from tests.web.sent_form import SentForm

MERGED = {"name": "GitHub", "forge": "github"}


@dataclass
class Case:
    """A page with a form: where it is, where the same thing is in the API, and two changes."""

    page: str
    action: str
    resource: str
    theirs: dict[str, Any]
    mine: dict[str, Any]


@pytest.fixture
def cases(cast) -> dict[str, Case]:
    project = f"/projects/{cast.open_project}"
    state = ok(cast.ada.get(f"{project}/workflow-states"))["data"][1]["id"]
    label = ok(cast.ada.post(f"{project}/labels", {"name": "bug"}), 201)["id"]
    move = {"project_id": cast.open_project, "state_id": state}
    sent = {**MERGED, "project_ids": [cast.open_project], "on_merge": [move]}
    integration = ok(cast.ada.post("/integrations", sent), 201)["id"]
    hook = {"url": "https://example.org/old", "event_types": ["ticket.created"]}
    webhook = ok(cast.ada.post("/webhooks", {**hook, "secret": "x" * 16}), 201)["id"]
    note = ok(cast.ada.post(f"{project}/sticky-notes", {"body": "Mine\nand yours"}), 201)["id"]
    bot = cast.smith.user_id
    settings = "/projects/OPEN/settings"
    return {
        "project": Case(
            *(f"{settings}/general", f"{settings}/general", project),
            {"sign_off": True, "description": "Two\nlines"},
            {"name": "Renamed"},
        ),
        "bot": Case(
            *("/bots/smith", f"/bots/{bot}/settings", f"/bots/{bot}"),
            {"mode": "read", "project_ids": [cast.open_project]},
            {"display_name": "Renamed"},
        ),
        "webhook": Case(
            *(f"/webhooks/{webhook}/edit", f"/webhooks/{webhook}/edit", f"/webhooks/{webhook}"),
            {"url": "https://example.org/new", "project_ids": [cast.open_project]},
            {"event_types": ["comment.created"]},
        ),
        "integration": Case(
            *[f"/integrations/{integration}"] * 3,
            {"project_ids": [cast.open_project, cast.fenced_project], "on_merge": []},
            {"name": "Renamed"},
        ),
        "state": Case(
            *(f"{settings}/states?edit={state}", f"{settings}/states/{state}"),
            f"{project}/workflow-states/{state}",
            {"wip_limit": 5},
            {"name": "Renamed"},
        ),
        "label": Case(
            *(
                f"{settings}/labels?edit={label}",
                f"{settings}/labels/{label}",
                f"{project}/labels/{label}",
            ),
            {"name": "Theirs"},
            {"color": "#112233"},
        ),
        "note": Case(
            *[f"/sticky-notes/{note}/edit"] * 2,
            f"/sticky-notes/{note}",
            {"body": "Theirs"},
            {"color": "#facc15"},
        ),
    }


CASES = ["project", "bot", "webhook", "integration", "state", "label", "note"]


@pytest.mark.parametrize("name", CASES)
def test_saving_keeps_what_someone_else_changed(ada: Reader, cast, cases, name) -> None:
    case = cases[name]
    sent = SentForm(ada.get(case.page).text).sent
    ok(cast.ada.patch(case.resource, case.theirs))
    assert ada.post(case.action, **{**sent, **case.mine}).status_code == 303
    stored = ok(cast.ada.patch(case.resource, {}))
    expected = {**case.theirs, **case.mine}
    assert {name: stored[name] for name in expected} == expected


@pytest.mark.parametrize("name", CASES)
def test_what_both_changed_is_replaced_only_by_saving_again(ada: Reader, cast, cases, name) -> None:
    case = cases[name]
    sent = SentForm(ada.get(case.page).text).sent
    before = ok(cast.ada.patch(case.resource, {}))
    ok(cast.ada.patch(case.resource, case.mine))
    field, other = third_value(name, case)
    refused = ada.post(case.action, **{**sent, field: other})
    assert refused.status_code == 422
    assert "after you opened the form. Save again to replace it." in refused.text
    assert ok(cast.ada.patch(case.resource, {}))[field] == case.mine[field] != before[field]
    assert ada.post(case.action, **SentForm(refused.text).sent).status_code == 303
    assert ok(cast.ada.patch(case.resource, {}))[field] == other


def test_every_conflict_of_a_row_is_told(ada: Reader, cast, cases) -> None:
    case = cases["state"]
    sent = SentForm(ada.get(case.page).text).sent
    ok(cast.ada.patch(case.resource, {"name": "Theirs", "wip_limit": 7}))
    refused = ada.post(case.action, **{**sent, "name": "Mine", "wip_limit": "3"})
    told = "after you opened the form. Save again to replace it."
    assert f"Name was changed to “Theirs” {told} Limit was" in refused.text
    assert refused.text.count(told) == 2
    assert ada.post(case.action, **SentForm(refused.text).sent).status_code == 303
    stored = ok(cast.ada.patch(case.resource, {}))
    assert (stored["name"], stored["wip_limit"]) == ("Mine", 3)


def test_a_conflict_tells_the_new_value_in_words(ada: Reader, cast, cases) -> None:
    first, fenced = cast.open_project, cast.fenced_project
    states = ok(cast.ada.get(f"/projects/{first}/workflow-states"))["data"]
    moves = [{"project_id": first, "state_id": states[0]["id"]}]
    ok(cast.ada.patch(cases["project"].resource, {"description": "There"}))
    for name, theirs, mine, told in [
        ("project", {"bot_creation_limit": 5}, {"bot_creation_limit": "7"}, "changed to “5”"),
        ("project", {"owner_user_id": cast.bo.user_id}, {"owner_user_id": first}, "to “Bo”"),
        ("project", {"description": ""}, {"description": "Mine"}, "This was emptied"),
        ("bot", {"project_ids": [first]}, {"project_ids": fenced}, "to “OPEN”"),
        ("webhook", {"project_ids": [first]}, {"project_ids": fenced}, "to “OPEN”"),
        (
            "webhook",
            {"event_types": ["comment.created", "ticket.created"]},
            {"event_types": "ticket.deleted"},
            "to “comment.created, ticket.created”",
        ),
        (
            "integration",
            {"on_merge": moves},
            {f"on_merge:{first}": states[2]["id"]},
            "to “OPEN: Backlog”",
        ),
        (
            "integration",
            {"project_ids": [first, fenced]},
            {"project_ids": fenced},
            "to “FENCED, OPEN”",
        ),
        ("state", {"wip_limit": 5}, {"wip_limit": "7"}, "Limit was changed to “5”"),
        ("state", {"category": "backlog"}, {"category": "done"}, "to “Backlog”"),
        ("bot", {"mode": "read"}, {}, "This was changed to “Read only”"),
        ("webhook", {"event_types": ["*"]}, {"event_types": "ticket.deleted"}, "to “All events”"),
        ("note", {"color": "#facc15"}, {"color": "#60a5fa"}, "to “Yellow”"),
    ]:
        case = cases[name]
        sent = SentForm(ada.get(case.page).text).sent
        sent.pop("all_projects", None)
        ok(cast.ada.patch(case.resource, theirs))
        refused = ada.post(case.action, **{**sent, **mine})
        assert refused.status_code == 422
        assert f"{told} after you opened the form." in unescape(refused.text), theirs


@pytest.mark.parametrize("name", CASES)
def test_a_save_without_an_edit_says_what_has_changed(ada: Reader, cast, cases, name) -> None:
    case = cases[name]
    sent = SentForm(ada.get(case.page).text).sent
    field = next(iter(case.mine))
    before = ok(cast.ada.patch(case.resource, {}))[field]
    assert ada.post(case.action, **{**sent, **case.mine}).status_code == 303
    # The same form, from another tab or the browser's history, with the value that it had.
    refused = ada.post(case.action, **sent)
    assert refused.status_code == 422
    assert "after you opened the form. Save again to replace it." in refused.text
    assert ok(cast.ada.patch(case.resource, {}))[field] == case.mine[field]
    assert ada.post(case.action, **SentForm(refused.text).sent).status_code == 303
    assert ok(cast.ada.patch(case.resource, {}))[field] == before


@pytest.mark.parametrize(
    ("name", "flag"), [("project", "sign_off"), ("bot", "can_edit_global_wiki")]
)
def test_a_save_without_an_edit_says_what_was_switched(
    ada: Reader, cast, cases, name, flag
) -> None:
    case = cases[name]
    ok(cast.ada.patch(case.resource, {flag: False}))
    sent = SentForm(ada.get(case.page).text).sent
    ok(cast.ada.patch(case.resource, {flag: True}))
    refused = ada.post(case.action, **sent)
    assert refused.status_code == 422
    assert "This was changed to “On” after you opened the form." in refused.text


def test_a_suggested_review_state_replaces_no_chosen_one(ada: Reader, cast, cases) -> None:
    case = cases["project"]
    states = ok(cast.ada.get(f"{case.resource}/workflow-states"))["data"]
    sent = SentForm(ada.get(case.page).text).sent
    assert sent["review_state_id"] == [states[3]["id"]]
    theirs = {"sign_off": True, "review_state_id": states[0]["id"]}
    ok(cast.ada.patch(case.resource, theirs))
    assert ada.post(case.action, **{**sent, "name": "Renamed"}).status_code == 303
    stored = ok(cast.ada.patch(case.resource, {}))
    expected = {**theirs, "name": "Renamed"}
    assert {name: stored[name] for name in expected} == expected


def test_a_suggested_review_state_is_stored_when_sign_off_is_switched_on(
    ada: Reader, cast, cases
) -> None:
    case = cases["project"]
    sent = SentForm(ada.get(case.page).text).sent
    ada.post(case.action, **{**sent, "name": "Renamed"})
    assert ok(cast.ada.patch(case.resource, {}))["review_state_id"] is None
    sent = SentForm(ada.get(case.page).text).sent
    ada.post(case.action, **{**sent, "sign_off": "on"})
    assert [ok(cast.ada.patch(case.resource, {}))["review_state_id"]] == sent["review_state_id"]
    # One that was removed on purpose stays removed.
    sent = SentForm(ada.get(case.page).text).sent
    ada.post(case.action, **{**sent, "review_state_id": ""})
    sent = SentForm(ada.get(case.page).text).sent
    assert sent["review_state_id"] == [""]
    ada.post(case.action, **{**sent, "name": "Again"})
    assert ok(cast.ada.patch(case.resource, {}))["review_state_id"] is None


def test_a_suggested_review_state_is_no_change_by_others(ada: Reader, cast, cases) -> None:
    case = cases["project"]
    sent = SentForm(ada.get(case.page).text).sent
    made = {"name": "Verify", "category": "active"}
    ok(cast.ada.post(f"{case.resource}/workflow-states", made), 201)
    assert ada.post(case.action, **sent).status_code == 303


def test_a_review_state_is_chosen_before_sign_off_is_switched_on(ada: Reader, cast, cases) -> None:
    case = cases["project"]
    states = ok(cast.ada.get(f"{case.resource}/workflow-states"))["data"]
    sent = SentForm(ada.get(case.page).text).sent
    assert ada.post(case.action, **{**sent, "review_state_id": states[1]["id"]}).status_code == 303
    assert ok(cast.ada.patch(case.resource, {}))["review_state_id"] == states[1]["id"]


def test_a_suggested_review_state_that_was_chosen_is_stored(ada: Reader, cast, cases) -> None:
    case = cases["project"]
    states = [one["id"] for one in ok(cast.ada.get(f"{case.resource}/workflow-states"))["data"]]
    ok(cast.ada.patch(case.resource, {"sign_off": True, "review_state_id": states[1]}))
    sent = SentForm(ada.get(case.page).text).sent
    ok(cast.bo.patch(case.resource, {"sign_off": False, "review_state_id": None}))
    assert ada.post(case.action, **{**sent, "review_state_id": states[3]}).status_code == 303
    assert ok(cast.ada.get(case.resource))["review_state_id"] == states[3]


@pytest.mark.parametrize("theirs", ["#AABBCC", "#112233"])
def test_a_color_in_capitals_is_not_an_edit(ada: Reader, cast, cases, theirs) -> None:
    case = cases["label"]
    ok(cast.ada.patch(case.resource, {"color": "#AABBCC"}))
    sent = SentForm(ada.get(case.page).text).sent
    ok(cast.ada.patch(case.resource, {"color": theirs}))
    # Browsers send colors in small letters.
    sent |= {"color": ["#aabbcc"], "name": ["Renamed"]}
    assert ada.post(case.action, **sent).status_code == 303
    stored = ok(cast.ada.patch(case.resource, {}))
    assert (stored["name"], stored["color"]) == ("Renamed", theirs)


def test_settings_can_be_saved_where_a_deletion_was_refused(ada: Reader, cast, cases) -> None:
    refused = ada.post("/projects/OPEN/settings/delete", confirm="nope")
    form = refused.text[: refused.text.index('name="originals"')]
    action = form[form.rindex("<form") :].split('action="')[1].split('"')[0]
    sent = SentForm(refused.text).sent
    assert ada.post(action, **{**sent, "name": "Renamed"}).status_code == 303
    assert ok(cast.ada.patch(cases["project"].resource, {}))["name"] == "Renamed"


def test_a_webhook_keeps_its_projects_when_all_are_deleted(ada: Reader, cast, cases) -> None:
    case = cases["webhook"]
    ok(cast.ada.patch(case.resource, {"project_ids": [cast.open_project]}))
    for project_id in (cast.open_project, cast.fenced_project):
        ok(cast.ada.delete(f"/projects/{project_id}"), 204)
    sent = SentForm(ada.get(case.page).text).sent
    new = "https://example.org/new"
    assert ada.post(case.action, **{**sent, "url": new}).status_code == 303
    stored = ok(cast.ada.patch(case.resource, {}))
    assert (stored["url"], stored["project_ids"]) == (new, [cast.open_project])


def third_value(name: str, case: Case) -> tuple[str, Any]:
    """A field, and another value than the stored one and the one that Ada saw."""
    field = next(iter(case.mine))
    color = "#334455" if name == "label" else "#60a5fa"
    return field, {"event_types": ["ticket.deleted"], "color": color}.get(field, "Mine")


@pytest.mark.parametrize("name", CASES)
def test_a_change_just_before_the_save_is_not_lost(
    ada: Reader, cast, cases, name, monkeypatch
) -> None:
    case = cases[name]
    field, other = third_value(name, case)
    sent = SentForm(ada.get(case.page).text).sent
    write = forms.write

    def write_late(work):
        monkeypatch.undo()
        ok(cast.ada.patch(case.resource, case.mine))
        return write(work)

    monkeypatch.setattr(forms, "write", write_late)
    assert ada.post(case.action, **{**sent, field: other}).status_code == 422
    assert ok(cast.ada.patch(case.resource, {}))[field] == case.mine[field]


@pytest.mark.parametrize("name", CASES)
def test_nobody_changes_a_value_between_its_comparison_and_the_save(
    ada: Reader, cast, cases, name, monkeypatch
) -> None:
    case = cases[name]
    field, other = third_value(name, case)
    sent = SentForm(ada.get(case.page).text).sent
    edited_values = forms._edited_values
    theirs = Thread(
        target=lambda: ok(cast.bo.patch(case.resource, {field: case.mine[field]})), daemon=True
    )

    def compare(*given):
        edited = edited_values(*given)
        theirs.start()
        theirs.join(0.3)
        return edited

    monkeypatch.setattr(forms, "_edited_values", compare)
    assert ada.post(case.action, **{**sent, field: other}).status_code == 303
    theirs.join()
    # Theirs had to wait, so it came last.
    assert ok(cast.ada.patch(case.resource, {}))[field] == case.mine[field]


def test_a_template_keeps_what_someone_else_changed(ada: Reader, cast) -> None:
    address = "/projects/OPEN/settings/templates"
    first = {
        "name": "Bug",
        "title": "Broken",
        "body": "Steps",
        "type": "story",
        "priority": "high",
    }
    ada.post(address, **first)
    where = ada.get(address).text
    one = where[where.index(f"{address}/0") :].split('"')[0]
    sent = SentForm(ada.get(one).text).sent
    ada.post(one, **{**SentForm(ada.get(one).text).sent, "body": "Other steps"})
    assert ada.post(one, **{**sent, "title": "Wrong"}).status_code == 303
    stored = SentForm(ada.get(one).text).sent
    assert (stored["body"], stored["title"]) == (["Other steps"], ["Wrong"])
    made = [
        ok(cast.ada.post(f"/projects/{cast.open_project}/labels", {"name": label}), 201)["id"]
        for label in ("bug", "docs")
    ]
    ada.post(one, **{**stored, "label_ids": made[0]})
    refused = ada.post(one, **{**stored, "label_ids": made[1]})
    assert "This was changed to “bug” after you opened the form." in refused.text
    ada.post(one, **{**stored, "type": "epic", "priority": "low"})
    refused = ada.post(one, **{**stored, "type": "subtask", "priority": "urgent"})
    for word in ("Epic", "Low"):
        assert f"This was changed to “{word}” after you opened the form." in refused.text


def test_an_integration_keeps_a_deleted_project_and_its_move(ada: Reader, cast) -> None:
    projects = [cast.open_project, cast.fenced_project]
    moves = []
    for one in projects:
        states = ok(cast.ada.get(f"/projects/{one}/workflow-states"))["data"]
        moves.append({"project_id": one, "state_id": states[-1]["id"]})
    sent = {**MERGED, "project_ids": projects, "on_merge": moves}
    address = f"/integrations/{ok(cast.ada.post('/integrations', sent), 201)['id']}"
    ok(cast.ada.delete(f"/projects/{cast.fenced_project}"), 204)
    form = SentForm(ada.get(address).text).sent
    assert ada.post(address, **{**form, f"on_merge:{cast.open_project}": ""}).status_code == 303
    stored = ok(cast.ada.get(address))
    assert (stored["project_ids"], stored["on_merge"]) == (projects, moves[1:])


@pytest.mark.parametrize("originals", ["", "{", "[]", '"a"', '{"name": 1, "sign_off": null}'])
def test_a_form_with_senseless_originals_is_saved_or_refused(ada: Reader, originals) -> None:
    sent = {"name": "Renamed", "originals": originals}
    answer = ada.post("/projects/OPEN/settings/general", **sent)
    assert answer.status_code in (303, 422)
