"""The order of hits, and the queries that the index needs for it (app/search/ranking.py)."""

from contextlib import nullcontext

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.database.session import is_postgresql
from app.search import postgres, ranking, sqlite
from app.search.expressions import All, Any, Prefix, Term, Without
from app.search.parsing import parse
from app.search.postgres import BLOCK_BITS
from app.search.ranking import END, Tier, TierQuery, some_of_all_tiers
from tests.support.sizes import IS_LONG
from tests.support.story import ok


def test_a_title_ranks_above_a_body(ticket, titles):
    ticket("Lantern")
    ticket("Older", "lantern " * 50)
    assert titles("lantern") == ["Lantern", "Older"]


def test_the_title_itself_comes_first(ticket, titles):
    ticket("Mend the gate")
    ticket("How to mend the gate in winter")
    ticket("Gate", "mend the")
    assert titles("mend the gate")[0] == "Mend the gate"


def test_the_index_is_asked_until_all_that_fits_is_found(ticket, cast, app, monkeypatch):
    """SQLite is asked for matches of any tier, then tier by tier until each match has its tier,
    never for the rest; PostgreSQL for several tiers at once.

    Words that have the last word as a prefix are queried if the word itself has too few matches,
    and on SQLite only if there are such words.
    """
    anywhere = ["the word itself", "all that begins so"]
    asked = []

    def counted(ask):
        def ask_and_count(*given, **named):
            asked.append(given or named)
            return ask(*given, **named)

        return ask_and_count

    monkeypatch.setattr(sqlite._NEWEST, "all", counted(sqlite._NEWEST.all))
    monkeypatch.setattr(postgres, "_scan", counted(postgres._scan))
    with app.app_context():
        is_at_once = is_postgresql()

    def titles_of(q):
        return [row["title"] for row in ok(cast.ada.get("/search", query_string={"q": q}))["data"]]

    assert titles_of("nowhere at all") == []
    # PostgreSQL is asked about the newest block of places, and then about all.
    more = 1 if is_at_once else 0
    assert 0 <= len(asked) - len(anywhere) <= more
    # No other word has this prefix.
    anywhere = anywhere if is_at_once else ["the word itself"]
    ticket("Gate in the wind")
    ticket("Wind", "and a gate, far below its title " + "other words " * 60)
    asked.clear()
    assert titles_of("gate wind") == ["Gate in the wind", "Wind"]
    tiers = ["exact title", "all in title", "some in title"]
    # On PostgreSQL the first two are one query.
    assert -more <= len(asked) - len([*anywhere, *tiers]) <= 0
    ticket("Below", "other words " * 60 + "gate wind")
    asked.clear()
    assert titles_of("gate wind") == ["Gate in the wind", "Wind", "Below"]
    # The rest can be in the body or in comments.
    tiers = ["exact title", "all in title", "some in title", "all in lead", "in the body"]
    assert -more <= len(asked) - len([*anywhere, *tiers]) <= 0


class Corpus:
    """The places that match each tier, as PostgreSQL's index returns them for a query."""

    def __init__(self, newest, of_tiers):
        self.newest = newest
        self.of_tiers = of_tiers
        # How many blocks each query covered; None if it covered all that were left.
        self.looks = []

    def look(self, searches, limit):
        first = searches[0]
        self.looks.append(first.blocks_left - first.next_oldest if first.next_oldest > 0 else None)
        return [
            sorted(
                place
                for place in self.of_tiers[search.expression.text]
                if place < min(search.below, search.blocks_left << BLOCK_BITS)
                and place >= search.next_oldest << BLOCK_BITS
            )[-limit:]
            for search in searches
        ]

    def best(self, wanted, everything, limit):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(postgres, "_scan", self.look)
            patched.setattr(postgres, "_index_preferred", lambda: nullcontext(self.newest))
            return postgres.best(wanted, everything, limit)


@settings(max_examples=1000 if IS_LONG else 40)
@given(st.data())
def test_tiers_come_one_after_another_however_they_are_looked_for(given_data):
    """On PostgreSQL, however many matches are in whichever blocks of places."""
    newest = given_data.draw(st.integers(0, 40 << BLOCK_BITS), "newest place")
    limit = given_data.draw(st.integers(1, 8), "limit")
    tier_of = given_data.draw(
        st.dictionaries(st.integers(0, newest), st.sampled_from(list(Tier)), max_size=150)
    )
    of_tiers = in_no_better(tier_of)
    belows = st.sampled_from([END, newest, 5000, 1])
    wanted = [TierQuery(tier, Term(str(tier)), given_data.draw(belows)) for tier in Tier]
    corpus = Corpus(newest, of_tiers)
    assert (
        corpus.best(wanted, [], limit)
        == [
            (place, asked.tier)
            for asked in wanted
            for place in sorted(of_tiers[str(asked.tier)], reverse=True)
            if place < asked.below
        ][:limit]
    )
    # So few take a query of the newest block, another if that block is not full, and one of all
    # others.
    assert len(corpus.looks) <= 3 * len(wanted)
    assert set(corpus.looks) <= {1, 4, None}


def in_no_better(tier_of):
    """Return the places of each tier, by its name."""
    return {str(tier): {place for place, one in tier_of.items() if one is tier} for tier in Tier}


def test_no_look_names_many_blocks():
    """Each block is a term of the query. So a query names few, or none and covers all documents."""
    wanted = [TierQuery(Tier.ANYWHERE, Term("x"), END)]

    def looks(blocks, in_each, limit, beyond=0):
        every = (1 << BLOCK_BITS) // in_each
        corpus = Corpus((blocks << BLOCK_BITS) - 1 + beyond, {})
        corpus.of_tiers["x"] = range(0, corpus.newest, every)
        found = [place for place, _ in corpus.best(wanted, [], limit)]
        assert found == sorted(corpus.of_tiers["x"], reverse=True)[:limit]
        return corpus.looks

    assert looks(250, 64, 51) == [1]
    assert looks(250, 16, 51) == [1, None]
    assert looks(250, 32, 51) == [1, 4]
    assert looks(2000, 4, 51) == [1, 4, 16]
    assert looks(2000, 8, 201) == [1, 4, 16, 16]
    assert looks(1, 16, 51) == [None]
    # The newest block may have few places, or just too few to tell.
    assert looks(250, 4096, 51, beyond=10) == [1, 4]
    assert looks(250, 256, 51, beyond=120) == [1, 4]
    assert looks(250, 8, 51, beyond=3000) == [1, None]


def test_what_may_go_on_is_not_taken_for_rare():
    """Few documents have the word itself, but many have words that begin with it."""
    newest = (250 << BLOCK_BITS) - 1
    closed, begun = range(0, newest, 300), range(0, newest, 10)
    corpus = Corpus(newest, {"closed": closed, "open": begun, str(Tier.ALL_IN_TITLE): begun})
    wanted = [TierQuery(Tier.ALL_IN_TITLE, Term(str(Tier.ALL_IN_TITLE)), END)]
    found = corpus.best(wanted, [Term("closed"), Term("open")], 51)
    assert [place for place, _ in found] == sorted(begun, reverse=True)[:51]
    assert corpus.looks == [1, None, 1]


@settings(max_examples=1000 if IS_LONG else 40)
@given(st.data())
def test_few_that_fit_each_come_with_their_tier(given_data):
    newest = given_data.draw(st.integers(0, 40 << BLOCK_BITS), "newest place")
    limit = given_data.draw(st.integers(1, 30), "limit")
    tier_of = given_data.draw(
        st.dictionaries(st.integers(0, newest), st.sampled_from(list(Tier)), max_size=30)
    )
    of_tiers = in_no_better(tier_of)
    for place, tier in tier_of.items():
        # A match of a better tier can match the worse ones as well.
        for worse in Tier:
            if worse < tier and given_data.draw(st.booleans()):
                of_tiers[str(worse)].add(place)
    # A display id need not be among the words of its document.
    of_tiers["all"] = {
        place
        for place, tier in tier_of.items()
        if tier is not Tier.DISPLAY_ID or given_data.draw(st.booleans())
    }
    of_tiers["some"] = {place for place in of_tiers["all"] if given_data.draw(st.booleans())}
    wanted = [TierQuery(tier, Term(str(tier)), END) for tier in Tier]
    found = Corpus(newest, of_tiers).best(wanted, [Term("some"), Term("all")], limit)
    expected = sorted(((tier, place) for place, tier in tier_of.items()), reverse=True)
    assert found == [(place, tier) for tier, place in expected][:limit]


def test_a_common_word_is_found_without_looking_at_all_that_begins_so():
    """With a million tickets that took 34 milliseconds per tier."""
    query = parse("ticket")
    assert some_of_all_tiers(query) == Any((Term("§ticket"), Term("§§ticket")))
    tiers_of = {tier: fitting for tier, fitting, _ in ranking.tiers(query)}
    for tier in (ranking.Tier.EXACT_TITLE, ranking.Tier.ALL_IN_TITLE, ranking.Tier.ALL_IN_LEAD):
        assert "ticket" not in prefixes(tiers_of[tier])
    assert "ticket" in prefixes(tiers_of[ranking.Tier.ANYWHERE])


def test_the_mark_of_a_long_title_does_not_stand_for_its_words(ticket, titles):
    """The mark is truncated: two titles with the same beginning have the same mark."""
    title = "".join(chr(0x4E00 + number) for number in range(200))
    ticket(title)
    assert titles(title) == [title]
    assert isinstance(exact_title(title), All)
    assert isinstance(exact_title("gate"), Term)


def test_a_quoted_word_is_found_as_it_is_alone_and_ranks_by_its_stem(ticket, titles):
    """The lead of a text is indexed by stems only."""
    ticket("Newest of all below", "other words " * 60 + "running")
    ticket("Begins so", "It runs")
    ticket("Older", "Running it")
    ticket("Below", "other words " * 60 + "running")
    assert titles('"running"') == ["Older", "Below", "Newest of all below"]
    assert titles("running") == ["Older", "Begins so", "Below", "Newest of all below"]


def exact_title(q):
    """Return the expression that matches a title exactly."""
    return next(fitting for tier, fitting, _ in ranking.tiers(parse(q)) if tier is Tier.EXACT_TITLE)


def test_words_of_a_phrase_in_a_title_must_be_together_somewhere(ticket, titles):
    ticket("Wind in the gate", "the gate and the wind")
    ticket("Gate wind")
    assert titles('"gate wind"') == ["Gate wind"]
    assert titles('"wind in" gate') == ["Wind in the gate"]
    assert titles('"gate the"') == []


def prefixes(expression):
    """Return all prefixes that an expression looks for."""
    match expression:
        case Prefix():
            return {expression.text}
        case All(parts) | Any(parts):
            return set().union(*map(prefixes, parts))
        case Without(wanted, unwanted):
            return prefixes(wanted) | prefixes(unwanted)
    return set()
