"""Fixtures for all tests: databases, the application on them, a client and the cast.

A test that uses none of them runs once; any other runs on SQLite and on PostgreSQL, unless it is
marked ``one_database`` because it involves no SQL.
"""

import gc
import os
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from tests.support import databases, once
from tests.support.cast import make_cast
from tests.support.instances import copy_database
from tests.support.machine_lock import MachineLock
from tests.support.postgres import PostgresMissing, unused_name

KINDS = ("sqlite", "postgresql")
MACHINE = pytest.StashKey[MachineLock]()
REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data" / "real"

# A slow machine is not a failure of the code; tests measure time where it is promised.
hypothesis_settings.register_profile("docket", deadline=None)
hypothesis_settings.load_profile("docket")


def pytest_addoption(parser):
    parser.addoption(
        "--db",
        choices=[*KINDS, "both"],
        default="both",
        help="which database the tests run on (default: both)",
    )


def pytest_configure(config):
    # pytest-xdist reports a mistyped path only as "no tests ran".
    for argument in config.args:
        if not Path(argument.split("::")[0]).exists():
            raise pytest.UsageError(f"file or directory not found: {argument}")
    # Collection creates long-lived objects, with no garbage among them.
    gc.disable()
    if "PYTEST_XDIST_WORKER" in os.environ:
        once.share(_run_directory(config))
        config.stash[MACHINE] = MachineLock(_run_directory(config))


def _run_directory(config):
    """Return the directory shared by the processes of a run; each has its own inside it."""
    return Path(config.getoption("basetemp")).parent


def pytest_generate_tests(metafunc):
    chosen = metafunc.config.getoption("--db")
    kinds = KINDS if chosen == "both" else (chosen,)
    if chosen == "both" and metafunc.definition.get_closest_marker("one_database"):
        kinds = KINDS[:1]
    scopes = {"database": "session", "empty_url": "function", "migrated_url": "function"}
    for name, scope in scopes.items():
        if name in metafunc.fixturenames:
            metafunc.parametrize(name, kinds, indirect=True, scope=scope)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Deselect tests of real input where Docket is not developed: users lack those files.

    Tests that need the machine to themselves come first, so that one process runs them all and the
    others wait only once.
    """
    items.sort(key=lambda item: not _is_quiet(item))
    if REAL_DATA.exists():
        return
    left_out = [item for item in items if item.get_closest_marker("real_data")]
    items[:] = [item for item in items if item not in left_out]
    config.hook.pytest_deselected(items=left_out)


def pytest_collection_finish():
    """Collect garbage again, but not during tests: that takes a tenth of the CPU time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 20)
    gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item, nextitem):
    """Run ``quiet`` tests with the machine to themselves: the other workers wait meanwhile."""
    machine = item.config.stash.get(MACHINE, None)
    if machine is None:
        return (yield)
    machine.take(alone=_is_quiet(item))
    try:
        return (yield)
    finally:
        if nextitem is None or not (_is_quiet(item) and _is_quiet(nextitem)):
            machine.release()


def _is_quiet(item):
    return item.get_closest_marker("quiet") is not None


def pytest_sessionfinish(session, exitstatus):
    """In CI nothing may be skipped: an unchecked promise counts as broken."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if os.environ.get("CI") and reporter and reporter.stats.get("skipped") and exitstatus == 0:
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


@pytest.fixture(scope="session")
def cluster():
    """A throwaway PostgreSQL server. Without one, tests are skipped; in CI they fail."""
    try:
        cluster = databases.cluster_with_template()
    except PostgresMissing as missing:
        if os.environ.get("CI"):
            raise
        pytest.skip(str(missing))
    yield cluster
    cluster.stop()


@pytest.fixture(scope="session")
def database(request):
    """A migrated database and its application, kept for the whole session."""
    if request.param == "sqlite":
        with databases.sqlite_database() as made:
            yield made
    else:
        with databases.postgres_database(request.getfixturevalue("cluster")) as made:
            yield made


@pytest.fixture
def empty_url(request, tmp_path):
    """The URL of a new, empty database for the test."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    cluster = request.getfixturevalue("cluster")
    name = unused_name()
    yield cluster.create_database(name)
    cluster.drop_database(name)


@pytest.fixture(scope="session")
def template(cluster):
    """The name of a migrated PostgreSQL database; copying it is faster than migrating."""
    return cluster.template


@pytest.fixture
def migrated_url(request, tmp_path):
    """Like ``empty_url``, but with the newest schema: a server starting on it migrates nothing."""
    if request.param == "sqlite":
        copy_database(tmp_path / "migrated.db")
        yield f"sqlite:///{tmp_path / 'migrated.db'}"
        return
    cluster, name = request.getfixturevalue("cluster"), unused_name()
    yield cluster.create_database(name, request.getfixturevalue("template"))
    cluster.drop_database(name)


@pytest.fixture
def app(database):
    """The application on an empty database."""
    return databases.emptied(database)


@pytest.fixture
def client(app):
    """A browser with its own cookie jar and no credentials."""
    return app.test_client()


@pytest.fixture
def cast(app):
    """ada, bo, scout, smith, fenced and nobody, with two projects (tests/support/cast.py)."""
    return make_cast(app)
