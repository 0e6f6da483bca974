"""Prompts name what the bot may see, in both eras of the protocol."""

from dataclasses import replace

import pytest

from tests.support.story import ok

NAMES = ["work-next", "triage", "plan-epic", "daily-report", "hand-over"]


@pytest.mark.parametrize("modern", [False, True])
def test_prompts_are_listed_and_written(smith, ada, cast, modern):
    agent = replace(smith, modern=modern)
    listed = agent.result("prompts/list")["prompts"]
    assert [prompt["name"] for prompt in listed] == NAMES
    for prompt in listed:
        given = {one["name"]: "OPEN-1" for one in prompt["arguments"] if one["required"]}
        (message,) = agent.result("prompts/get", {"name": prompt["name"], "arguments": given})[
            "messages"
        ]
        assert message["role"] == "user"
        assert "OPEN, " in message["content"]["text"] or "OPEN." in message["content"]["text"]
        assert "{" not in message["content"]["text"]


def text(agent, name, **arguments):
    found = agent.result("prompts/get", {"name": name, "arguments": arguments})
    return found["messages"][0]["content"]["text"]


def test_a_prompt_names_only_what_the_bot_sees(smith, fenced, ada, cast):
    page = {"title": "Rules", "slug": "agents", "project_id": cast.open_project}
    ok(ada.post("/wiki/pages", page), 201)
    assert "wiki://page/agents" in text(smith, "triage")
    shown = text(fenced, "triage")
    assert "FENCED" in shown
    assert "OPEN" not in shown
    assert "wiki://" not in shown
    assert " in FENCED" in text(smith, "work-next", project="FENCED")


@pytest.mark.one_database
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"name": 3},
        {"name": "none"},
        {"name": "triage", "arguments": [1]},
        {"name": "triage", "arguments": {"other": "x"}},
        {"name": "triage", "arguments": {"project": 3}},
        {"name": "triage", "arguments": {"project": "OPEN"}},
        {"name": "plan-epic"},
        {"name": "plan-epic", "arguments": {"goal": " "}},
        {"name": "plan-epic", "arguments": {"goal": "x" * 4001}},
    ],
)
def test_wrong_params_are_refused(fenced, params):
    assert fenced.send("prompts/get", params).get_json()["error"]["code"] == -32602


def test_braces_in_a_goal_stay(smith):
    assert "{scope}" in text(smith, "plan-epic", goal="{scope}")
