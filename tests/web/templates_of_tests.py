"""Templates that a test adds, and cached pages rendered from them."""

import pytest
from jinja2 import ChoiceLoader, DictLoader

from app.core.actor import ANONYMOUS
from app.core.cache import Cache
from app.core.clock import DAY_MS
from app.http import current
from app.http.current import current_g
from app.web import filters, page_cache
from app.web.render import cached_page

COMPRESSED = {"Accept-Encoding": "gzip"}
NOON = 1_800_000_000_000 // DAY_MS * DAY_MS + DAY_MS // 2


@pytest.fixture
def clock(monkeypatch):
    """A function that sets the clock of pages."""

    def set_to(moment):
        monkeypatch.setattr(current, "now_ms", lambda: moment)
        monkeypatch.setattr(filters, "now_ms", lambda: moment)

    set_to(NOON)
    return set_to


@pytest.fixture
def env(app, monkeypatch):
    """The template environment, with ``write(name, source)`` to add templates."""
    env, own = app.jinja_env, {}
    # Tests use the same template names and maybe values, so each gets an empty cache.
    monkeypatch.setitem(app.extensions, "docket_page_cache", Cache(page_cache.CAPACITY))
    monkeypatch.setattr(env, "loader", ChoiceLoader([DictLoader(own), env.loader]))
    monkeypatch.setattr(env, "bytecode_cache", None)
    monkeypatch.setattr(env, "write", own.__setitem__, raising=False)
    monkeypatch.setattr(env, "globals", {**env.globals})
    return env


@pytest.fixture
def shown(app, env):
    """A function that renders a cached page from a template and values, as text."""

    def ask(template, *, headers=None, **values):
        with app.test_request_context(headers=headers or {}):
            current_g().actor = ANONYMOUS
            return cached_page(template, values).get_data(as_text=True)

    return ask


def without_keys(text):
    """A page without the idempotency keys, which differ each time."""
    head, *rest = text.split('name="idempotency_key" value="')
    return [head, *(one[36:] for one in rest)]
