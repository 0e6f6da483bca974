"""Cached pages get all values that they show."""

from functools import cache

import pytest
from jinja2 import meta, nodes

# Names that belong to the current request, and are not in the key of a page.
OF_REQUEST = {"request", "session", "g", "config", "get_flashed_messages"}


@pytest.mark.one_database
@pytest.mark.parametrize("template", ["tickets/board.html", "tickets/show.html", "wiki/show.html"])
def test_cached_pages_ask_for_nothing_of_the_request(app, template):
    asked = asked_of_page(app.jinja_env, template)
    # The frame of all pages uses it.
    assert "prefers" in asked
    assert not asked & OF_REQUEST


def test_the_judge_of_cached_pages_sees_all_parts_of_a_page(env):
    env.write("above.html", "{{ request.path }}{% block one %}{% endblock %}")
    env.write("part.html", "{{ session }}")
    env.write(
        "page.html",
        "{% extends 'above.html' %}"
        "{% block one %}{{ given }}{% include 'part.html' %}{% endblock %}",
    )
    assert asked_of_page(env, "page.html") >= {"request", "given", "session"}


def asked_of_page(env, name: str) -> set[str]:
    """The names of ``asked_for``, those of extended templates, and those of the shared macros."""
    parsed = env.parse(env.loader.get_source(env, name)[0])
    names = {*asked_for(env, name)}
    for above in parsed.find_all(nodes.Extends):
        names |= asked_of_page(env, above.template.value)
    return names | asked_for(env, "macros/ui.html")


@cache
def asked_for(env, name: str) -> frozenset[str]:
    """The undeclared names in a template and in all that it includes."""
    parsed = env.parse(env.loader.get_source(env, name)[0])
    names = set(meta.find_undeclared_variables(parsed))
    # Flask declares these for all templates, so they are not found as undeclared.
    names |= {one.name for one in parsed.find_all(nodes.Name)} & OF_REQUEST
    for include in parsed.find_all(nodes.Include):
        names |= asked_for(env, include.template.value)
    return frozenset(names)
