"""In which order hits come, and what the index is asked for that (app/search/ranking.py)."""

from app.search import index, ranking
from app.search.expressions import All, Any, Prefix, Term, Without
from app.search.parsing import parse
from app.search.ranking import some_of_all_tiers


def test_a_title_ranks_above_a_body(ticket, titles):
    ticket("Lantern")
    ticket("Older", "lantern " * 50)
    assert titles("lantern") == ["Lantern", "Older"]


def test_the_title_itself_comes_first(ticket, titles):
    ticket("Mend the gate")
    ticket("How to mend the gate in winter")
    ticket("Gate", "mend the")
    assert titles("mend the gate")[0] == "Mend the gate"


def test_the_index_is_asked_until_all_that_fits_is_found(ticket, titles, monkeypatch):
    """For what fits anywhere, then tier by tier until each has its own; never for the rest.

    All words that begin as the last one does are looked at where the word itself is on too few.
    """
    anywhere = ["the word itself", "all that begins so"]
    asked = []
    newest = index.newest

    def counted(expression, below, limit):
        asked.append(expression)
        return newest(expression, below, limit)

    monkeypatch.setattr(index, "newest", counted)
    assert titles("nowhere at all") == []
    assert len(asked) == len(anywhere)
    ticket("Gate in the wind")
    ticket("Wind", "and a gate, far below its title " + "other words " * 60)
    asked.clear()
    assert titles("gate wind") == ["Gate in the wind", "Wind"]
    assert len(asked) == len([*anywhere, "exact title", "all in title", "some in title"])
    ticket("Below", "other words " * 60 + "gate wind")
    asked.clear()
    assert titles("gate wind") == ["Gate in the wind", "Wind", "Below"]
    tiers = ["exact title", "all in title", "some in title", "all in lead"]
    assert len(asked) == len([*anywhere, *tiers])


def test_a_common_word_is_found_without_looking_at_all_that_begins_so():
    """At a million tickets that took 34 milliseconds for each tier."""
    query = parse("ticket")
    assert some_of_all_tiers(query) == Term("§ticket")
    tiers_of = dict(ranking.tiers(query))
    for tier in (ranking.Tier.EXACT_TITLE, ranking.Tier.ALL_IN_TITLE, ranking.Tier.ALL_IN_LEAD):
        assert Prefix("ticket") not in prefixes(tiers_of[tier])
    assert prefixes(tiers_of[ranking.Tier.ANYWHERE]) >= {Prefix("ticket")}


def test_the_mark_of_a_long_title_does_not_stand_for_its_words(ticket, titles):
    """It is cut off: two titles that begin alike have the same."""
    title = "".join(chr(0x4E00 + number) for number in range(200))
    ticket(title)
    assert titles(title) == [title]
    exact = dict(ranking.tiers(parse(title)))[ranking.Tier.EXACT_TITLE]
    assert isinstance(exact, All)
    assert isinstance(dict(ranking.tiers(parse("gate")))[ranking.Tier.EXACT_TITLE], Term)


def test_words_of_a_phrase_in_a_title_must_be_together_somewhere(ticket, titles):
    ticket("Wind in the gate", "the gate and the wind")
    ticket("Gate wind")
    assert titles('"gate wind"') == ["Gate wind"]
    assert titles('"wind in" gate') == ["Wind in the gate"]
    assert titles('"gate the"') == []


def prefixes(expression):
    """All beginnings that an expression looks for."""
    match expression:
        case Prefix():
            return {expression}
        case All(parts) | Any(parts):
            return set().union(*map(prefixes, parts))
        case Without(wanted, unwanted):
            return prefixes(wanted) | prefixes(unwanted)
    return set()
