"""Parts of pages and whole pages that are kept are given all that they show."""

from collections.abc import Iterator

from jinja2 import meta, nodes

from app.web import pieces

# What a template may ask for though a piece does not give it: these parts are shown alone too, and
# then with more, or a form is in them that was refused.
MORE = {
    *("again", "by", "out_of_band"),
    *("relation_form", "watcher_form", "users"),
    *("standing", "shown"),
}
# Of what they include these show the title or the text, in which no reader is named.
WITHOUT_READER = {"tickets/_head.html", "tickets/_fact.html"}
# What is another each time, or of the request at hand.
NOT_STILL = {"new_key", "request", "session", "g", "config", "get_flashed_messages", "place"}


def test_whole_pages_ask_for_nothing_of_the_request(app):
    for template in pieces.STILL_PAGES:
        asked = asked_of_page(app.jinja_env, template)
        # It is asked by the frame of all pages.
        assert "prefers" in asked
        assert not asked & (NOT_STILL - {"new_key", "place"}), template


def test_the_judge_of_whole_pages_sees_what_stands_above(env):
    env.write("above.html", "{{ request.path }}{% block one %}{% endblock %}")
    env.write("page.html", "{% extends 'above.html' %}{% block one %}{{ given }}{% endblock %}")
    assert asked_of_page(env, "page.html") >= {"request", "given"}


def asked_of_page(env, name: str) -> set[str]:
    """As ``asked_for``, with what it extends, and with the macros of all pages."""
    parsed = env.parse(env.loader.get_source(env, name)[0])
    names = asked_for(env, name)
    for above in parsed.find_all(nodes.Extends):
        names |= asked_of_page(env, above.template.value)
    return names | asked_for(env, "macros/ui.html")


def stills(env, name: str) -> Iterator[tuple[str, set[str]]]:
    """The pieces that a template asks for, and what it gives them."""
    source = env.loader.get_source(env, name)[0]
    for call in env.parse(source).find_all(nodes.Call):
        if isinstance(call.node, nodes.Name) and call.node.name == "still":
            yield call.args[0].value, {one.key for one in call.kwargs}


def asked_for(env, name: str) -> set[str]:
    """What a template asks for, with all that it includes."""
    source = env.loader.get_source(env, name)[0]
    parsed = env.parse(source)
    names = set(meta.find_undeclared_variables(parsed))
    # What all templates have counts as declared.
    names |= {one.name for one in parsed.find_all(nodes.Name) if one.ctx == "load"} & NOT_STILL
    if any(one.attr == "once" for one in parsed.find_all(nodes.Getattr)):
        names.add("new_key")
    set_here = {one.name for one in parsed.find_all(nodes.Name) if one.ctx != "load"}
    for include in parsed.find_all(nodes.Include):
        names |= asked_for(env, include.template.value) - set_here
    return names


def test_pieces_are_given_all_that_they_show(app):
    env = app.jinja_env
    found = [
        (piece, given)
        for name in env.list_templates(extensions=("html",))
        for piece, given in stills(env, name)
    ]
    assert len(found) > 5
    for template, given in found:
        asked = asked_for(env, template)
        assert not asked & NOT_STILL, template
        missing = asked - given - set(env.globals) - MORE
        assert missing <= ({"me"} if template in WITHOUT_READER else set()), template


def test_the_judge_of_pieces_sees_what_is_missing(env):
    env.write("page.html", "{{ still('piece.html', given=1) }}")
    env.write("piece.html", "{% set own = 1 %}{{ given }}{% include 'part.html' %}{{ ui.once() }}")
    env.write("part.html", "{{ own }}{{ forgotten }}")
    assert list(stills(env, "page.html")) == [("piece.html", {"given"})]
    assert asked_for(env, "piece.html") == {"given", "forgotten", "new_key"}
