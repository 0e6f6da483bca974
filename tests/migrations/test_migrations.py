"""The schema: from empty to newest, equal to the models, and append-only where promised."""

from pathlib import Path

import pytest
from alembic import command
from sqlalchemy import create_engine, inspect, text
from sqlalchemy.event import listen, remove
from sqlalchemy.exc import DBAPIError

from app import create_app
from app.audit.models import AuditEvent
from app.core import ids
from app.core.clock import now_ms
from app.database import schema
from app.database.session import Base, db, run_write, session
from tests.support.forking import Forked, ended, fork
from tests.support.serving import ROOT, environment
from tests.support.settings import settings_for

pytestmark = pytest.mark.slow


@pytest.fixture
def migrated(app):
    """Enter the context of an application on the newest schema; for tests that keep the schema."""
    with app.app_context():
        yield app
        session.remove()


@pytest.fixture
def new_app(empty_url, tmp_path):
    """Enter the context of an application on an empty database."""
    app = create_app(settings_for(empty_url, tmp_path))
    with app.app_context():
        yield app
        session.remove()
        db.engine.dispose()


def config(app):
    return app.extensions["migrate"].migrate.get_config()


def is_modelled(name):
    """Alembic's own table has no model; the search index's terms differ between databases."""
    return name != "alembic_version" and not name.startswith("search_fts")


def described(engine):
    """Return the database's description of its tables, by table."""
    found = inspect(engine)
    # For all tables at once; asking for each takes ten times as long.
    keys, columns = found.get_multi_pk_constraint(), found.get_multi_columns()
    foreign, unique = found.get_multi_foreign_keys(), found.get_multi_unique_constraints()
    checks, indexes = found.get_multi_check_constraints(), found.get_multi_indexes()
    return {
        name: {
            "columns": [
                (column["name"], str(column["type"]), column["nullable"], column["default"])
                for column in columns[place]
            ],
            "key": keys[place],
            "foreign": sorted(foreign[place], key=str),
            "unique": sorted(unique[place], key=str),
            "checks": sorted(checks[place], key=str),
            "indexes": sorted(
                (index["name"], index["unique"], index["column_names"], _where(index))
                for index in indexes[place]
            ),
            "all_indexes": _index_names(engine, name),
        }
        for place in columns
        if is_modelled(name := place[1])
    }


def _index_names(engine, table):
    """Return, on SQLite, all index names: SQLAlchemy misses expression indexes there."""
    if engine.dialect.name != "sqlite":
        return []
    named = text("SELECT name FROM sqlite_master WHERE type = 'index' AND tbl_name = :table")
    with engine.connect() as connection:
        return sorted(connection.execute(named, {"table": table}).scalars())


def _where(index):
    return sorted((name, str(value)) for name, value in index.get("dialect_options", {}).items())


def test_an_empty_database_becomes_what_the_models_say(new_app, empty_url, tmp_path, request):
    """It is ready only once it is up to date."""
    client = new_app.test_client()
    assert client.get("/readyz").status_code == 503
    command.upgrade(config(new_app), "0001")
    assert client.get("/readyz").status_code == 503
    schema.upgrade()
    assert client.get("/readyz").status_code == 200
    migrated = described(db.engine)
    if db.engine.dialect.name == "sqlite":
        url = f"sqlite:///{tmp_path / 'by_models.db'}"
    else:
        url = request.getfixturevalue("cluster").create_database("by_models")
    engine = create_engine(url)
    try:
        Base.metadata.create_all(engine)
        assert migrated == described(engine)
    finally:
        engine.dispose()
        if db.engine.dialect.name == "postgresql":
            request.getfixturevalue("cluster").drop_database("by_models")
    assert set(migrated) == set(Base.metadata.tables)


# Alembic cannot compare the index for board order; `described` checks that it exists.
@pytest.mark.filterwarnings("ignore:autogenerate skipping metadata-specified expression-based")
def test_alembic_finds_nothing_to_add(migrated):
    command.check(config(migrated))


@pytest.mark.usefixtures("migrated")
def test_upgrading_again_changes_nothing():
    before = described(db.engine)
    schema.upgrade()
    assert described(db.engine) == before


@pytest.mark.usefixtures("migrated")
def test_a_start_without_a_new_revision_reads_no_table_but_that_of_revisions():
    """A check of all foreign keys took three seconds and more with a million tickets."""
    asked = []

    def note(*given):
        asked.append(given[2])

    listen(db.engine, "before_cursor_execute", note)
    schema.upgrade()
    remove(db.engine, "before_cursor_execute", note)
    assert any("alembic_version" in statement for statement in asked)
    assert not [one for one in asked if "foreign_key_check" in one or "FROM tickets" in one]


def test_there_is_no_way_back(migrated):
    with pytest.raises(RuntimeError, match="restore"):
        command.downgrade(config(migrated), "-1")


def test_a_revision_that_fails_leaves_nothing_behind(new_app, monkeypatch):
    """The third revision breaks at its end; the tables of the first two must not stay."""
    import alembic.op

    execute = alembic.op.execute

    def broken(statement, *args, **kwargs):
        execute(statement, *args, **kwargs)
        raise RuntimeError("the power went out")

    monkeypatch.setattr(alembic.op, "execute", broken)
    with pytest.raises(RuntimeError, match="the power went out"):
        schema.upgrade()
    assert described(db.engine) == {}
    monkeypatch.undo()
    schema.upgrade()
    assert set(described(db.engine)) == set(Base.metadata.tables)


def test_those_that_start_at_once_migrate_once(empty_url, tmp_path):
    """Uses processes, because Alembic's state is global to all threads."""
    settings = {"DATABASE_URL": empty_url, "SECRET_KEY": "a secret key of the tests, long enough"}
    given = environment(tmp_path, 8000, **settings)
    log, errors = tmp_path / "log", tmp_path / "errors"
    upgrade = Forked("wsgi", ("db", "upgrade"))
    started = [fork(upgrade, ROOT, given, log, errors) for _ in range(2)]
    assert [ended(process, errors) for process in started] == [0, 0], errors.read_text()
    # One of them runs all migrations, and logs that once.
    output = errors.read_text()
    assert output.count('"message":"schema upgraded"') == 1
    count = len(list(Path(ROOT).glob("migrations/versions/[0-9]*.py")))
    assert f'"revisions":{count}' in output


def test_foreign_keys_hold_after_the_migration(app):
    with app.app_context(), pytest.raises(DBAPIError, match=r"(?i)foreign key"):
        run_write(lambda: session.execute(text(
            "INSERT INTO projects (id, key, name, description, owner_user_id, ticket_counter, "
            "created_at, updated_at) VALUES (:id, 'K1', 'n', '', :id, 0, 1, 1)"
        ), {"id": ids.new_id()}))  # fmt: skip


def test_revisions_are_numbered_without_holes_and_never_import_the_models():
    revisions = sorted(Path(schema.__file__).parent.parent.glob("migrations/versions/*.py"))
    for number, path in enumerate(revisions, start=1):
        source = path.read_text()
        assert path.name.startswith(f"{number:04d}_")
        assert f'revision = "{number:04d}"' in source
        assert "from app" not in source
        assert "import app" not in source


@pytest.fixture
def event(app):
    """Return an audit event that refers to a tool call."""
    event = AuditEvent(
        id=ids.new_id(),
        workspace_id=ids.new_id(),
        category="audit_only",
        event_type="bot.tool_invoked",
        actor_kind="bot",
        target_kind="bot",
        payload={"tool_name": "get_self", "b": 1, "a": 2},
        tool_invocation_log_id=ids.new_id(),
        created_at=now_ms(),
    )
    with app.app_context():
        run_write(lambda: session.add(event))
        yield event.id


def change(statement, **values):
    return run_write(lambda: session.execute(text(statement), values))


COLUMNS = [column.name for column in AuditEvent.__table__.columns]


def other_value(name):
    if name in ("payload", "receipt"):
        return '{"forged": true}'
    if name == "created_at":
        return 1
    return ids.new_id() if name.endswith("id") else "forged"


@pytest.mark.parametrize("column", COLUMNS)
def test_no_column_of_an_event_can_be_changed(event, column):
    cast = "CAST(:value AS uuid)" if column.endswith("id") else ":value"
    if column in ("payload", "receipt"):
        cast = "CAST(:value AS json)"
    if db.engine.dialect.name == "sqlite":
        cast = ":value"
    with pytest.raises(DBAPIError, match="append-only"):
        change(f"UPDATE audit_events SET {column} = {cast}", value=other_value(column))


def test_only_the_tool_log_entry_can_be_let_go_of(event):
    change("UPDATE audit_events SET tool_invocation_log_id = NULL")
    kept = session.get(AuditEvent, event)
    assert kept is not None
    assert kept.tool_invocation_log_id is None
    assert kept.payload == {"tool_name": "get_self", "b": 1, "a": 2}


def test_letting_go_cannot_hide_another_change(event):
    with pytest.raises(DBAPIError, match="append-only"):
        change("UPDATE audit_events SET tool_invocation_log_id = NULL, event_type = 'forged'")


def test_no_event_can_be_deleted(event):
    with pytest.raises(DBAPIError, match="append-only"):
        change("DELETE FROM audit_events")


def test_no_event_can_be_replaced_or_truncated(event):
    if db.engine.dialect.name == "sqlite":
        every = ", ".join(COLUMNS)
        statement = (
            f"INSERT OR REPLACE INTO audit_events ({every}) SELECT {every} FROM audit_events"
        )
    else:
        statement = "TRUNCATE audit_events"
    with pytest.raises(DBAPIError, match="append-only"):
        change(statement)


def test_the_doctor_says_what_to_do_about_an_older_schema(new_app):
    command.upgrade(config(new_app), "0020")
    result = new_app.test_cli_runner().invoke(args=["doctor"])
    assert result.exit_code == 1
    assert "FAIL schema: revision 0020 of " in result.output
    # Checks that need no table are made all the same.
    assert "ok   disk: " in result.output
    assert "Error:" not in result.output
