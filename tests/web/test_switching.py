"""The menu of projects in the header."""

import re

import pytest

SWITCH = "/projects/switch"


@pytest.fixture
def many(cast):
    """More projects than the menu shows without a search."""
    made = [("API", "Interfaces"), ("WEB", "Rapid pages"), ("RAP", "Rapid API")]
    made += [(f"P{number}", f"Filler {number}") for number in range(18, 22)]
    for key, name in made:
        cast.ada.post("/projects", {"key": key, "name": name})


def keys(answer):
    """The keys of the projects in the menu."""
    return re.findall(r'href="/projects/(\w+)/board"', answer.text)


def test_few_projects_are_all_shown_and_need_no_line(ada):
    answer = ada.get(SWITCH, htmx=True)
    assert "OPEN" in keys(answer)
    assert "Find a project" not in answer.text


@pytest.mark.usefixtures("many")
def test_of_many_projects_those_that_fit_are_shown_the_best_first(ada):
    answer = ada.get(SWITCH, htmx=True)
    assert "Find a project" in answer.text
    assert {"API", "P18", "OPEN"} < set(keys(answer))
    assert keys(ada.get(f"{SWITCH}?q=api", htmx=True)) == ["API", "RAP", "WEB"]
    assert keys(ada.get(f"{SWITCH}?q=RAP", htmx=True)) == ["RAP", "WEB"]
    assert keys(ada.get(f"{SWITCH}?q=filler+2", htmx=True)) == ["P20", "P21"]
    assert "No matching projects." in ada.get(f"{SWITCH}?q=zzz", htmx=True).text


@pytest.mark.parametrize(
    ("typed", "leads_to"),
    [
        ("open", "/projects/OPEN/board"),
        ("%20", "/projects"),
        ("zzz", "/projects"),
    ],
)
def test_enter_leads_to_the_first_that_fits(ada, typed, leads_to):
    assert ada.get(f"{SWITCH}?q={typed}").location == leads_to
