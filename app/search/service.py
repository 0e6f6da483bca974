"""Searching: which documents fit, which of them the actor may see, and how they are shown."""

import base64
import binascii
import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import orjson
from sqlalchemy import column, select, table

from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.clock import iso
from app.core.errors import InvalidField
from app.core.ids import UUID_PATTERN
from app.database.columns import Id, Moment
from app.database.pagination import CURSOR_LENGTH, Page
from app.database.session import AnySelect, Prepared
from app.search import index
from app.search.documents import GLOBAL, DocumentKind, kind_mark, project_mark
from app.search.expressions import Expression, Term, every, some, without
from app.search.parsing import Query, parse
from app.search.ranking import Tier, all_tiers, some_of_all_tiers, tiers, wanted
from app.search.snippets import Highlighter, Snippet
from app.search.sources import FoundDocument, source

KIND = "search"
_LATEST = 1 << 53


@dataclass(frozen=True, slots=True)
class SearchCursor:
    """The last row of a page."""

    id: str
    created_at: int
    tier: Tier
    filter_hash: str


def filter_hash(**filters: str | None) -> str:
    """The first 16 hex digits of the sha256 of the filters that are set, as sorted JSON."""
    given = {name: value for name, value in filters.items() if value is not None}
    canonical = json.dumps(given, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:16]


def encode(cursor: SearchCursor) -> str:
    """The opaque form: base64url of compact JSON, unpadded."""
    content = {
        "kind": KIND,
        "id": cursor.id,
        "created_at": cursor.created_at,
        "tier": int(cursor.tier),
        "filter_hash": cursor.filter_hash,
    }
    return base64.urlsafe_b64encode(orjson.dumps(content)).rstrip(b"=").decode()


def decode(sent: str, expected_hash: str) -> SearchCursor:
    """Read a cursor back.

    Raises InvalidField (400) unless it is exactly one of ours, and with the reason
    ``cursor_filter_mismatch`` where it is one of another search.
    """
    try:
        if len(sent) > CURSOR_LENGTH:
            raise ValueError("too long")
        raw = sent.encode("ascii")
        padded = raw + b"=" * (-len(raw) % 4)
        cursor = _verified(orjson.loads(base64.b64decode(padded, altchars=b"-_", validate=True)))
        if encode(cursor) != sent:
            raise ValueError("not the canonical form")
    except (ValueError, UnicodeError, binascii.Error, KeyError, TypeError) as error:
        raise InvalidField("cursor", "malformed", "The cursor is not valid.", status=400) from error
    if cursor.filter_hash != expected_hash:
        raise InvalidField(
            "cursor",
            "cursor_filter_mismatch",
            "The cursor belongs to a search with other filters.",
            status=400,
        )
    return cursor


def _verified(found: Any) -> SearchCursor:
    if found["kind"] != KIND:
        raise ValueError("a cursor of another list")
    identifier, moment, tier, digest = (
        found[key] for key in ("id", "created_at", "tier", "filter_hash")
    )
    if not isinstance(identifier, str) or not UUID_PATTERN.fullmatch(identifier):
        raise ValueError("not an id")
    if type(moment) is not int or not 0 <= moment < _LATEST or type(tier) is not int:
        raise ValueError("not a time or a tier")
    if not isinstance(digest, str):
        raise TypeError("not a hash")
    return SearchCursor(identifier, moment, Tier(tier), digest)


QUERY_LENGTH = 500

# Projects stand above search in the stack; whether one is deleted is all that it must know.
_projects = table("projects", column("id", Id), column("deleted_at", Moment))
_DELETED = Prepared(select(_projects.c.id).where(_projects.c.deleted_at.is_not(None)))


@dataclass(frozen=True, slots=True)
class Hit:
    """A ticket or page that was found."""

    kind: DocumentKind
    found: FoundDocument
    tier: Tier
    snippet: Snippet
    highlighter: Highlighter

    @property
    def title(self) -> list[tuple[str, bool]]:
        """The title in pieces, what matches (true) and what does not: for pages alone."""
        return self.highlighter.pieces(self.found.title)


@dataclass(frozen=True, slots=True)
class Results:
    """One page of hits, the best first."""

    hits: list[Hit]
    next_cursor: str | None


@operation(Access.READ)
def query(actor: Actor, /, **asked: Any) -> Page:
    """Tickets and wiki pages that fit ``q``, as the API shows them; otherwise as ``find``."""
    results = find(actor, **asked)
    return Page([hit_json(hit) for hit in results.hits], results.next_cursor)


@operation(Access.READ)
def find(
    actor: Actor,
    *,
    q: str,
    type: str | None = None,
    project_id: str | None = None,
    limit: int,
    cursor: str | None = None,
) -> Results:
    """Tickets and wiki pages that fit ``q`` and that the actor can see.

    Raises InvalidField for a query that is blank or too long, and for a cursor that is malformed or
    belongs to a search with other filters.
    """
    _check(q)
    digest = filter_hash(q=q, type=type, project_id=project_id)
    after = decode(cursor, digest) if cursor is not None else None
    parsed = parse(q)
    scope = _scope(actor, type, project_id)
    if scope is None:
        return Results([], None)
    document_ids = _document_ids(parsed, scope, after, limit + 1)
    hits = _hits(document_ids[:limit], Highlighter(parsed))
    if len(document_ids) <= limit or not hits:
        return Results(hits, None)
    last = hits[-1]
    ended = SearchCursor(last.found.id, last.found.created_at, last.tier, digest)
    return Results(hits, encode(ended))


def _check(q: str) -> None:
    if not text.checked(q, "q", QUERY_LENGTH).strip():
        raise InvalidField("q", "blank", "q must not be blank.")


def ticket_ids(q: str) -> AnySelect:
    """A query for the ids of all tickets that fit ``q``, as a condition of a list of tickets.

    Whoever uses it sees to what the actor may see. Raises InvalidField as ``find`` does.
    """
    _check(q)
    kind = Term(kind_mark(DocumentKind.TICKET))
    # What is in any other tier fits anywhere as well.
    apart = (Tier.DISPLAY_ID, Tier.ANYWHERE)
    fitting = [fits for tier, fits, _ in tiers(parse(q)) if tier in apart]
    return index.ids_matching(every([some(fitting), kind]) if fitting else without(kind, [kind]))


@dataclass(frozen=True, slots=True)
class _Scope:
    """What may be found: documents that fit all of the first and none of the second."""

    within: tuple[Expression, ...]
    beyond: tuple[Expression, ...]

    def narrow(self, fitting: Expression) -> Expression:
        """What fits, within the scope."""
        return without(every([fitting, *self.within]), self.beyond)


def _scope(actor: Actor, kind: str | None, project_id: str | None) -> _Scope | None:
    """What the actor may see of what was asked for; None where that is nothing.

    Bots see their allowlisted projects (all if empty) and global pages; what lies in a deleted
    project is in no search.
    """
    deleted = {row.id for row in _DELETED.all()}
    within: list[Expression] = [Term(kind_mark(kind))] if kind is not None else []
    if project_id is not None:
        if not actor.sees_project(project_id) or project_id in deleted:
            return None
        within.append(Term(project_mark(project_id)))
        return _Scope(tuple(within), ())
    if actor.allowlist:
        seen = sorted(actor.allowlist - deleted)
        within.append(some([Term(GLOBAL), *(Term(project_mark(one)) for one in seen)]))
        return _Scope(tuple(within), ())
    return _Scope(tuple(within), tuple(Term(project_mark(one)) for one in sorted(deleted)))


def _document_ids(
    parsed: Query, scope: _Scope, after: SearchCursor | None, limit: int
) -> list[tuple[int, Tier]]:
    """The ids of the next documents and their tiers, the best first."""
    asked = (
        wanted(parsed, after.tier, index.document_id_after(after.id)) if after else wanted(parsed)
    )
    within = [replace(one, expression=scope.narrow(one.expression)) for one in asked]
    everything = (some_of_all_tiers(parsed), all_tiers(parsed)) if after is None else ()
    narrowed = [scope.narrow(one) for one in dict.fromkeys(everything) if one is not None]
    return index.best(within, narrowed, limit)


def _hits(found: list[tuple[int, Tier]], highlighter: Highlighter) -> list[Hit]:
    """These documents as they are now; what was deleted meanwhile is left out."""
    documents = index.documents(document_id for document_id, _ in found)
    by_kind: dict[str, list[str]] = {}
    for kind, identifier in documents.values():
        by_kind.setdefault(kind, []).append(identifier)
    shown = {
        (kind, one.id): one
        for kind, identifiers in by_kind.items()
        for one in source(kind).found(identifiers)
    }
    return [
        _hit(DocumentKind(documents[one][0]), shown[documents[one]], tier, highlighter)
        for one, tier in found
        if documents.get(one) in shown
    ]


def _hit(kind: DocumentKind, found: FoundDocument, tier: Tier, highlighter: Highlighter) -> Hit:
    return Hit(kind, found, tier, highlighter.snippet(found.body), highlighter)


def hit_json(hit: Hit) -> dict[str, Any]:
    """A hit as the API shows it."""
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
    }
