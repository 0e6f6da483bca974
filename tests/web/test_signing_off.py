"""What bots leave for people: shown in My work, signed off, or sent back."""

import re

import pytest

from tests.support.story import events, make_ticket, ok, state_ids
from tests.web.conftest import Reader

HERE = "/"


def text_of(page) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page.text.split("<main")[1]).split())


def move(caller, state: str, **body):
    ok(caller.post("/tickets/OPEN-1/transition", {"state_id": state, **body}))


@pytest.fixture
def states(cast):
    return state_ids(cast.ada, cast.open_project)


@pytest.fixture
def bo(app, cast):
    """Bo in a browser."""
    return Reader(cast.bo.client, app)


@pytest.fixture
def waiting(cast, states):
    """OPEN-1, which a bot worked on and left in the review state."""
    body = {"sign_off": True, "review_state_id": states[3]}
    ok(cast.ada.patch(f"/projects/{cast.open_project}", body))
    make_ticket(cast.ada, cast.open_project, title="Lamp", body="One\n\nTwo\n")
    move(cast.smith, states[2])
    ok(cast.smith.patch("/tickets/OPEN-1", {"body": "One\n\nThree\n", "priority": "high"}))
    move(cast.smith, states[3], comment="I mended it.")


def seen(page) -> str:
    return re.search(r'name="seen" value="([^"]*)"', page.text)[1].replace("&#34;", '"')


def decide(person, decision: str, body: str = "", page=None):
    given = {"decision": decision, "body": body, "seen": seen(page or person.get(HERE))}
    return person.post("/tickets/OPEN-1/sign-off", **given)


@pytest.mark.usefixtures("waiting")
def test_more_than_are_shown_are_not_counted_as_all(ada, cast, states, monkeypatch):
    monkeypatch.setattr("app.inbox.sign_offs.MAX_SHOWN_TICKETS", 1)
    assert "Needs you 1 " in text_of(ada.get(HERE))
    other = make_ticket(cast.smith, cast.open_project, title="Desk")
    ok(cast.smith.post(f"/tickets/{other['id']}/transition", {"state_id": states[3]}))
    page = ada.get(HERE)
    assert "Needs you 1+ " in text_of(page)
    assert page.text.count('class="row need"') == 1


@pytest.mark.usefixtures("waiting")
def test_everyone_sees_what_waits_and_what_the_bot_did(ada, bo, cast):
    for person in (ada, bo):
        text = text_of(person.get(HERE))
        assert "Needs you 1" in text
        assert "Smith bot moved this to In review" in text
        assert "I mended it." in text
    changes = text_of(ada.get("/tickets/OPEN-1/sign-off"))
    assert "Removed: Two" in changes.replace("Removed : Two", "Removed: Two")
    assert "Three" in changes
    assert "In review" in changes
    assert "Created" not in changes
    fragment = ada.get("/tickets/OPEN-1/sign-off", htmx=True)
    assert "<html" not in fragment.text
    assert "Three" in fragment.text


@pytest.mark.usefixtures("waiting")
def test_signing_off_closes_it_in_the_name_of_the_person(ada, app, cast, states):
    assert decide(ada, "sign_off").location == HERE
    event = events(app, event_type="ticket.state_changed")[-1]
    assert event.payload["to_state_id"] == states[4]
    assert (event.actor_kind, event.actor_user_id) == ("human", cast.ada.user_id)
    assert "Needs you" not in text_of(ada.get(HERE))


@pytest.mark.usefixtures("waiting")
def test_sending_back_needs_a_comment_and_returns_it_to_where_it_was(ada, cast, states):
    refused = decide(ada, "send_back", "  ")
    assert refused.status_code == 422
    assert "Say what is missing" in text_of(refused)
    assert refused.text.count('<p class="problem" role="alert" tabindex="-1" autofocus>') == 1
    assert decide(ada, "send_back", "The shade is missing.").location == HERE
    ticket = ok(cast.ada.get("/tickets/OPEN-1"))
    assert ticket["state_id"] == states[2]
    said = ok(cast.ada.get("/tickets/OPEN-1/comments"))["data"][-1]
    assert (said["body"], said["author"]["username"]) == ("The shade is missing.", "ada")
    assert "Needs you" not in text_of(ada.get(HERE))


@pytest.mark.usefixtures("waiting")
def test_what_changed_since_it_was_shown_is_not_signed_off(ada, cast, states):
    page = ada.get(HERE)
    ok(cast.smith.patch("/tickets/OPEN-1", {"title": "Another lamp"}))
    refused = decide(ada, "sign_off", "Good.", page)
    assert refused.status_code == 409
    assert "This has changed since you read it" in text_of(refused)
    assert "Good." in refused.text
    assert ok(cast.ada.get("/tickets/OPEN-1"))["state_id"] == states[3]


@pytest.mark.usefixtures("waiting")
def test_two_people_decide_once(ada, bo, cast, states):
    page = bo.get(HERE)
    decide(ada, "sign_off")
    refused = decide(bo, "send_back", "Not yet.", page)
    assert refused.status_code == 409
    assert "OPEN-1 no longer waits for sign-off." in text_of(refused)
    assert ok(cast.ada.get("/tickets/OPEN-1"))["state_id"] == states[4]


@pytest.mark.usefixtures("waiting")
def test_what_a_person_moved_there_does_not_wait(ada, cast, states):
    move(cast.bo, states[1])
    move(cast.bo, states[3])
    assert "Needs you" not in text_of(ada.get(HERE))
    assert "since a person last did" in text_of(ada.get("/tickets/OPEN-1/sign-off"))


@pytest.mark.usefixtures("waiting")
def test_nothing_waits_once_the_project_asks_for_it_no_more(ada, cast):
    ok(cast.ada.patch(f"/projects/{cast.open_project}", {"sign_off": False}))
    assert "Needs you" not in text_of(ada.get(HERE))


def test_a_ticket_that_began_in_review_goes_to_an_active_state(ada, cast, states):
    body = {"sign_off": True, "review_state_id": states[3]}
    ok(cast.ada.patch(f"/projects/{cast.open_project}", body))
    make_ticket(cast.smith, cast.open_project, state_id=states[3])
    decide(ada, "send_back", "Where is it?")
    assert ok(cast.ada.get("/tickets/OPEN-1"))["state_id"] == states[1]


def test_the_settings_turn_it_on_and_off(ada, cast, states):
    page = "/projects/OPEN/settings/general"
    shown = ada.get(page).text
    assert re.search(rf'<option value="{states[3]}" selected>', shown)
    assert not re.search(r'name="sign_off" value="on"\s+checked', shown)
    project = f"/projects/{cast.open_project}"

    def save(**form):
        assert ada.post(page, name="Open", **form).status_code == 303
        found = ok(cast.ada.get(project))
        return found["sign_off"], found["review_state_id"]

    assert save(sign_off="false", review_state_id=states[3]) == (False, None)
    assert save(sign_off=["false", "on"], review_state_id=states[3]) == (True, states[3])
    assert re.search(r'name="sign_off" value="on"\s+checked', ada.get(page).text)
    assert save(sign_off="false", review_state_id="") == (False, None)
