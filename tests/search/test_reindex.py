"""A rebuilt index gives the same results as one that was updated with every change."""

from sqlalchemy import text as sql

from app.database.session import run_write, session
from app.search import reindexing
from app.serving.parent import prepare_database
from tests.support.story import ok


def answers(search):
    asked = ("gate", "g", "-gate", '"the gate"', "OPEN-1", "wind")
    return {q: [(row["id"], row["score"]) for row in search(q)] for q in asked}


def test_reindexing_changes_no_answer(app, ada, search, ticket, page):
    for number in range(5):
        ticket(f"Gate {number}", "the gate in the wind")
        page(f"Page {number}", "the gate")
    gone = ticket("Gate gone")
    ok(ada.delete(f"/tickets/{gone['id']}"), 204)
    before = answers(search)
    runner = app.test_cli_runner()
    result = runner.invoke(args=["reindex"])
    assert result.exit_code == 0, result.output
    assert "10 documents indexed." in result.output
    assert answers(search) == before


def test_an_index_that_was_lost_comes_back_as_it_was(app, search, ticket, page):
    for number in range(5):
        ticket(f"Gate {number}", "the gate in the wind")
        page(f"Page {number}", "the gate")
    before = answers(search)
    with app.app_context():
        for table in ("search_docs", "search_fts"):
            run_write(lambda table=table: session.execute(sql(f"DELETE FROM {table}")))
    assert answers(search)["gate"] == []
    app.test_cli_runner().invoke(args=["reindex"])
    assert answers(search) == before


def test_reindexing_mends_what_was_lost_or_left(app, ada, search, ticket):
    kept = ticket("Gate kept")
    dead = ticket("Gate dead")
    with app.app_context():
        run_write(
            lambda: session.execute(sql("DELETE FROM search_docs WHERE place = 1 OR kind = 'x'"))
        )
        run_write(
            lambda: session.execute(
                sql("UPDATE tickets SET deleted_at = updated_at WHERE id = :id"), {"id": dead["id"]}
            )
        )
    result = app.test_cli_runner().invoke(args=["reindex"])
    assert result.exit_code == 0, result.output
    assert [row["id"] for row in search("gate")] == [kept["id"]]
    with app.app_context():
        count = run_write(lambda: session.scalar(sql("SELECT count(*) FROM search_docs")))
    assert count == 1


def test_a_server_that_starts_with_an_empty_index_builds_it(app, search, ticket, monkeypatch):
    """Found by upgrading old revisions with data that is older than the index."""
    ticket("Gate", "the gate in the wind")
    before = answers(search)
    with app.app_context():
        for table in ("search_docs", "search_fts"):
            run_write(lambda table=table: session.execute(sql(f"DELETE FROM {table}")))
    prepare_database(app)
    assert answers(search) == before
    monkeypatch.setattr(reindexing, "reindex", lambda: 1 / 0)
    prepare_database(app)
