"""Templates say which script acts on an element, and each script says which elements it serves."""

import re

import pytest

from app.web.assets import STATIC

SCRIPTS = {path.name: path.read_text() for path in sorted((STATIC / "js").glob("*.js"))}
TEMPLATES = "\n".join(path.read_text() for path in (STATIC.parent / "templates").rglob("*.html"))
# Calls in scripts that look for elements, with the selector if it is a literal.
LOOKUP = re.compile(r"(?:querySelector(?:All)?|closest|matches)(?:\?\.)?\(([\"'`])(.*?)\1")
BY_NAME = re.compile(r"getElementById\([\"']|getElementsByClassName")


def served(name: str) -> str:
    """The first line of a script, which says what it serves."""
    first = SCRIPTS[name].splitlines()[0]
    assert first.startswith("// Serves "), name
    return first


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_serves_attributes_that_templates_have(name):
    for attribute in re.findall(r"\[(data-[\w-]+)\]", served(name)):
        assert re.search(rf"[\s\"]{attribute}[\s=>{{\"]", TEMPLATES), attribute


def test_each_behavior_has_a_script_and_each_script_its_elements():
    named = {
        one for name in SCRIPTS for one in re.findall(r'data-behavior="([\w-]+)"', served(name))
    }
    assert set(re.findall(r'data-behavior="([^"]+)"', TEMPLATES)) == named


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_find_elements_by_attribute_not_by_class_or_id(name):
    selectors = [found[1] for found in LOOKUP.findall(SCRIPTS[name])]
    plain = [re.sub(r"\[[^\]]*\]", "", one) for one in selectors]
    assert [one for one in plain if re.search(r"[.#][a-z]", one)] == []
    assert BY_NAME.findall(SCRIPTS[name]) == []
