"""Templates that ask for less (app/web/jinja.py) say the same."""

import pytest
from flask import Flask
from flask.templating import Environment
from jinja2 import DictLoader
from markupsafe import Markup

from app.web.jinja import Pages


class Name:
    def __str__(self):
        return "<Ada>"


class Safe:
    def __html__(self):
        return "<b>safe</b>"


VALUES = {
    "text": "<'\"&> plain",
    "safe": Markup("<i>safe</i>"),
    "marks_itself": Safe(),
    "object": Name(),
    "number": 7,
    "nothing": None,
    "row": {"name": "<x>", "items": "a key", 7: "seven"},
}
TEMPLATE = """
{%- macro inner(value) %}[{{ value }}]{% endmacro -%}
{{ text }}{{ safe }}{{ marks_itself }}{{ object }}{{ number }}{{ nothing }}{{ unknown }}
{{ inner(text) }}{{ inner(safe) }}{{ text ~ safe }}{{ text | upper }}{{ '<' }}{{ text | safe }}
{{ row.name }}{{ row['name'] }}{{ row.items() | length }}{{ row.other }}{{ row.other is defined }}
{{ row.name.upper() }}{{ row.get('name') }}{{ row[7] }}{{ number.real }}{{ inner(value=row.name) }}
{% set kept %}{{ text }}{% endset %}{{ kept }}{% for one in (text, safe) %}{{ one }}{% endfor %}
{% autoescape false %}{{ text }}{% endautoescape %}
{% autoescape number %}{{ text }}{% endautoescape %}
"""


@pytest.fixture(params=["page.html", "page.txt"])
def name(request):
    return request.param


def test_values_go_out_as_jinja_alone_would_have_them(name):
    app = Flask(__name__)

    def rendered(kind):
        env = kind(app, extensions=["jinja2.ext.loopcontrols"])
        env.autoescape = app.select_jinja_autoescape
        code = env.compile(TEMPLATE, name=name, filename=name)
        return env.template_class.from_code(env, code, env.make_globals(None)).render(VALUES)

    assert rendered(Pages) == rendered(Environment)


def test_globals_are_of_all_templates_and_may_be_added_to_one():
    env = Pages(Flask(__name__))
    env.globals["place"] = "here"
    assert env.from_string("{{ place }}").render() == "here"
    assert env.from_string("{{ place }}", globals={"place": "there"}).render() == "there"
    assert env.from_string("{{ place }}").render() == "here"


FILES = {
    "base.html": "<{% block head %}none{% endblock %}>{% block body %}{% endblock %}|{{ safe }}",
    "frame.html": "{% extends 'base.html' %}{% set tab = text %}{% block body %}"
    "({% block inner %}inner {{ tab }}{% endblock %}){{ self.head() }}{% endblock %}",
    "page.html": "{% extends 'frame.html' if number else 'base.html' %}unseen"
    "{% block head %}{{ text }}{% if number %}{{ safe }}{% endif %}{% endblock %}{% block inner %}"
    "{% for one in (text, safe) if one %}{% include 'part.html' %}{% else %}no{% endfor %}"
    "{% set it %}{{ text }}{% endset %}{{ it }}{{ super() }}{% endblock %}",
    "part.html": "{% macro m(x) %}{{ x }}{{ caller() }}{% endmacro %}{% call m(one) %}!"
    "{% endcall %}{% filter upper %}{{ tab }}{% include 'leaf.html' %}{% endfilter %}"
    "{% with a = one %}{{ a }}{% endwith %}",
    "leaf.html": "{% for n in range(3) %}{% if n == 1 %}{% continue %}{% endif %}{{ n }}"
    "{% endfor %}",
}


def test_blocks_and_files_say_as_jinja_alone_would_have_them():
    app = Flask(__name__)

    def rendered(kind):
        env = kind(app, loader=DictLoader(FILES), extensions=["jinja2.ext.loopcontrols"])
        env.autoescape = app.select_jinja_autoescape
        found = env.get_template("page.html")
        alone = "".join(found.blocks["head"](found.new_context(VALUES)))
        return found.render(VALUES), alone, str(env.get_template("part.html").module)

    assert rendered(Pages) == rendered(Environment)


def test_a_block_goes_out_in_one_piece():
    env = Pages(Flask(__name__), loader=DictLoader(FILES), extensions=["jinja2.ext.loopcontrols"])
    found = env.get_template("page.html")
    assert len(list(found.blocks["head"](found.new_context(VALUES)))) == 1
    assert len(list(found.root_render_func(found.new_context(VALUES)))) == 1
