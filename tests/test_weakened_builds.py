"""Deliberately weakened builds: the probes of SECURITY.md must detect each of them.

A test that cannot fail proves nothing. So each probe runs on the real build, which it must find
safe, and then on builds with one defense removed.
"""

from dataclasses import replace

import pytest
from flask.testing import FlaskClient
from sqlalchemy import select

from app import environment
from app.accounts import authentication, sessions, users
from app.activity import service
from app.core import actor as actors
from app.core.actor import Access, Actor
from app.database import encryption
from app.database.session import Prepared
from app.markdown import addresses as links
from app.markdown import library
from app.projects.models import Project
from app.sticky_notes import service as notes
from app.tickets import listing, relations
from app.web import guard
from app.webhooks import connecting, sending
from tests.authorization.world import build, frozen
from tests.support import probes
from tests.support.cast import Caller, make_cast
from tests.support.receiver import receiving

pytestmark = pytest.mark.slow


@pytest.fixture(name="cast")
def _cast(app):
    """Return the cast with unchecked clients, since weakened builds may violate the document."""
    made = make_cast(app)
    for one in vars(made).values():
        if isinstance(one, Caller):
            one.client.__class__ = FlaskClient
    return made


def nothing(*_):
    """Weaken nothing: the real build."""


def every_human_only_verb_is_a_bots(monkeypatch):
    judge = actors.authorize

    def lenient(actor, access, reason="humans_only"):
        judge(actor, Access.READ if access is Access.HUMAN else access, reason)

    monkeypatch.setattr(actors, "authorize", lenient)


# -- webhooks ------------------------------------------------------------------------------------


def no_address_is_judged(monkeypatch):
    monkeypatch.setattr(connecting, "all_may", lambda _found, _allowed: True)


def only_what_the_standard_library_knows_is_inside(monkeypatch):
    monkeypatch.setattr(connecting, "_INSIDE", ())


def redirects_are_followed(monkeypatch):
    request = sending.requests.Session.request

    def following(self, method, url, **options):
        return request(self, method, url, **options | {"allow_redirects": True})

    monkeypatch.setattr(sending.requests.Session, "request", following)


@pytest.mark.parametrize(
    "weaken",
    [no_address_is_judged, only_what_the_standard_library_knows_is_inside, redirects_are_followed],
)
def test_a_webhook_that_reaches_inside_is_noticed(tmp_path, monkeypatch, weaken):
    with receiving(tmp_path) as receiver:
        assert probes.reached_inside(receiver) == []
        weaken(monkeypatch)
        assert probes.reached_inside(receiver) != []


# -- keys ----------------------------------------------------------------------------------------


def the_key_is_in_the_code(monkeypatch):
    monkeypatch.setattr(
        environment.secrets, "token_urlsafe", lambda _: "k3y-of-all-installations" * 3
    )


def any_key_will_do(monkeypatch):
    monkeypatch.setattr(environment, "MIN_SECRET_LENGTH", 0)
    monkeypatch.setattr(environment, "MIN_DISTINCT_CHARACTERS", 0)


def what_is_kept_is_sealed_with_a_constant(monkeypatch):
    monkeypatch.setattr(encryption, "_key", lambda *_, **__: b"k" * 32)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "weaken", [the_key_is_in_the_code, any_key_will_do, what_is_kept_is_sealed_with_a_constant]
)
def test_a_key_that_others_know_is_noticed(app, tmp_path, monkeypatch, weaken):
    (tmp_path / "real").mkdir()
    (tmp_path / "weak").mkdir()
    assert probes.known_keys(app, tmp_path / "real") == []
    weaken(monkeypatch)
    assert probes.known_keys(app, tmp_path / "weak") != []


# -- tokens --------------------------------------------------------------------------------------


def a_token_is_as_good_as_a_session(monkeypatch):
    monkeypatch.setattr(authentication, "resolve_session", authentication.resolve_token)


def every_token_writes(monkeypatch):
    made = authentication._bot
    monkeypatch.setattr(authentication, "_bot", lambda found: replace(made(found), may_write=True))


def every_token_is_for_all_projects(monkeypatch):
    made = authentication._bot
    monkeypatch.setattr(
        authentication, "_bot", lambda found: replace(made(found), allowlist=frozenset())
    )


@pytest.mark.parametrize(
    "weaken",
    [
        nothing,
        every_human_only_verb_is_a_bots,
        a_token_is_as_good_as_a_session,
        every_token_writes,
        every_token_is_for_all_projects,
    ],
)
def test_a_token_that_becomes_more_is_noticed(app, cast, monkeypatch, weaken):
    weaken(monkeypatch)
    assert bool(probes.gained_by_a_token(app, cast)) is (weaken is not nothing)


# -- bots that are deleted -----------------------------------------------------------------------


def a_token_outlives_its_bot(monkeypatch):
    known = authentication._BY_TOKEN

    class Forgetful:
        def all(self, **values):
            return [row._replace(user_active=True) for row in known.all(**values)]

    monkeypatch.setattr(authentication, "_BY_TOKEN", Forgetful())


def deleted_projects_leave_the_allowlist(monkeypatch):
    made = authentication._bot
    deleted = Prepared(select(Project.id).where(Project.deleted_at.is_not(None)))

    def shortened(found):
        live = set(found.project_ids or ()) - {row.id for row in deleted.all()}
        return made(found._replace(project_ids=sorted(live)))

    monkeypatch.setattr(authentication, "_bot", shortened)


def a_bot_is_a_user_like_any_other(monkeypatch):
    monkeypatch.setattr(users.user_refs, "find_human", users.user_refs.find)


@pytest.mark.parametrize(
    "weaken",
    [
        nothing,
        every_human_only_verb_is_a_bots,
        a_token_outlives_its_bot,
        deleted_projects_leave_the_allowlist,
        a_bot_is_a_user_like_any_other,
    ],
)
def test_what_a_deleted_bot_leaves_behind_is_noticed(app, cast, monkeypatch, weaken):
    weaken(monkeypatch)
    assert bool(probes.left_by_a_deleted_bot(app, cast)) is (weaken is not nothing)


# -- scripts -------------------------------------------------------------------------------------


def values_go_out_as_they_are(monkeypatch, app):
    monkeypatch.setattr(app.jinja_env, "cache", {})
    monkeypatch.setattr(app.jinja_env, "bytecode_cache", None)
    monkeypatch.setattr(app.jinja_env, "autoescape", False)


def any_address_is_a_link(monkeypatch, _app):
    monkeypatch.setattr(links, "judged", lambda raw: raw)
    monkeypatch.setattr(library, "judged", lambda raw: raw)
    monkeypatch.setattr(library, "shaped", str)
    monkeypatch.setattr(library, "cleaned", lambda html, _profile: html)


def scripts_may_stand_in_pages(monkeypatch, _app):
    policy = guard.POLICY.replace("script-src 'self'", "script-src 'self' 'unsafe-inline'")
    monkeypatch.setitem(guard.PAGE_HEADERS, "Content-Security-Policy", policy)


@pytest.mark.one_database
@pytest.mark.parametrize(
    "weaken",
    [nothing, values_go_out_as_they_are, any_address_is_a_link, scripts_may_stand_in_pages],
)
def test_a_script_in_what_was_written_is_noticed(app, cast, monkeypatch, weaken):
    weaken(monkeypatch, app)
    assert bool(probes.stored_scripts(cast)) is (weaken is not nothing)


# -- what belongs to others ----------------------------------------------------------------------


def lists_of_tickets_are_of_all_projects(monkeypatch):
    ask = listing.ticket_page

    def unfenced(filters, bounds, **options):
        bounds = {name: value for name, value in bounds.items() if name != "allowlist"}
        return ask(filters, bounds, **options)

    monkeypatch.setattr(listing, "ticket_page", unfenced)


def every_project_is_seen(monkeypatch):
    monkeypatch.setattr(Actor, "sees_project", lambda _self, _project_id: True)


def relations_lead_anywhere(monkeypatch):
    shown = relations._rows
    monkeypatch.setattr(relations, "_all", lambda _: Prepared(shown(False)))
    monkeypatch.setattr(relations, "_rows", lambda _: shown(False))


def feeds_name_both_ends(monkeypatch):
    monkeypatch.setattr(service, "_hidden_tickets", lambda _events, _reader: set())


def notes_are_everyones(monkeypatch):
    monkeypatch.setattr(notes.StickyNote, "is_personal", property(lambda _: False))


def test_what_is_read_of_others_is_noticed(app, monkeypatch):
    world = build(app)
    ada = world.callers["ada"]
    # An event of the visible end, which names the other end.
    named = {"type": "blocks", "target_ticket_id": world.places["other"]["ticket"]}
    own = world.places["own"]["ticket"]
    assert ada.post(f"/tickets/{own}/relations", named).status_code == 201
    with frozen(monkeypatch):
        assert probes.read_of_others(world) == []
        for weaken in (
            lists_of_tickets_are_of_all_projects,
            every_project_is_seen,
            relations_lead_anywhere,
            feeds_name_both_ends,
            notes_are_everyones,
        ):
            with monkeypatch.context() as patched:
                weaken(patched)
                assert probes.read_of_others(world) != [], weaken.__name__
        assert probes.read_of_others(world) == []


def test_a_session_of_another_that_is_ended_is_noticed(app, cast, monkeypatch):
    assert probes.sessions_ended(app, cast) == []
    monkeypatch.setattr(sessions, "end_own", lambda _actor, named: sessions.end(named))
    assert probes.sessions_ended(app, cast) == ["ada's"]
