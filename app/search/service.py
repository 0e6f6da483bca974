"""The search verb: which documents match, which of them the actor may see, and what a hit shows."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, NamedTuple

from sqlalchemy import column, select, table

from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.columns import Id, Moment
from app.database.pagination import Page, content_of, opaque
from app.database.session import AnySelect, Prepared
from app.search import any_word, index, messages
from app.search.any_word import AnyMatch
from app.search.documents import GLOBAL, DocumentKind, SearchDocument, kind_mark, project_mark
from app.search.expressions import All, Expression, Term, Without, every, some, without
from app.search.parsing import Query, parse
from app.search.ranking import Tier, TierQuery, some_of_all_tiers, tier_queries, tiers
from app.search.snippets import Highlighter, Piece, Snippet
from app.search.sources import FoundDocument, source_of

QUERY_LENGTH = 500
KIND = "search"
_LATEST = 1 << 53

# Projects are above search in the stack, so this reads their table: search only needs to know which
# of them are deleted.
_projects = table("projects", column("id", Id), column("deleted_at", Moment))
_DELETED = Prepared(select(_projects.c.id).where(_projects.c.deleted_at.is_not(None)))


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """The last row of a page, and the hash of the filters of its search."""

    id: str
    created_at: int
    tier: Tier
    filter_hash: str
    # The number of the query's words in the row, if the search is for any of them.
    words: int | None = None


class Match(StrEnum):
    """Whether results have all words of the query, or any of them because none has all."""

    ALL = "all"
    ANY = "any"


class Hit(NamedTuple):
    """A ticket or page that matches."""

    kind: DocumentKind
    found: FoundDocument
    tier: Tier
    snippet: Snippet
    highlighter: Highlighter
    # The comment that the snippet is from, if the words are in comments.
    comment_id: str | None = None
    # The number of the query's words in it, if the search is for any of them.
    words: int | None = None

    @property
    def title(self) -> list[Piece]:
        """The title for HTML pages."""
        return self.highlighter.pieces(self.found.title)


@dataclass(frozen=True, slots=True)
class Results:
    """One page of hits, best first."""

    hits: list[Hit]
    next_cursor: str | None = None
    matched: Match = Match.ALL


@dataclass(frozen=True, slots=True)
class _Scope:
    """The documents of a search: those that match all of ``required`` and not ``excluded``."""

    required: tuple[Expression, ...] = ()
    excluded: Expression | None = None

    def narrow(self, expression: Expression) -> Expression:
        narrowed = All((expression, *self.required)) if self.required else expression
        return Without(narrowed, self.excluded) if self.excluded else narrowed


@operation(Access.READ)
def query(actor: Actor, /, **args: Any) -> dict[str, Any]:
    """``find`` for the API: the hits as a collection."""
    results = find(actor, **args)
    page = Page([hit_json(hit) for hit in results.hits], results.next_cursor)
    return {**page.collection, "matched": str(results.matched)}


@operation(Access.READ)
def find(
    actor: Actor,
    *,
    q: str,
    type: str | None = None,
    project_id: str | None = None,
    limit: int,
    cursor: str | None = None,
    match: Match = Match.ALL,
) -> Results:
    """Tickets and wiki pages that match ``q`` and that the actor can see.

    With ``Match.ANY``, those with any of several words if none has all. Raises InvalidField for a
    query that is blank or too long, and for a cursor that is malformed or belongs to a search with
    other filters.
    """
    _check(q)
    any_of = Match.ANY if match == Match.ANY else None
    digest = filter_hash(q=q, type=type, project_id=project_id, match=any_of)
    after = decode(cursor, digest) if cursor is not None else None
    parsed = parse(q)
    scope = _scope(actor, type, project_id)
    if scope is None:
        return Results([])
    if after is None or after.words is None:
        ranked = _document_ids(parsed, scope, after, limit + 1)
        if ranked or after is not None or any_of is None or len(parsed.wanted) < 2:
            hits = _hits(ranked[:limit], Highlighter(parsed))
            return _results(hits, len(ranked) > limit, digest)
    found = any_word.find(parsed, scope.narrow)
    matches = found.matches
    if after is not None and after.words is not None:
        last = AnyMatch(after.words, after.tier, index.document_id_after(after.id))
        matches = [match for match in matches if match < last]
    ranked = [(match.document_id, match.tier) for match in matches[:limit]]
    words = {match.document_id: match.words for match in matches[:limit]}
    hits = _hits(ranked, Highlighter(replace(parsed, wanted=found.parts)), words)
    return _results(hits, len(matches) > limit, digest)


def _results(hits: list[Hit], has_more: bool, digest: str) -> Results:
    if not hits:
        return Results([])
    last = hits[-1]
    matched = Match.ALL if last.words is None else Match.ANY
    if not has_more:
        return Results(hits, None, matched)
    found = last.found
    cursor = SearchCursor(found.id, found.created_at, last.tier, digest, last.words)
    return Results(hits, encode(cursor), matched)


def _check(q: str) -> None:
    if not text.checked(q, "q", QUERY_LENGTH).strip():
        raise InvalidField("q", "blank", messages.QUERY_BLANK)


def ticket_ids(q: str) -> AnySelect:
    """A query for the ids of all tickets that match ``q``, as a condition of a list of tickets.

    The caller must restrict the list to what the actor may see. Raises InvalidField like ``find``.
    """
    _check(q)
    kind = Term(kind_mark(DocumentKind.TICKET))
    # The last tier includes the matches of all others but DISPLAY_ID.
    ranked = tiers(parse(q))
    fitting = [
        expression
        for tier, expression, _ in ranked
        if tier is Tier.DISPLAY_ID or tier is ranked[-1][0]
    ]
    return index.ids_matching(every([some(fitting), kind]) if fitting else without(kind, [kind]))


def any_ticket_ids(actor: Actor, q: str, project_id: str | None) -> AnySelect | None:
    """Like ``ticket_ids``, but for any of several words, if none has all; None if there is none.

    Call it after the query of ``ticket_ids`` has run, which makes pending documents searchable.
    """
    parsed = parse(q)
    scope = _scope(actor, DocumentKind.TICKET, project_id)
    if scope is None or len(parsed.wanted) < 2:
        return None
    matches = any_word.find(parsed, scope.narrow).matches
    document_ids = [match.document_id for match in matches]
    found = select(SearchDocument.id).where(SearchDocument.document_id.in_(document_ids))
    return found if matches else None


def _scope(actor: Actor, kind: str | None, project_id: str | None) -> _Scope | None:
    """The documents that the actor may see within the filters; None if there are none.

    Bots see the projects of their allowlist (all if empty) and global pages. Deleted projects are
    never searched.
    """
    deleted = {row.id for row in _DELETED.all()}
    required: list[Expression] = [Term(kind_mark(kind))] if kind is not None else []
    if project_id is not None:
        if not actor.sees_project(project_id) or project_id in deleted:
            return None
        required.append(Term(project_mark(project_id)))
    elif actor.allowlist:
        seen = sorted(actor.allowlist - deleted)
        required.append(some([Term(GLOBAL), *(Term(project_mark(one)) for one in seen)]))
    elif deleted:
        excluded = some(Term(project_mark(one)) for one in sorted(deleted))
        return _Scope(tuple(required), excluded)
    return _Scope(tuple(required))


def _document_ids(
    parsed: Query, scope: _Scope, after: SearchCursor | None, limit: int
) -> list[tuple[int, Tier]]:
    """The ids of the next documents and their tiers, best first."""
    everything: list[Expression] = []
    if after is not None:
        queries = tier_queries(parsed, after.tier, index.document_id_after(after.id))
    else:
        queries = tier_queries(parsed)
        faster = some_of_all_tiers(parsed)
        if faster is not None:
            # The last tier matches everything that any tier matches.
            everything = list(dict.fromkeys([faster, queries[-1].expression]))
    return index.best(
        [TierQuery(each.tier, scope.narrow(each.expression), each.below) for each in queries],
        [scope.narrow(expression) for expression in everything],
        limit,
    )


def _hits(
    ranked: list[tuple[int, Tier]], highlighter: Highlighter, words: Mapping[int, int] | None = None
) -> list[Hit]:
    """The documents in their current state, without those deleted in the meantime.

    ``words`` maps document ids to numbers of words, if the search is for any of them.
    """
    documents = index.documents([document_id for document_id, _ in ranked])
    by_kind: dict[str, list[str]] = {}
    for kind, identifier in documents.values():
        by_kind.setdefault(kind, []).append(identifier)
    found = {
        (kind, document.id): document
        for kind, identifiers in by_kind.items()
        for document in source_of(kind).found(identifiers)
    }
    commented = [
        documents[document_id][1]
        for document_id, tier in ranked
        if tier is Tier.IN_COMMENTS and document_id in documents
    ]
    comments = source_of(DocumentKind.TICKET).comments(commented) if commented else {}
    hits = []
    for document_id, tier in ranked:
        key = documents.get(document_id)
        if key not in found:
            continue
        document, comment_id = found[key], None
        body, said = document.body, comments.get(document.id, [])
        # A comment may have changed after the index was queried.
        best = highlighter.best(comment.body for comment in said) if said else None
        if best is not None:
            comment_id, body = said[best].id, said[best].body
        snippet, kind = highlighter.snippet(body), DocumentKind(key[0])
        number = words.get(document_id) if words else None
        hits.append(Hit(kind, document, tier, snippet, highlighter, comment_id, number))
    return hits


def hit_json(hit: Hit) -> dict[str, Any]:
    return {
        "type": str(hit.kind),
        "id": hit.found.id,
        "title": hit.found.title,
        "snippet": hit.snippet.text,
        "highlights": [list(span) for span in hit.snippet.highlights],
        "score": float(hit.tier),
        "project_id": hit.found.project_id,
        "updated_at": iso(hit.found.updated_at),
        **hit.found.details,
        **({"comment_id": hit.comment_id} if hit.kind is DocumentKind.TICKET else {}),
    }


def filter_hash(**filters: str | None) -> str:
    """The first 16 hex digits of the sha256 of the filters that are set, as sorted JSON."""
    given = {name: value for name, value in filters.items() if value is not None}
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def encode(cursor: SearchCursor) -> str:
    content = {
        "kind": KIND,
        "id": cursor.id,
        "created_at": cursor.created_at,
        "tier": int(cursor.tier),
        "filter_hash": cursor.filter_hash,
    }
    if cursor.words is not None:
        content["words"] = cursor.words
    return opaque(content)


def decode(encoded: str, expected_hash: str) -> SearchCursor:
    """Read a cursor that ``encode`` made; raises InvalidField (400).

    The reason is ``cursor_filter_mismatch`` for a cursor of another search.
    """
    try:
        cursor = _verified(content_of(encoded))
        if encode(cursor) != encoded:
            raise ValueError("not the canonical form")
    except (ValueError, KeyError, TypeError) as error:
        raise InvalidField("cursor", "malformed", messages.CURSOR_INVALID, status=400) from error
    if cursor.filter_hash != expected_hash:
        message = messages.CURSOR_OF_OTHER_FILTERS
        raise InvalidField("cursor", "cursor_filter_mismatch", message, status=400)
    return cursor


def _verified(content: Any) -> SearchCursor:
    if content["kind"] != KIND:
        raise ValueError("a cursor of another list")
    identifier, moment, tier, digest = (
        content[key] for key in ("id", "created_at", "tier", "filter_hash")
    )
    if not isinstance(identifier, str) or not UUID_PATTERN.fullmatch(identifier):
        raise ValueError("not an id")
    if type(moment) is not int or not 0 <= moment < _LATEST or type(tier) is not int:
        raise ValueError("not a time or a tier")
    if not isinstance(digest, str):
        raise TypeError("not a hash")
    words = content.get("words")
    if words is not None and (type(words) is not int or not 0 < words <= any_word.WORDS):
        raise ValueError("not a number of words")
    return SearchCursor(identifier, moment, Tier(tier), digest, words)
