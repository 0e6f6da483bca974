"""Expressions in the language of PostgreSQL's tsquery."""

from app.search.documents import beginning
from app.search.expressions import All, Any, Expression, Phrase, Prefix, Term, Without, without


def without_phrases(expression: Expression) -> Expression:
    """What fits whatever order words are in; all that fits the expression fits this as well."""
    match expression:
        case Phrase(words, is_open):
            *closed, last = words
            mark = beginning("", last) if is_open else last
            return All((*map(Term, closed), Prefix(last) if mark is None else Term(mark)))
        case All(parts):
            return All(tuple(map(without_phrases, parts)))
        case Any(parts):
            return Any(tuple(map(without_phrases, parts)))
        case Without(wanted, unwanted):
            likely = without_phrases(wanted)
            parts = unwanted.parts if isinstance(unwanted, Any) else (unwanted,)
            certain = [part for part in parts if without_phrases(part) == part]
            return without(likely, certain)
    return expression


def rendered(expression: Expression) -> str:
    """The expression in the language of tsquery; every term is quoted."""
    match expression:
        case Term(term):
            return f"'{term}'"
        case Prefix():
            return f"'{expression.text}':*"
        case Phrase(words, is_open):
            *closed, last = (f"'{word}'" for word in words)
            return "(" + " <-> ".join([*closed, last + (":*" if is_open else "")]) + ")"
        case All(parts):
            return "(" + " & ".join(rendered(part) for part in parts) + ")"
        case Any(parts):
            return "(" + " | ".join(rendered(part) for part in parts) + ")"
        case Without(wanted, unwanted):
            return f"({rendered(wanted)} & !{rendered(unwanted)})"
