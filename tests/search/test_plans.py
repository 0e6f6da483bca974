"""How the databases go about a search."""

from sqlalchemy import text

from app.core.db import Prepared, is_postgresql, reading, session
from app.search import index
from app.search.parsing import parse
from app.search.ranking import END, Tier, Wanted, some_of_all_tiers


def test_postgresql_asks_the_index_and_reads_no_vector_that_it_did_not_name(
    ticket, app, monkeypatch
):
    """In a small table too, which the planner would rather read whole."""
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
        return run(self, **values)

    for number in range(20):
        ticket(f"Lantern {number}", "mend the gate")
    with app.app_context(), reading():
        if not is_postgresql():
            return
        monkeypatch.setattr(Prepared, "all", explained)
        for words in ("lantern gate", '"mend the" lan'):
            fitting = some_of_all_tiers(parse(words))
            for _ in range(2):
                index.best([Wanted(Tier.ANYWHERE, fitting, (), END)], [fitting], 5)
        assert session.scalar(text("SHOW enable_seqscan")) == "on"
    assert plans
    for plan in plans:
        assert "ix_search_fts_terms" in plan
        assert "pk_search_fts" not in plan
        assert "Seq Scan" not in plan
