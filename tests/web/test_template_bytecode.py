"""Templates are compiled once, not at each start, and no other user may write compiled files."""

import pytest
from jinja2 import BytecodeCache, Environment

from app import create_app
from app.web.render import warm
from tests.support.settings import settings_for


@pytest.fixture
def started(tmp_path):
    """A function that starts an application on this directory."""
    return lambda: create_app(settings_for(f"sqlite:///{tmp_path}/docket.db", tmp_path))


NAMED = ["base.html", "signed_out.html"]


def compiled(started, monkeypatch):
    """The templates that a start compiles, with NAMED as the templates to prepare."""
    names, compiling = [], Environment.compile

    def noting(env, source, name=None, *more, **options):
        names.append(name)
        return compiling(env, source, name, *more, **options)

    with monkeypatch.context() as patched:
        patched.setattr(Environment, "compile", noting)
        patched.setattr(Environment, "list_templates", lambda env, extensions: NAMED)
        warm(started())
    return names


def test_what_was_compiled_is_not_compiled_again(started, monkeypatch):
    assert {*NAMED, "macros/ui.html"} <= set(compiled(started, monkeypatch))
    assert compiled(started, monkeypatch) == []


def test_only_its_owner_may_write_compiled_templates(started, tmp_path):
    app = started()
    assert isinstance(app.jinja_env.bytecode_cache, BytecodeCache)
    assert (tmp_path / "templates").stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o755])
def test_compiled_templates_of_an_open_directory_are_not_read(started, tmp_path, mode):
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates").chmod(mode)
    assert started().jinja_env.bytecode_cache is None


def test_compiled_templates_of_another_user_are_not_read(started, monkeypatch):
    monkeypatch.setattr("os.geteuid", lambda: 54321)
    assert started().jinja_env.bytecode_cache is None


def test_a_start_needs_no_place_for_compiled_templates(started, tmp_path, monkeypatch):
    # A file in place of the directory acts like a read-only directory, also for root.
    (tmp_path / "templates").write_text("")
    assert set(NAMED) <= set(compiled(started, monkeypatch))


def test_icons_are_those_of_the_running_server(started, monkeypatch):
    env = started().jinja_env
    code = env.compile("{{ 'bell' | icon }}")
    monkeypatch.setitem(env.filters, "icon", lambda _context, name: f"another {name}")
    assert env.template_class.from_code(env, code, {}).render() == "another bell"
