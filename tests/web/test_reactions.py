"""Reactions below the comments of a ticket's page."""

import re

import pytest

from tests.support.story import ok


@pytest.fixture
def path(ticket):
    return f"/tickets/{ticket['display_id']}"


@pytest.fixture
def comment(cast, ticket):
    return ok(cast.smith.post(f"/tickets/{ticket['id']}/comments", {"body": "Shall we?"}), 201)


def buttons(text):
    """The name, value, state and label of each reaction."""
    found = re.findall(
        r'<button class="reaction" id="\w+-[\w-]+" name="(\w+)"\s+value="(\w+)"'
        r' aria-pressed="(\w+)" title="([^"]*)"',
        text,
    )
    return [tuple(one) for one in found]


def test_without_script_a_press_adds_and_another_takes_back(ada, path, comment):
    assert buttons(ada.get(path).text) == []
    answer = ada.post(f"/comments/{comment['id']}/reactions", react="thumbs_up")
    assert answer.status_code == 303
    assert answer.headers["Location"] == f"{path}#comment-{comment['id']}"
    assert buttons(ada.get(path).text) == [("take_back", "thumbs_up", "true", "Ada")]
    ada.post(f"/comments/{comment['id']}/reactions", take_back="thumbs_up")
    assert buttons(ada.get(path).text) == []


def test_a_press_shows_who_reacted(ada, cast, comment):
    ok(cast.smith.call("PUT", f"/comments/{comment['id']}/reactions/eyes"))
    answer = ada.post(f"/comments/{comment['id']}/reactions", htmx=True, react="eyes")
    assert answer.status_code == 200
    assert answer.text.startswith(f'<form class="reactions" id="reactions-{comment["id"]}"')
    assert buttons(answer.text) == [("take_back", "eyes", "true", "Smith, Ada")]
    assert 'aria-label="Eyes 2: Smith, Ada" autofocus' in answer.text


def test_six_are_offered_and_nothing_else_is_taken(ada, path, comment):
    text = ada.get(path).text
    assert re.findall(r'name="react" value="(\w+)" title', text)[:6] == [
        "thumbs_up", "thumbs_down", "laugh", "hooray", "heart", "eyes",
    ]  # fmt: skip
    for form in ({}, {"react": "rocket"}):
        answer = ada.post(f"/comments/{comment['id']}/reactions", **form)
        assert answer.status_code == 404


def test_the_reactions_of_others_arrive_by_themselves(ada, cast, path, comment):
    since = re.search(r"/live\?since=([\w-]+)&amp;n=(\d+)", ada.get(path).text)
    live = f"{path}/live?since={since[1]}&n={since[2]}&show=all"
    assert ada.get(live, htmx=True).status_code == 204
    ok(cast.smith.call("PUT", f"/comments/{comment['id']}/reactions/heart"))
    news = ada.get(live, htmx=True)
    assert news.status_code == 200
    assert f'id="reactions-{comment["id"]}"' in news.text
    assert "data-again" in news.text
    assert ("react", "heart", "false", "Smith") in buttons(news.text)
    since = re.search(r"/live\?since=([\w-]+)&amp;n=(\d+)", news.text)
    again = ada.get(f"{path}/live?since={since[1]}&n={since[2]}&show=all", htmx=True)
    assert again.status_code == 204


def test_a_reaction_is_no_line_of_the_stream(ada, cast, path, comment):
    ok(cast.smith.call("PUT", f"/comments/{comment['id']}/reactions/heart"))
    assert "reacted" not in ada.get(f"{path}?show=changes").text
