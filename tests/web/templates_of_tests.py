"""Templates of a test's own beside ours, and cached pages made of them."""

import pytest
from jinja2 import ChoiceLoader, DictLoader

from app.core.actor import ANONYMOUS
from app.core.cache import Cache
from app.core.clock import DAY_MS
from app.http.current import current_g
from app.web import filters, page_cache
from app.web.render import cached_page

COMPRESSED = {"Accept-Encoding": "gzip"}
NOON = 1_800_000_000_000 // DAY_MS * DAY_MS + DAY_MS // 2


@pytest.fixture
def clock(monkeypatch):
    """Sets the clock of pages."""

    def set_to(moment):
        monkeypatch.setattr(page_cache, "now_ms", lambda: moment)
        monkeypatch.setattr(filters, "now_ms", lambda: moment)

    set_to(NOON)
    return set_to


@pytest.fixture
def env(app, monkeypatch):
    """The templates, with some of our own: ``write(name, source)``."""
    env, own = app.jinja_env, {}
    # Tests share names of templates, and may share values too.
    monkeypatch.setitem(app.extensions, "docket_page_cache", Cache(page_cache.CAPACITY))
    monkeypatch.setattr(env, "loader", ChoiceLoader([DictLoader(own), env.loader]))
    monkeypatch.setattr(env, "bytecode_cache", None)
    monkeypatch.setattr(env, "write", own.__setitem__, raising=False)
    monkeypatch.setattr(env, "globals", {**env.globals})
    return env


@pytest.fixture
def shown(app, env):
    """A cached page that a template makes of values, as text."""

    def ask(template, *, headers=None, **values):
        with app.test_request_context(headers=headers or {}):
            current_g().actor = ANONYMOUS
            return cached_page(template, values).get_data(as_text=True)

    return ask


def without_keys(text):
    """A page without what is another each time."""
    head, *rest = text.split('name="idempotency_key" value="')
    return [head, *(one[36:] for one in rest)]
