"""A bot's work among people, rewound: what people wrote stays, the rest is as before."""

import os
import signal

import pytest
from sqlalchemy import select

from app.audit.event_types import UNDO_OF
from app.audit.models import AuditEvent
from app.core.actor import Actor, ActorKind
from app.core.clock import iso, now_ms
from app.database.session import reading, run_write, session
from app.rewind.others import LogReading
from app.rewind.scope import RewindScope
from app.rewind.service import Fate, preview_step, rewind_step
from tests.rewind.afternoon import Afternoon
from tests.support.forking import Forked, ended, fork
from tests.support.serving import ROOT
from tests.support.sizes import IS_LONG

# REWIND=full uses the promised size.
IS_FULL = os.environ.get("REWIND") == "full"
BY_BOT, BY_PEOPLE = (10_000, 5_000) if IS_FULL else (300, 150) if IS_LONG else (70, 35)


def person(caller):
    return Actor(kind=ActorKind.HUMAN, user_id=caller.user_id, username=caller.username)


@pytest.fixture
def make(app, cast):
    """Make an afternoon; return it and the scope of what the bot did."""

    def made(by_bot=BY_BOT, by_people=BY_PEOPLE, seed=1):
        bot = Actor(kind=ActorKind.BOT, user_id=cast.smith.user_id, username="smith")
        people = [person(cast.ada), person(cast.bo)]
        with app.app_context():
            afternoon = Afternoon(bot, people, cast.open_project, seed)
            afternoon.prepare(max(20, by_bot // 20))
            since = now_ms()
            afternoon.work(by_bot, by_people)
        return afternoon, RewindScope(bot.id, since - 1, now_ms() + 1)

    return made


def all_steps(one_step):
    """Run all steps; return the values with their fates."""
    values, beyond = [], None
    while True:
        step = one_step(beyond)
        values += step.values
        beyond = step.beyond
        if beyond is None:
            return values


def rewind(actor, scope):
    log = LogReading()
    return all_steps(
        lambda beyond: run_write(lambda: rewind_step(actor, scope, beyond=beyond, log=log))
    )


def preview(actor, scope):
    foreseen, log = {}, LogReading()

    def step(beyond):
        with reading():
            return preview_step(actor, scope, foreseen, log, beyond=beyond)

    return all_steps(step)


def differences(afternoon):
    found = afternoon.found()
    return {
        key: (value, found[key])
        for key, value in afternoon.expected().items()
        if found[key] != value
    }


def event_ids():
    with reading():
        return set(session.scalars(select(AuditEvent.id)))


def all_events():
    with reading():
        return session.scalars(select(AuditEvent)).all()


@pytest.mark.parametrize("seed", [1, 2] if IS_LONG else [1])
def test_what_people_wrote_last_stands_and_all_else_is_as_before(app, cast, make, seed):
    afternoon, scope = make(seed=seed)
    assert afternoon.ledger.writes == {True: BY_BOT, False: BY_PEOPLE}
    with app.app_context():
        before = event_ids()
        foreseen = preview(person(cast.bo), scope)
        assert event_ids() == before
        values = rewind(person(cast.bo), scope)
        assert differences(afternoon) == {}
        assert {value.fate for value in values} >= {Fate.KEPT, Fate.BACK}
        # The preview predicted the same.
        assert {(one.event_id, one.name): one.fate for one in foreseen} == {
            (one.event_id, one.name): one.fate for one in values
        }
        # Each write is by the person who rewound, and names the bot's event that it takes back.
        written = [event for event in all_events() if event.id not in before]
        explained = {value.event_id for value in values if value.fate is Fate.BACK}
        assert {event.actor_user_id for event in written} == {cast.bo.user_id}
        assert {event.payload[UNDO_OF] for event in written} == explained
        # A second rewind changes nothing.
        again = rewind(person(cast.bo), scope)
        assert not [value for value in again if value.fate is Fate.BACK]
        assert len(event_ids()) == len(before) + len(written)


def test_a_rewind_that_is_killed_goes_on(app, cast, make, tmp_path):
    # Enough for several commits.
    afternoon, scope = make(max(BY_BOT, 120), max(BY_PEOPLE, 60), seed=4)
    with app.app_context():
        before = known = event_ids()
        for number in (1, 2):
            log = tmp_path / f"killed-{number}"
            process = start_command(app, scope, log, "tests.rewind.dying")
            assert ended(process, log) == -signal.SIGKILL, log.read_text()
            # It got further than the previous one.
            assert len(event_ids()) > len(known)
            known = event_ids()
        # Some of the work is done, and some is not.
        assert differences(afternoon)
        log = tmp_path / "last"
        assert ended(start_command(app, scope, log), log, 600) == 0, log.read_text()
        assert differences(afternoon) == {}
        written = [event for event in all_events() if event.id not in before]
        taken_back = [event.payload[UNDO_OF] for event in written]
        # Nothing was taken back twice: all events for one change are of one transaction.
        assert all(len(group) == 1 for group in requests_by_event(written).values())
        assert set(taken_back) <= set(scope_ids(scope))
    assert "values kept" in log.read_text()


def requests_by_event(written):
    groups = {}
    for event in written:
        groups.setdefault(event.payload[UNDO_OF], set()).add(event.request_id)
    return groups


def scope_ids(scope):
    with reading():
        return session.scalars(select(AuditEvent.id).where(scope.condition())).all()


def start_command(app, scope, log, module="wsgi"):
    settings = app.config["SETTINGS"]
    span = (f"--{name}={iso(getattr(scope, name))}" for name in ("since", "until"))
    given = {
        "PATH": os.environ["PATH"],
        "INSTANCE_DIR": str(settings.instance_dir),
        "DATABASE_URL": settings.database_url,
        "SECRET_KEY": settings.secret_key,
    }
    arguments = ("bots", "rewind", "smith", *span, "--as=bo")
    return fork(Forked(module, arguments), ROOT, given, log)
