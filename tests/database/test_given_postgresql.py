"""PostgreSQL as given: its address counts, and a database that does not do is refused in words."""

import pytest
from psycopg import sql
from sqlalchemy import event, make_url

from app import create_app
from app.database.session import db
from app.serving.parent import prepare_database
from tests.support.postgres import unused_name
from tests.support.serving import ROOT, unused_port
from tests.support.settings import settings_for

pytestmark = pytest.mark.slow

# Without the locale, a server whose own is of Latin 1 refuses UTF8.
CREATES = "createdb --owner=docket --template=template0 --encoding=UTF8 --locale=C.UTF-8 docket"


@pytest.fixture
def made(cluster, tmp_path):
    """Make an application on a new database; returns it with the database's name and URL."""
    names, apps = [], []

    def make(template=None, encoding=None, **query):
        names.append(unused_name())
        url = cluster.create_database(names[-1], template, encoding)
        url = make_url(url).update_query_dict(query).render_as_string(hide_password=False)
        apps.append(create_app(settings_for(url, tmp_path, port=unused_port())))
        return apps[-1], names[-1], url

    yield make
    for app in apps:
        with app.app_context():
            db.engine.dispose()
    for name in names:
        cluster.drop_database(name)


def said_by(app, *arguments):
    result = app.test_cli_runner().invoke(args=list(arguments))
    assert result.exit_code == 1, (result.output, result.exception)
    return result.output


@pytest.mark.parametrize("encoding", ["SQL_ASCII", "LATIN1"])
def test_a_database_that_does_not_hold_every_text_is_refused(made, encoding, tmp_path):
    app, _, url = made(encoding=encoding)
    words = f"The encoding of the database is {encoding}. Use one with UTF8: {CREATES}"
    assert f"Error: {words}" in said_by(app, "serve")
    assert f"Error: {words}" in said_by(app, "db", "upgrade")
    assert f"Error: {words}" in said_by(
        app, "setup-admin", "--username", "ada", "--password", "correct horse battery"
    )
    said = said_by(app, "doctor")
    assert f"FAIL database: encoding {encoding}" in said
    assert CREATES in said
    embedded = create_app(settings_for(f"sqlite:///{tmp_path / 'docket.db'}", tmp_path))
    prepare_database(embedded)
    assert f"Error: {words}" in said_by(embedded, "copy-to", url)
    assert (tmp_path / "docket.db").exists()
    assert (ROOT / "docs" / "postgresql.md").read_text().count(f"sudo -u postgres {CREATES}\n") == 2


def test_what_the_address_sets_counts(made):
    app, _, _ = made(
        application_name="tickets",
        client_encoding="latin1",
        connect_timeout="7",
        options="-c search_path=other -c lock_timeout=9s",
    )
    expected = {
        "application_name": "tickets",
        "client_encoding": "UTF8",
        "search_path": "other",
        "lock_timeout": "9s",
        # Of Docket itself.
        "statement_timeout": "15s",
    }
    with app.app_context(), db.engine.connect() as connection:
        shown = {name: connection.exec_driver_sql(f"SHOW {name}").scalar() for name in expected}
        parameters = connection.connection.dbapi_connection.info.get_parameters()
    assert shown == expected
    assert (parameters["connect_timeout"], parameters["keepalives_idle"]) == ("7", "15")


def test_a_role_that_may_not_create_tables_is_refused(cluster, made):
    role = unused_name()
    cluster.administer(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    try:
        app, _, _ = made(options=f"-c role={role}")
        words = (
            "The role in DATABASE_URL lacks a right: permission denied for schema public. "
            "Make it the owner of the database and its tables."
        )
        for command in ("serve", "setup-code"):
            assert said_by(app, command) == f"Error: {words}\n"
    finally:
        cluster.administer(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))


def test_the_doctor_goes_on_where_no_connection_is_left(cluster, made, template):
    role, owner = unused_name(), make_url(cluster.address)
    statement = sql.SQL("CREATE ROLE {} LOGIN PASSWORD {} CONNECTION LIMIT 1 IN ROLE {}").format(
        sql.Identifier(role),
        sql.Literal(owner.password or role),
        sql.Identifier(owner.username),
    )
    cluster.administer(statement)
    app, _, _ = made(template, user=role)
    try:
        said = said_by(app, "doctor")
    finally:
        with app.app_context():
            db.engine.dispose()
        cluster.administer(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
    assert "FAIL database: The database cannot be reached: connection failed: " in said
    assert f'too many connections for role "{role}"\n' in said
    assert "ok   schema: " in said
    assert " disk: " in said


def test_a_database_that_is_only_read_is_not_ready(made, template):
    words = "The database is read-only: "
    app, _, _ = made(template, options="-c default_transaction_read_only=on")
    assert prepare_database(app)
    assert app.test_client().get("/readyz").status_code == 503
    said = said_by(app, "doctor")
    assert "FAIL database: PostgreSQL" in said
    assert words in said
    arguments = ("setup-admin", "--username", "ada", "--password", "correct horse battery")
    assert said_by(app, *arguments).startswith(f"Error: {words}")
    app, _, _ = made(options="-c default_transaction_read_only=on")
    for command in ("serve", "setup-code"):
        assert said_by(app, command).startswith(f"Error: {words}")


@pytest.mark.parametrize("setting", ["synchronous_commit", "track_activities"])
def test_the_doctor_names_a_setting_that_docket_needs(made, template, setting):
    for state, remark in (("off", True), ("on", False)):
        app, _, _ = made(template, options=f"-c {setting}={state}")
        said = app.test_cli_runner().invoke(args=["doctor"]).output
        assert (f"note database: {setting} is off\n" in said) is remark
        assert (f"ALTER ROLE docket SET {setting} = on." in said) is remark


def test_a_pooler_that_mixes_up_statements_is_refused(made, template):
    """Of what another client prepared in the same connection, psycopg knows nothing."""
    app, _, _ = made(template)
    with app.app_context():
        event.listen(db.engine, "connect", _prepare_as_another_client)
    words = "The pooler in front of PostgreSQL mixes up the statements of its clients. "
    assert said_by(app, "serve").startswith(f"Error: {words}")
    said = said_by(app, "doctor")
    assert "FAIL database: shared by a pooler between transactions\n" in said
    assert words in said


def _prepare_as_another_client(driver, _record):
    driver.execute("PREPARE _pg3_0 AS SELECT 'of another client'")
