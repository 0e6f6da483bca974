"""The steps after the setup: each leads to the next, and each can be skipped."""

import re

import pytest

from tests.support.serving import ROOT
from tests.web.conftest import Reader

PASSWORD = "a calm sentence"


@pytest.fixture
def newcomer(app):
    return Reader(app.test_client(), app)


@pytest.fixture
def ada(app, cast):
    return Reader(cast.ada.client, app)


def test_the_steps_follow_the_setup(newcomer):
    done = newcomer.post("/setup", username="ada", password=PASSWORD)
    assert done.location == "/start"
    first = newcomer.get("/start").text
    assert "Load the sample project" in first
    assert 'href="/start/people"' in first
    assert newcomer.post("/start", name="Ours", key="OURS").location == "/start/people"
    added = newcomer.post("/start/people", display_name="Cleo")
    assert added.status_code == 200
    assert "/password/" in added.text
    assert "cleo" in newcomer.get("/start/people").text
    last = newcomer.get("/start/bot").text
    assert "/projects/OURS/board" in last
    # The only project is preselected, and the bot may write, because people try it out here.
    assert re.search(r'name="mode" value="write" checked', last)
    assert not re.search(r'name="mode" value="read" checked', last)
    # Elsewhere a bot is read-only by default.
    assert re.search(r'name="mode" value="read" checked', newcomer.get("/new-bot").text)
    project_id = re.search(r'name="project_ids" value="([^"]+)" checked', last)[1]
    answer = newcomer.post("/start/bot", username="bot-1", mode="read", project_ids=project_id)
    assert answer.status_code == 200
    assert re.search(r"app_[a-z2-7]{32}", answer.text)
    assert "Waiting for the first MCP call" in answer.text
    assert not re.search(r"app_[a-z2-7]{32}", newcomer.get("/start/bot").text)


def test_the_bot_guide_names_the_steps_as_the_pages_do(ada):
    guide = (ROOT / "docs" / "bot-guide.md").read_text().partition("## 2. ")[0]
    for path in ("/start", "/start/people", "/start/bot"):
        heading = re.search(r"<h1[^>]*>([^<]+)</h1>", ada.get(path).text)[1]
        assert f"**{heading}**" in guide
    assert "**Create bot and show token**" in guide
    assert ">Create bot and show token</button>" in ada.get("/start/bot").text


def test_what_is_wrong_is_said_and_kept(ada):
    refused = ada.post("/start", name="Ours & theirs", key="x")
    assert refused.status_code == 422
    assert "Ours &amp; theirs" in refused.text
    assert 'aria-invalid="true"' in refused.text
    short = ada.post("/start/people", display_name="Cleo", username="c")
    assert (short.status_code, "2 to 64" in short.text) == (422, True)
    nowhere = ada.post("/start/bot", username="bot-1", mode="read")
    assert nowhere.status_code == 422
    assert "Select at least one project" in nowhere.text


def test_without_a_project_home_leads_to_the_steps(newcomer):
    newcomer.post("/setup", username="ada", password=PASSWORD)
    assert 'href="/start"' in newcomer.get("/").text
    assert 'href="/start"' in newcomer.get("/projects").text
    assert "Load the sample project" in newcomer.get("/projects").text
    assert newcomer.get("/start/bot").status_code == 200
