"""Wiki pages are looked up by index, however many there are."""

import pytest

from app.core.actor import Actor, ActorKind
from app.core.ids import NIL_ID
from app.markdown import Links
from app.wiki import link_targets, page_queries
from tests.support.plans import plans_of_reading


@pytest.fixture
def plans(app):
    with plans_of_reading(app) as seen:
        yield seen


def test_the_links_of_a_text_are_looked_up_by_their_slugs(cast, plans):
    """Not by reading all pages of the project, as SQLite would."""
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    link_targets.targets(ada, cast.open_project, "OPEN", Links(("home", "else"), ()))
    (plan,) = plans
    assert "slug" in plan, plan
    assert "project_id_created_at_id" not in plan, plan
    assert "SCAN wiki_pages" not in plan, plan
    assert "Seq Scan on wiki_pages" not in plan, plan


def test_who_deleted_a_page_is_looked_up_by_the_page(cast, plans):
    """Not by reading all deletions."""
    ada = Actor(ActorKind.HUMAN, user_id=cast.ada.user_id)
    assert page_queries.deleted_by(ada, NIL_ID) is None
    (plan,) = plans
    assert "target_id" in plan, plan
