"""Whether a document fits an expression, read off its terms: for those that no index holds yet."""

from dataclasses import dataclass

from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without


@dataclass(frozen=True, slots=True)
class Readable:
    """A document's words in their order, and all its terms."""

    words: list[str]
    terms: frozenset[str]


def fits(expression: Expression, found: Readable) -> bool:
    """Whether the document fits; both databases say the same of those in their index."""
    match expression:
        case Term(term):
            return term in found.terms
        case Prefix(letters):
            return any(term.startswith(letters) for term in found.terms)
        case Phrase(words, is_open):
            return found.terms.issuperset(words[:-1]) and _stand_together(
                found.words, words, is_open=is_open
            )
        case All(parts):
            return all(fits(part, found) for part in parts)
        case Any(parts):
            return any(fits(part, found) for part in parts)
        case Without(wanted, unwanted):
            return fits(wanted, found) and not fits(unwanted, found)


def _stand_together(text: list[str], words: tuple[str, ...], *, is_open: bool) -> bool:
    *closed, last = words
    return any(
        (word == last or (is_open and word.startswith(last)))
        and text[end - len(closed) : end] == closed
        for end, word in enumerate(text[len(closed) :], start=len(closed))
    )
