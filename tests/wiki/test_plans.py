"""Wiki pages are looked up by index, however many there are."""

from unittest import mock

from app.core.actor import Actor, ActorKind
from app.database import compiled_statements
from app.database import session as units
from app.database.session import reading
from app.markdown import Links
from app.wiki import link_targets
from tests.support.plans import plan_of


def test_the_links_of_a_text_are_looked_up_by_their_slugs(app, cast):
    """Not by reading all pages of the project, as SQLite would."""
    plans = []

    def run(connection, ready, given):
        plans.append("\n".join(plan_of(connection, ready, given)))
        return compiled_statements.run(connection, ready, given)

    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    with mock.patch.object(units, "run", run), app.app_context(), reading():
        link_targets.targets(ada, cast.open_project, "OPEN", Links(("home", "else"), ()))
    (plan,) = plans
    assert "slug" in plan, plan
    assert "project_id_created_at_id" not in plan, plan
    assert "SCAN wiki_pages" not in plan, plan
    assert "Seq Scan on wiki_pages" not in plan, plan
