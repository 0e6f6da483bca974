"""Both databases find exactly what the documents' terms imply, in the same order.

The model below treats the terms as plain sets and lists. Each database must agree with it, so they
agree with each other.
"""

import random
import threading
import time
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import text

from app.core import ids
from app.database.session import is_postgresql, reading, run_write, session
from app.search import index, postgres, ranking, sources
from app.search.documents import DocumentKind, MarkKind, SearchDoc, analyzed
from app.search.expressions import All, Any, Phrase, Prefix, Term, Without, without
from app.search.parsing import parse
from app.search.ranking import TierQuery, all_tiers, some_of_all_tiers, tier_queries, tiers
from tests.support.sizes import IS_LONG

pytestmark = pytest.mark.slow

# Few words, so that they coincide; with several scripts, stems and prefixes.
WORDS = (
    *("run", "running", "runs", "runner", "gate", "gates", "gateway", "a", "an", "über", "uber"),
    # More words with one prefix than are looked up individually.
    *("gated", "gatehouse", "gatekeeper", "gatepost"),
    *(
        "東京",
        "東京都",
        "京",
        "🐞",
        "straße",
        "x-ray",
        "foo.bar",
        "OPS-1",
        "2026",
        "café",
        "d'être",
        # Compatibility characters for capital letters.
        "№1234",
        "№123456",
        "ᴬᴮᴰᴱ",
        "ᴬᴮᴰᴱᴳ",
        # The names of kinds.
        "page",
        "wiki",
        "ticket",
    ),
)
TEXTS = st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join)
DOCS = st.lists(
    st.tuples(st.sampled_from(list(DocumentKind)), TEXTS, TEXTS, st.booleans()),
    min_size=1,
    max_size=12,
)
PIECES = st.lists(
    st.tuples(
        st.sampled_from(["", "", "", "-", '"', '-"']),
        st.lists(st.sampled_from(WORDS), min_size=1, max_size=2).map(" ".join),
        st.sampled_from(["", "", '"']),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=4,
).map(lambda found: " ".join(f"{a}{b[: len(b) - d] or b}{c}" for a, b, c, d in found))


def fits(expression, terms):
    """Return whether a document with these terms matches, by the model."""
    everything = {*terms.words, *terms.marks.split(" ")}
    match expression:
        case Term(term):
            return term in everything
        case Prefix():
            return any(term.startswith(expression.text) for term in everything)
        case Phrase(words, is_open):
            return any(
                _is_phrase(terms.words[at : at + len(words)], words, is_open)
                for at in range(len(terms.words) - len(words) + 1)
            )
        case All(parts):
            return all(fits(part, terms) for part in parts)
        case Any(parts):
            return any(fits(part, terms) for part in parts)
        case Without(wanted, unwanted):
            return fits(wanted, terms) and not fits(unwanted, terms)


def _is_phrase(found, words, is_open):
    *closed, last = words
    ends = found[-1].startswith(last) if is_open else found[-1] == last
    return found[:-1] == closed and ends


def documents(given):
    """Return documents, oldest first."""
    project = ids.new_id()
    return [
        SearchDoc(
            kind=kind,
            id=ids.new_id(),
            project_id=project if in_project else None,
            title=title,
            body=body,
            display_id=f"OPS-{number}" if kind is DocumentKind.TICKET else None,
        )
        for number, (kind, title, body, in_project) in enumerate(given, start=1)
    ]


@pytest.fixture
def indexed(app, monkeypatch):
    """Replace the indexed documents with these, every second of which may be pending."""
    given = {}

    def source(kind):
        return replace(
            sources.source_of(kind),
            docs=lambda wanted: [given[one] for one in wanted if one in given],
        )

    monkeypatch.setattr(sources, "_sources", {str(kind): source(kind) for kind in DocumentKind})

    def run(docs, before):
        def work():
            for doc in before:
                index.remove(doc.id)
            given.clear()
            given.update({doc.id: doc for doc in docs})
            for number, doc in enumerate(docs):
                index.put(doc, may_wait=number % 2 == 0)

        run_write(work)

    with app.app_context():
        yield run


@settings(
    max_examples=400 if IS_LONG else 8,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
    deadline=None,
)
@given(DOCS, st.lists(PIECES, min_size=1, max_size=8))
def test_each_database_finds_what_the_terms_say(indexed, given_docs, asked):
    docs = documents(given_docs)
    indexed(docs, before=[])
    newest_first = [(doc.id, analyzed(doc)) for doc in reversed(docs)]
    try:
        for _ in ("pending", "flushed"):
            with reading():
                for q in asked:
                    ranked = []
                    for tier, fitting, better in tiers(parse(q)):
                        wanted = without(fitting, better)
                        expected = [one for one, terms in newest_first if fits(wanted, terms)]
                        assert newest_ids(wanted) == expected, (q, tier)
                        ranked += [(one, tier) for one in expected]
                    assert best_ids(q) == ranked, q
                    # A cursor may name a tier between those of the query.
                    lower = [one for one in ranked if one[1] <= ranking.Tier.ALL_IN_LEAD]
                    assert best_ids(q, ranking.Tier.ALL_IN_LEAD) == lower, q
                    # Whatever matches any other tier also matches ANYWHERE.
                    apart = [
                        fitting
                        for tier, fitting, _ in tiers(parse(q))
                        if tier in (ranking.Tier.DISPLAY_ID, ranking.Tier.ANYWHERE)
                    ]
                    assert {one for one, _ in ranked} == {
                        one
                        for one, terms in newest_first
                        if any(fits(fitting, terms) for fitting in apart)
                    }, q
    finally:
        indexed([], before=docs)


@pytest.mark.parametrize("count", range(8))
def test_a_beginning_finds_all_words_however_many_there_are(indexed, count):
    """SQLite looks up a few of them individually."""
    longer = ("gateway", "gatehouse", "gatepost", "gateman", "gatefold", "gateleg", "gated")
    given = ("gat", *longer[:count])
    docs = documents([(DocumentKind.TICKET, word, f"mended {word}", False) for word in given])
    indexed(docs, before=[])
    try:
        with reading():
            for q in ("gate", "gatew", "mended gate", '"gate'):
                expected = {doc.id for doc in docs if fits(all_tiers(parse(q)), analyzed(doc))}
                assert {one for one, _ in best_ids(q)} == expected, q
                assert len(expected) == len(
                    [one for one in given if one.startswith(q.split()[-1].strip(chr(34)))]
                ), q
    finally:
        indexed([], before=docs)


def test_an_exclusion_holds_while_documents_are_flushed(app, indexed):
    """GIN inserts terms one by one, and title marks after words."""
    chance = random.Random(7)

    def body() -> str:
        return " ".join(f"w{chance.randrange(3_000)}" for _ in range(200))

    wanted = Without(Term("wiki"), Term(f"{MarkKind.TITLE_STEM}wiki"))
    wrong, ends = [], time.monotonic() + 1

    def search():
        with app.app_context():
            while time.monotonic() < ends:
                with reading():
                    wrong.extend(newest(wanted, ranking.END, 50))

    searching = [threading.Thread(target=search) for _ in range(2)]
    for thread in searching:
        thread.start()
    given = []
    while time.monotonic() < ends:
        docs = documents([(DocumentKind.TICKET, "wiki", body(), False) for _ in range(20)])
        indexed(docs, before=[])
        given += docs
        index.flush(own=False)
    for thread in searching:
        thread.join()
    indexed([], before=given)
    assert wrong == []


def newest_ids(wanted):
    """Return the ids of the matches, in the order of the index."""
    found = newest(wanted, ranking.END, 50)
    known = index.documents(found)
    return [known[document_id][1] for document_id in found]


def newest(wanted, below, limit):
    """Return the document ids of the newest matches below ``below``."""
    asked = [TierQuery(ranking.Tier.ANYWHERE, wanted, below)]
    return [document_id for document_id, _ in index.best(asked, [], limit)]


def best_ids(q, first=None):
    """Return the ids of all matches with their tiers, page by page, as the index ranks them.

    Start from the tier ``first``, if given.
    """
    query = parse(q)
    everything = [one for one in (some_of_all_tiers(query), all_tiers(query)) if one is not None]
    if first is not None:
        everything = []
    left = tier_queries(query, first)
    found = []
    while page := index.best(left, everything, 3):
        found += page
        document_id, tier = page[-1]
        left = tier_queries(query, tier, document_id)
        everything = []
    known = index.documents(document_id for document_id, _ in found)
    return [(known[document_id][1], tier) for document_id, tier in found]


def begin_block(number):
    """Make the next twenty documents the last of a block of document ids."""
    place = (number << postgres.BLOCK_BITS) - 21
    leap = text("SELECT setval(pg_get_serial_sequence('search_docs', 'place'), :place)")
    run_write(lambda: session.execute(leap, {"place": place}))


def test_documents_of_many_blocks_are_looked_through_in_order(indexed, monkeypatch):
    """Matches are far apart, on both sides of PostgreSQL's block boundaries."""
    # So few that even these are not all fetched at once.
    monkeypatch.setattr(postgres, "FEW_MATCHES", 5)
    chance = random.Random(4)
    docs = []
    for number in range(1, 9):
        if is_postgresql():
            begin_block(number)
        given = [(DocumentKind.TICKET, f"w{chance.randrange(40)}", "", False) for _ in range(40)]
        docs += documents(given)
        indexed(docs[-40:], before=[])
        index.flush(own=False)
    newest_first = [(doc.id, analyzed(doc)) for doc in reversed(docs)]
    with reading():
        for q in ("w7", "w", "w1 -w12"):
            for _, fitting, better in tiers(parse(q)):
                wanted = without(fitting, better)
                expected = [one for one, terms in newest_first if fits(wanted, terms)]
                seen, below = [], ranking.END
                while page := newest(wanted, below, 30):
                    known = index.documents(page)
                    seen += [known[document_id][1] for document_id in page]
                    below = page[-1]
                assert seen == expected, q
