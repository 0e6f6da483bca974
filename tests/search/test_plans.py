"""The query plans of searches."""

import os
import re
from socket import SHUT_RDWR, socket

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.database.session import Prepared, is_postgresql, reading, session
from app.search import index, postgres
from app.search.parsing import parse
from app.search.ranking import END, Tier, TierQuery, some_of_all_tiers


def generic_plan(driver, sql):
    """Return PostgreSQL's generic plan of a statement."""
    # Without GENERIC_PLAN, which PostgreSQL 15 does not support.
    nothing = ", ".join(["NULL"] * len(set(re.findall(rb"\$\d+", sql))))
    answers = [
        driver.pgconn.exec_(one)
        for one in (
            b"SET plan_cache_mode TO force_generic_plan",
            b"PREPARE planned AS " + sql,
            f"EXPLAIN EXECUTE planned({nothing})".encode(),
            b"DEALLOCATE planned",
            b"RESET plan_cache_mode",
        )
    ]
    found = answers[2]
    assert found.ntuples, [one.get_error_message() for one in answers]
    return "\n".join(found.get_value(row, 0).decode() for row in range(found.ntuples))


def numbered(sql):
    """Return the statement with numbered parameters, as PREPARE expects them."""
    names = list(dict.fromkeys(re.findall(r"%\((\w+)\)s", sql)))
    made = re.sub(r"%\((\w+)\)s", lambda found: f"${names.index(found[1]) + 1}", sql)
    return made.replace("%%", "%").encode()


def test_postgresql_asks_the_index_and_reads_no_vector_that_it_did_not_name(
    ticket, app, monkeypatch
):
    """Even in a small table, which the planner would rather read sequentially."""
    with app.app_context():
        if not is_postgresql():
            return
    plans = []
    run = Prepared.all

    def explained(self, **values):
        shown = str(self.statement)
        if "terms @@" in shown:
            driver = session.get_bind().connection.dbapi_connection
            ready = self._compiled.get("postgresql")
            if ready is not None:
                rows = driver.execute(f"EXPLAIN {ready.sql}", ready.parameters(dict(values)))
                plans.append("\n".join(row[0] for row in rows))
                plans.append(generic_plan(driver, numbered(ready.sql)))
        return run(self, **values)

    for number in range(20):
        ticket(f"Lantern {number}", "mend the gate")
    with app.app_context(), reading():
        monkeypatch.setattr(Prepared, "all", explained)
        for words in ("lantern gate", '"mend the" lan'):
            fitting = some_of_all_tiers(parse(words))
            for _ in range(2):
                index.best([TierQuery(Tier.ANYWHERE, fitting, END)], [fitting], 5)
        assert session.scalar(text("SHOW enable_seqscan")) == "on"
    assert plans
    for plan in plans:
        assert "ix_search_fts_terms" in plan
        assert "pk_search_fts" not in plan
        assert "Seq Scan" not in plan


@pytest.mark.parametrize("path", ["/api/v1/search?q=gate", "/search?q=gate"])
def test_a_connection_that_is_lost_while_searching_is_an_outage(app, cast, path, monkeypatch):
    look = postgres._scan

    def cut_off(searches, limit):
        driver = session.get_bind().connection.dbapi_connection
        with socket(fileno=os.dup(driver.pgconn.socket)) as line:
            line.shutdown(SHUT_RDWR)
        return look(searches, limit)

    with app.app_context():
        if not is_postgresql():
            return
    monkeypatch.setattr(postgres, "_scan", cut_off)
    assert cast.ada.client.get(path).status_code == 503
    monkeypatch.undo()
    assert cast.ada.client.get(path).status_code == 200


@pytest.mark.parametrize("in_transaction", [False, True])
def test_a_search_that_fails_leaves_the_planner_as_it_was(app, in_transaction):
    def fail():
        with reading():
            if in_transaction:
                session.scalar(text("SELECT 1"))
            with postgres._index_preferred():
                session.execute(text("SELECT 1 / 0"))

    with app.app_context():
        if not is_postgresql():
            return
        with pytest.raises(DBAPIError):
            fail()
        with reading():
            assert session.scalar(text("SHOW enable_seqscan")) == "on"
