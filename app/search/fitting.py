"""Whether a document fits an expression, read off its terms: for those that no index holds yet."""

from dataclasses import dataclass

from app.search.documents import Terms
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without


@dataclass(frozen=True, slots=True)
class Stored:
    """The terms of a document as the table stores them: text, in which each is between spaces."""

    words: str
    marks: str


def stored(terms: Terms) -> Stored:
    """The terms as text."""
    return Stored(f" {' '.join(terms.words)} ", f" {terms.marks} ")


def fits(expression: Expression, found: Stored) -> bool:
    """Whether the document fits; both databases say the same of those in their index."""
    match expression:
        case Term(term):
            return _stands(f" {term} ", found)
        case Prefix():
            return _stands(f" {expression.text}", found)
        case Phrase(words, is_open):
            ending = "" if is_open else " "
            return f" {' '.join(words)}{ending}" in found.words
        case All(parts):
            return all(fits(part, found) for part in parts)
        case Any(parts):
            return any(fits(part, found) for part in parts)
        case Without(wanted, unwanted):
            return fits(wanted, found) and not fits(unwanted, found)


def _stands(text: str, found: Stored) -> bool:
    return text in found.marks or text in found.words
