"""Templates are compiled once, not at each start."""

import pytest
from jinja2 import Environment, FileSystemLoader

from app.web.compiled import keep_compiled


def environment(templates, assets="one"):
    made = Environment(loader=FileSystemLoader(templates), autoescape=True)
    made.filters["icon"] = lambda name: f"{assets}#{name}"
    keep_compiled(made, templates, assets)
    return made


@pytest.fixture
def templates(tmp_path, monkeypatch):
    # Whatever these tests themselves are run with.
    monkeypatch.setattr("sys.dont_write_bytecode", False)
    (tmp_path / "page.html").write_text("Hello {{ name }}")
    return tmp_path


def shown(env):
    return env.get_template("page.html").render(name="Ada")


def test_what_was_compiled_is_not_compiled_again(templates, monkeypatch):
    assert shown(environment(templates)) == "Hello Ada"
    second = environment(templates)
    monkeypatch.setattr(second, "compile", lambda *_: pytest.fail("compiled again"))
    assert shown(second) == "Hello Ada"


def test_what_changed_is_compiled(templates):
    shown(environment(templates))
    (templates / "page.html").write_text("Bye {{ name }}")
    assert shown(environment(templates)) == "Bye Ada"


def test_icons_are_those_of_the_assets_of_now(templates):
    (templates / "page.html").write_text("{{ 'bell' | icon }}")
    assert shown(environment(templates)) == "one#bell"
    assert shown(environment(templates, "two")) == "two#bell"
    assert shown(environment(templates)) == "one#bell"


def test_what_is_damaged_is_compiled(templates):
    shown(environment(templates))
    for kept in (templates / "__pycache__").iterdir():
        kept.write_bytes(kept.read_bytes()[:-10])
    assert shown(environment(templates)) == "Hello Ada"


def test_nothing_is_kept_where_nothing_can_be(templates):
    # A file where the directory would be: as good as one that may not be written, also for root.
    (templates / "__pycache__").write_text("")
    assert shown(environment(templates)) == "Hello Ada"


def test_nothing_is_kept_where_python_keeps_nothing(templates, monkeypatch):
    monkeypatch.setattr("sys.dont_write_bytecode", True)
    assert shown(environment(templates)) == "Hello Ada"
    assert not (templates / "__pycache__").exists()
