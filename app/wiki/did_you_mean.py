"""Suggestions for a slug that no page has.

Slugs are compared by the trigrams of their words, so the order of words does not matter. Short
words have few trigrams and one typo changes most of them, so the letters count as well.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Set
from dataclasses import dataclass
from difflib import SequenceMatcher

from sqlalchemy import ColumnElement, select, union_all

from app.core.actor import Access, Actor, operation
from app.database.session import AnySelect, session
from app.web.wiki_addresses import TAKEN
from app.wiki.models import WikiPage

# The first slugs of a scope by name; a suggestion beyond them is missed.
MAX_CANDIDATES = 2000
MAX_SUGGESTIONS = 3
# A trigram of more slugs than this is costly and says little.
COMMON = 200
SHORTLIST = 8
# The share of common trigrams, or of common letters, that makes two slugs similar.
MIN_TRIGRAM_SIMILARITY = 0.3
MIN_LETTER_SIMILARITY = 0.75


@dataclass(frozen=True, slots=True)
class KnownSlugs:
    """Slugs, and for each trigram the positions of the slugs that have it."""

    slugs: tuple[str, ...]
    holders: dict[str, list[int]]


def known_slugs(slugs: Iterable[str]) -> KnownSlugs:
    """The slugs, prepared for any number of comparisons."""
    unique = tuple(dict.fromkeys(slugs))
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for position, slug in enumerate(unique):
        for trigram in _trigrams(slug):
            holders[trigram].append(position)
    return KnownSlugs(unique, dict(holders))


def closest_slugs(candidates: KnownSlugs, slug: str) -> list[str]:
    """The most similar slugs, best first; empty if none is similar."""
    trigrams = _trigrams(slug)
    shared: Counter[int] = Counter()
    for trigram in trigrams:
        holders = candidates.holders.get(trigram, [])
        if len(holders) <= COMMON:
            shared.update(holders)
    matcher = SequenceMatcher(b=slug, autojunk=False)
    scored: list[tuple[float, str]] = []
    for position, _ in shared.most_common(SHORTLIST):
        other = candidates.slugs[position]
        other_trigrams = _trigrams(other)
        by_trigrams = len(trigrams & other_trigrams) / len(trigrams | other_trigrams)
        matcher.set_seq1(other)
        by_letters = matcher.ratio()
        if other != slug and (
            by_trigrams >= MIN_TRIGRAM_SIMILARITY or by_letters >= MIN_LETTER_SIMILARITY
        ):
            scored.append((-by_trigrams - by_letters, other))
    return [other for _, other in sorted(scored)[:MAX_SUGGESTIONS]]


def _trigrams(slug: str) -> set[str]:
    """The trigrams of the words; padding gives the start of a word more weight."""
    padded = (f"  {word} " for word in slug.split("-"))
    return {word[start : start + 3] for word in padded for start in range(len(word) - 2)}


@operation(Access.READ)
def suggestions(
    actor: Actor, missing: Iterable[tuple[str | None, str]]
) -> dict[tuple[str | None, str], list[tuple[str | None, str]]]:
    """For each missing (scope, slug), the (scope, slug) of similar existing pages.

    A scope is the id of a project, or None for the global one. Links of a project reach its own
    pages and the global ones.
    """
    missing = list(missing)
    by_scope = _slugs_of({scope for scope, _ in missing if scope and actor.sees_project(scope)})
    known = {scope: known_slugs([*slugs, *by_scope[None]]) for scope, slugs in by_scope.items()}
    own = {scope: set(slugs) for scope, slugs in by_scope.items()}
    return {
        (scope, slug): [
            (scope if close in own[scope] else None, close)
            for close in closest_slugs(known[scope], slug)
        ]
        for scope, slug in missing
        if scope in known
    }


def _slugs_of(project_ids: Set[str]) -> dict[str | None, list[str]]:
    """The slugs of the global scope and of these projects, in one statement."""
    slugs: dict[str | None, list[str]] = {None: []} | {scope: [] for scope in project_ids}
    parts = [_live(WikiPage.project_id.is_(None))]
    if project_ids:
        parts.append(_live(WikiPage.project_id.in_(sorted(project_ids))))
    for project_id, slug in session.execute(
        union_all(*(select(part.subquery()) for part in parts))
    ):
        # The address of such a page needs its id, which is not known here.
        if slug not in TAKEN:
            slugs[project_id].append(slug)
    return slugs


def _live(scope: ColumnElement[bool]) -> AnySelect:
    return (
        select(WikiPage.project_id, WikiPage.slug)
        .where(scope, WikiPage.deleted_at.is_(None))
        .order_by(WikiPage.slug)
        .limit(MAX_CANDIDATES)
    )
