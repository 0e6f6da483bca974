"""Forms: loaded through the schemas of REST, shown again with their errors, done only once."""

import pytest

from app.web.forms import sentence


def tickets_of(cast) -> list[str]:
    rows = cast.ada.get(f"/projects/{cast.open_project}/tickets").json["data"]
    return [row["title"] for row in rows]


def test_what_is_wrong_stands_at_its_field_and_the_input_is_kept(ada):
    answer = ada.post("/projects/new", name="Kept <b>name</b>", key="bad key")
    assert answer.status_code == 422
    assert 'id="key-problem"' in answer.text
    assert 'aria-describedby="key-problem key-hint"' in answer.text
    assert 'value="Kept &lt;b&gt;name&lt;/b&gt;"' in answer.text
    assert 'value="bad key"' in answer.text


def test_a_key_that_is_taken_is_said_at_the_field(ada):
    answer = ada.post("/projects/new", name="Again", key="OPEN")
    assert answer.status_code == 422
    assert "The key OPEN is already taken." in answer.text


def test_the_same_form_twice_creates_one_thing(ada, cast):
    form = {"project": "OPEN", "title": "Once", "idempotency_key": "a-key"}
    first = ada.post("/tickets/new", **form)
    second = ada.post("/tickets/new", **form)
    assert first.status_code == second.status_code == 303
    assert first.location == second.location
    assert tickets_of(cast) == ["Once"]


def test_a_form_changed_after_going_back_creates_another_thing(ada, cast):
    ada.post("/tickets/new", project="OPEN", title="One", idempotency_key="a-key")
    ada.post("/tickets/new", project="OPEN", title="Two", idempotency_key="a-key")
    assert sorted(tickets_of(cast)) == ["One", "Two"]


def test_a_refused_form_leaves_its_key_free(ada, cast):
    refused = ada.post("/tickets/new", project="OPEN", title=" ", idempotency_key="a-key")
    assert refused.status_code == 422
    assert 'value="a-key"' in refused.text
    ada.post("/tickets/new", project="OPEN", title="Now", idempotency_key="a-key")
    assert tickets_of(cast) == ["Now"]


def test_a_long_text_is_refused_with_its_text_kept(ada, cast):
    answer = ada.post("/tickets/new", project="OPEN", title="T", body="x" * 65_537)
    assert answer.status_code == 422
    assert "at most 65536 characters" in answer.text
    assert "x" * 65_537 in answer.text
    assert tickets_of(cast) == []


def test_line_ends_are_those_of_the_api(ada, cast):
    ada.post("/tickets/new", project="OPEN", title="T", body="one\r\ntwo\r\n")
    ticket = cast.ada.get("/tickets/OPEN-1").json
    assert ticket["body"] == "one\ntwo\n"


@pytest.mark.parametrize("parent", ["OPEN-1", "open-1", " OPEN-1 "])
def test_a_parent_is_named_by_its_number(ada, cast, ticket, parent):
    ada.post("/tickets/new", project="OPEN", title="Below", type="subtask", parent_ticket_id=parent)
    below = cast.ada.get("/tickets/OPEN-3").json
    assert below["parent"]["display_id"] == "OPEN-1"


def test_a_bot_needs_a_deliberate_choice_of_projects(ada, cast):
    refused = ada.post("/bots", username="bot-a", mode="write")
    assert refused.status_code == 422
    assert "Select at least one project, or all projects." in refused.text
    shown = ada.post("/bots", username="bot-a", mode="write", project_ids=cast.open_project)
    token = shown.text.partition('value="app_')[2][:32]
    assert len(token) == 32
    me = cast.nobody.get("/auth/me", headers={"X-API-Key": f"app_{token}"}).json
    assert me["project_ids"] == [cast.open_project]


def test_passwords_are_never_shown_again(ada, stranger):
    secret = "a secret sentence"
    for answer in (
        stranger.post("/login", username="ada", password=secret),
        ada.post("/profile/password", current_password=secret, new_password=secret),
    ):
        assert answer.status_code == 422
        assert secret not in answer.text


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("due_date must be a day.", "Due date must be a day."),
        ("assignee_user_id must be a person.", "Assignee must be a person."),
        ("review_state_id must be a state.", "Review state must be a state."),
        ("project_ids must not be empty.", "Projects must not be empty."),
        ("Select a bot.", "Select a bot."),
    ],
)
def test_a_message_begins_with_the_label_of_its_field(message, said):
    assert sentence(message) == said
