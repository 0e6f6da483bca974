"""The bots tab of a project's settings: who may work there, adding a bot, removing one."""

import re

import pytest

HERE = "/projects/OPEN/settings/bots"


@pytest.fixture
def allowlist(cast):
    """A function that returns the keys of the projects that a bot may see."""

    def of(bot):
        keys = {cast.open_project: "OPEN", cast.fenced_project: "FENCED"}
        found = cast.ada.get(f"/bots/{bot.user_id}").json["project_ids"]
        return sorted(keys[one] for one in found)

    return of


def rows(page) -> dict[str, str]:
    """The text of the row of each bot, by username."""
    found = {}
    for row in page.text.split('<li class="row bot-row"')[1:]:
        text = " ".join(re.sub(r"<[^>]+>", " ", row.split("</li>")[0].split(">", 1)[1]).split())
        found[re.search(r'href="/bots/([\w-]+)"', row)[1]] = text
    return found


def test_the_bots_of_a_project_are_listed_with_what_they_may_do(ada, cast):
    shown = rows(ada.get(HERE))
    assert "Read and write" in shown["smith"]
    assert "Read only" in shown["scout"]
    assert 'href="/audit?span=30d&amp;project=OPEN&amp;actor=smith"' in ada.get(HERE).text
    cast.ada.patch(f"/bots/{cast.smith.user_id}", {"project_ids": [cast.fenced_project]})
    cast.ada.patch(f"/bots/{cast.scout.user_id}", {"is_active": False})
    shown = rows(ada.get(HERE))
    assert "smith" not in shown
    assert "Deactivated" in shown["scout"]


def test_a_bot_is_let_in_and_taken_out(ada, cast, allowlist):
    smith = cast.smith
    cast.ada.patch(f"/bots/{smith.user_id}", {"project_ids": [cast.fenced_project]})
    assert f'<option value="{smith.user_id}"' in ada.get(HERE).text
    assert ada.post(HERE, bot_id=smith.user_id).location == HERE
    assert allowlist(smith) == ["FENCED", "OPEN"]
    assert "One of its 2 projects" in rows(ada.get(HERE))["smith"]
    event = cast.ada.get("/audit?event_type=bot.updated&limit=1").json["data"][0]
    assert event["payload"]["changes"]["project_ids"]["to"] == [
        cast.fenced_project,
        cast.open_project,
    ]
    # Adding a bot twice is no error, and records nothing.
    ada.post(HERE, bot_id=smith.user_id)
    assert cast.ada.get("/audit?event_type=bot.updated&limit=1").json["data"][0] == event
    taken = ada.post(HERE, htmx=True, bot_id=smith.user_id, remove="yes")
    assert "smith" not in rows(taken)
    assert allowlist(smith) == ["FENCED"]


@pytest.mark.parametrize("listed", [True, False])
def test_the_last_project_stays_as_none_would_mean_all(ada, cast, allowlist, listed):
    projects = [cast.open_project] if listed else []
    cast.ada.patch(f"/bots/{cast.smith.user_id}", {"project_ids": projects})
    row = rows(ada.get(HERE))["smith"]
    assert ("This project only" if listed else "All projects") in row
    assert "Remove" not in row
    refused = ada.post(HERE, bot_id=cast.smith.user_id, remove="yes")
    assert refused.status_code == 422
    assert "could access every project" in refused.text
    assert allowlist(cast.smith) == (["OPEN"] if listed else [])


def test_a_bot_of_all_projects_gets_no_list_by_being_let_in(ada, cast, allowlist):
    cast.ada.patch(f"/bots/{cast.smith.user_id}", {"project_ids": []})
    assert ada.post(HERE, bot_id=cast.smith.user_id).location == HERE
    assert allowlist(cast.smith) == []


def test_a_form_without_a_bot_and_a_bot_that_is_not_are_refused(ada, cast):
    assert ada.post(HERE).status_code == 422
    assert ada.post(HERE, bot_id=cast.ada.user_id).status_code == 404
