"""The words that close a ticket: those of GitHub, in any case."""

import pytest

from app.integrations.ticket_references import fixed_tickets

WORDS = ("close", "closes", "closed", "fix", "fixes", "fixed", "resolve", "resolves", "resolved")


@pytest.mark.parametrize("word", WORDS)
def test_each_closing_word(word):
    for written in (word, word.title(), word.upper()):
        for text in ("{} OPS-12", "{}: OPS-12", "{}:OPS-12", "Lamp ({} OPS-12).", "a\n{} OPS-12\n"):
            assert fixed_tickets([text.format(written)]) == {"OPS-12"}


def test_several_tickets_behind_one_word_or_one_word_each():
    assert fixed_tickets(["Fixes OPS-1, OPS-2 and LAMP-3. OPS-4"]) == {
        "OPS-1",
        "OPS-2",
        "LAMP-3",
    }
    assert fixed_tickets(["fix OPS-1, closes OPS-2"]) == {"OPS-1", "OPS-2"}


NOT = (
    "OPS-12|prefixes OPS-12|fixing OPS-12|fixes the OPS-12|fixes OPS-12a|fix ops-12|fixes\n\nOPS-12"
)
NOR = "unfixed OPS-12|Fixes #12|fix_OPS-12|fix-OPS-12"


@pytest.mark.parametrize("text", f"{NOT}|{NOR}".split("|"))
def test_what_closes_nothing(text):
    assert fixed_tickets([text]) == set()
