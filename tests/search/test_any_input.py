"""No input causes an error, whatever is indexed or searched for."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from app.core.actor import Actor, ActorKind
from app.database.session import reading
from app.search import service
from tests.support.sizes import IS_LONG
from tests.support.story import make_ticket, ok

pytestmark = pytest.mark.slow

SYNTAX = st.sampled_from(
    [*"\"'-*():^|&!<>%_\\~+#@,;·¡¢£¥°§¶¤¬¦×÷ \t\n\r", "AND", "OR", "NOT", "NEAR"]
)
TEXT = st.text(st.one_of(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
QUERIES = st.lists(
    st.one_of(SYNTAX, TEXT, st.sampled_from(["gate", "東京", "🐞", "é"])), min_size=1
)
RUNS = settings(
    max_examples=600 if IS_LONG else 50,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)


@RUNS
@given(QUERIES)
def test_nothing_asked_is_an_error(app, cast, pieces):
    q = "".join(pieces)[:500]
    if not q.strip():
        return
    ada = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
    with app.app_context(), reading():
        found = service.find(ada, q=q, limit=5)
        for hit in found.hits:
            for start, end in hit.snippet.highlights:
                assert 0 <= start < end <= len(hit.snippet.text)


@settings(RUNS, max_examples=120 if IS_LONG else 15)
@given(TEXT, TEXT)
def test_whatever_is_written_is_found_by_its_id(app, cast, title, body):
    title = (title.strip() or "T")[:200]
    made = make_ticket(cast.ada, cast.open_project, title, body=body[:65_536])
    hits = ok(cast.ada.get("/search", query_string={"q": made["display_id"]}))["data"]
    assert hits[0]["id"] == made["id"]


def test_hostile_texts_are_indexed(cast):
    for body in (
        "a" * 65_536,
        "a " * 32_768,
        " ".join(f"w{number:x}" for number in range(12_000)),
        "東" * 65_536,
        "'" * 65_536,
        "\\" * 65_536,
        "\U0001f41e" * 65_536,
        "e\u0301" * 32_768,
    ):
        made = make_ticket(cast.ada, cast.open_project, "Hostile", body=body[:65_536])
        hits = ok(cast.ada.get("/search?q=hostile&limit=1"))["data"]
        assert hits[0]["id"] == made["id"]
