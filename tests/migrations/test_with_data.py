"""Migrate from new and some older revisions with data: nothing is lost, the API reads it.

One of everything is created by the current verbs; what fits an old schema is inserted by SQL.
"""

import shutil
from dataclasses import replace

import pytest
from alembic import command
from sqlalchemy import column, inspect, select, table, text

from app import create_app
from app.accounts.bot_reads import GAP
from app.database import schema
from app.database.session import Base, db, reading, session
from app.search import index
from app.search.expressions import Term
from app.serving.parent import prepare_database
from tests.authorization.world import build
from tests.migrations.test_migrations import config
from tests.support.databases import forget
from tests.support.postgres import unused_name
from tests.support.serving import ROOT
from tests.support.settings import settings_for
from tests.support.sizes import every
from tests.support.story import walk

pytestmark = pytest.mark.slow

VERSIONS = ROOT / "migrations" / "versions"
REVISIONS = sorted(path.name[:4] for path in VERSIONS.glob("[0-9]*.py"))
# The newest revisions are the likeliest to be wrong; of the others, a sample is used.
STARTS = [*every(16, REVISIONS[:-4]), *REVISIONS[-4:]]
# By revision: the addresses, read as ada, that use data from it.
READ_FROM = {
    "0002": ("/tickets", "/tickets/FENCED-1/comments", "/tickets/FENCED-1/watchers"),
    "0003": ("/audit", "/tickets/FENCED-1/activity"),
    "0004": ("/wiki/pages", "/sticky-notes"),
    "0006": ("/audit/tools",),
    "0007": ("/webhooks",),
    # The projects here have a bot limit other than the default that older revisions get.
    "0035": ("/projects",),
}
# Older revisions lack the table of files, whose additions are activity on a ticket.
FILES = "0047"
# Rebuilt by the server, not migrated.
NOT_CARRIED = "search_"


# The tables that hold data, parents first.
TABLES = [one for one in Base.metadata.sorted_tables if not one.name.startswith(NOT_CARRIED)]


def everything(engine):
    """Return all rows of these tables."""
    with engine.connect() as connection:
        return {
            one.name: [dict(row._mapping) for row in connection.execute(select(one))]
            for one in TABLES
        }


def put(engine, rows):
    """Insert whatever fits this schema; return the inserted columns by table."""
    given = {}
    there = set(inspect(engine).get_table_names())
    with engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(text("SET session_replication_role = replica"))
        for newest in TABLES:
            if newest.name not in there:
                continue
            names = list(connection.execute(text(f"SELECT * FROM {newest.name} LIMIT 0")).keys())
            # Without defaults for columns that do not exist yet.
            older = table(newest.name, *(column(name, newest.c[name].type) for name in names))
            fitting = [{name: row[name] for name in names} for row in rows[newest.name]]
            if fitting:
                connection.execute(older.insert(), fitting)
            given[newest.name] = names
    return given


def same(name, rows, columns):
    """Return the rows' values in these columns, in any order."""
    return sorted(str([row[one] for one in columns]) for row in rows[name])


def carried(rows, revision):
    """Return the rows with only the fields that older data can give."""
    left_out = {"last_activity_at"} if revision < FILES else set()
    return [{name: row[name] for name in row.keys() - left_out} for row in rows]


class Sqlite:
    """An application's SQLite file, and a copy of it."""

    def __init__(self, directory):
        self.file, self.copy = directory / "work.db", directory / "kept.db"
        self.url = f"sqlite:///{self.file}"

    def keep(self):
        shutil.copy(self.file, self.copy)

    def back(self):
        shutil.copy(self.copy, self.file)


class Postgres:
    """The same for a database in a cluster."""

    def __init__(self, cluster):
        self.cluster, self.name, self.copy = cluster, unused_name(), unused_name()
        self.url = cluster.create_database(self.name)

    def keep(self):
        self.cluster.drop_database(self.copy)
        self.cluster.create_database(self.copy, self.name)

    def back(self):
        self.cluster.drop_database(self.name)
        self.cluster.create_database(self.name, self.copy)


@pytest.fixture(name="place")
def _place(database, tmp_path, request):
    """Provide an empty database of the tested kind that can be saved and restored."""
    if database.kind == "sqlite":
        yield Sqlite(tmp_path)
        return
    place = Postgres(request.getfixturevalue("cluster"))
    yield place
    for name in (place.name, place.copy):
        place.cluster.drop_database(name)


def test_data_of_older_revisions_comes_through(app, place, tmp_path):
    ada = build(app).callers["ada"]
    with app.app_context():
        rows = everything(db.engine)
    expected = {path: walk(ada, path, 200) for found in READ_FROM.values() for path in found}
    upgraded = create_app(settings_for(place.url, tmp_path))
    client = upgraded.test_client()
    client.set_cookie("app_session", ada.session_token)
    reader = replace(ada, client=client)
    for revision in STARTS:
        with upgraded.app_context():
            # From the previous start, which has no data yet.
            command.upgrade(config(upgraded), revision)
            db.engine.dispose()
            place.keep()
            given = put(db.engine, rows)
        prepare_database(upgraded)
        with upgraded.app_context():
            after = everything(db.engine)
        # What bots read before revision 0039 is unknown, and rows say so.
        after["bot_reads"] = [one for one in after["bot_reads"] if one["subject"] != GAP]
        for name, columns in given.items():
            assert same(name, after, columns) == same(name, rows, columns), (revision, name)
        for path in [path for since in READ_FROM if since <= revision for path in READ_FROM[since]]:
            found, due = walk(reader, path, 200), expected[path]
            assert carried(found, revision) == carried(due, revision), (revision, path)
        if "tickets" in given:
            found = walk(reader, "/search?q=related", 50)
            assert [hit["display_id"] for hit in found] == ["FENCED-1"], revision
        made = reader.post("/projects", {"key": "AFTER", "name": "After"})
        assert made.status_code == 201, revision
        with upgraded.app_context():
            session.remove()
            db.engine.dispose()
        forget(upgraded)
        place.back()


def test_the_mark_of_wiki_pages_is_renamed_in_the_index(empty_url, tmp_path):
    """SQLite treated ``page`` of ``wiki_page`` as a word, so all pages had that word."""
    app = create_app(settings_for(empty_url, tmp_path))
    with app.app_context():
        command.upgrade(config(app), "0014")
        on_sqlite = db.engine.dialect.name == "sqlite"
        words = "(rowid, words, marks)" if on_sqlite else "(place, terms)"
        with db.engine.begin() as connection:
            for place, kind in ((1, "wiki_page"), (2, "ticket")):
                mark = f"\u00a2{kind}"
                terms = f"'deploy', '\u00a1 {mark}'" if on_sqlite else f"$$'deploy':1 '{mark}'$$"
                identifier = f"00000000-0000-0000-0000-00000000000{place}"
                document = f"({place}, '{identifier}', '{kind}')"
                connection.exec_driver_sql(f"INSERT INTO search_docs VALUES {document}")
                connection.exec_driver_sql(
                    f"INSERT INTO search_fts {words} VALUES ({place}, {terms})"
                )
        schema.upgrade()

        def places(word):
            with reading():
                return sorted(session.scalars(index._engine().matching(Term(word))))

        try:
            assert places("\u00a2wiki\u00b7page") == [1]
            assert places("\u00a2ticket") == [2]
            assert places("deploy") == [1, 2]
            assert places("page") == places("\u00a2wiki_page") == []
        finally:
            session.remove()
            db.engine.dispose()
