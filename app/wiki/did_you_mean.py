"""Slugs that were probably meant by one that no page has.

Slugs are compared by the trigrams of their words, so the order of the words does not matter and one
wrong letter costs three trigrams of many; of short words too little is left then, so letters in
their order count as well.
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

# Slugs that are compared, the first by name: beyond, a suggestion can be missed.
COMPARED = 2000
SUGGESTED = 3
# A trigram that more slugs have tells little, and would cost much.
COMMON = 200
SHORTLIST = 8
# The share of trigrams, or of letters, from which on two slugs are alike.
TRIGRAMS_ALIKE = 0.3
LETTERS_ALIKE = 0.75


@dataclass(frozen=True, slots=True)
class KnownSlugs:
    """Slugs, and which of them have a trigram."""

    slugs: tuple[str, ...]
    holders: dict[str, list[int]]


def known_slugs(slugs: Iterable[str]) -> KnownSlugs:
    """Slugs made ready for being compared with several others."""
    kept = tuple(dict.fromkeys(slugs))
    holders: defaultdict[str, list[int]] = defaultdict(list)
    for at, slug in enumerate(kept):
        for one in _trigrams(slug):
            holders[one].append(at)
    return KnownSlugs(kept, dict(holders))


def closest_slugs(candidates: KnownSlugs, slug: str) -> list[str]:
    """The slugs that resemble this one, the likeliest first; none if none does."""
    wanted = _trigrams(slug)
    shared: Counter[int] = Counter()
    for one in wanted:
        holders = candidates.holders.get(one, [])
        if len(holders) <= COMMON:
            shared.update(holders)
    letters = SequenceMatcher(b=slug, autojunk=False)
    found: list[tuple[float, str]] = []
    for at, _ in shared.most_common(SHORTLIST):
        other = candidates.slugs[at]
        theirs = _trigrams(other)
        in_trigrams = len(wanted & theirs) / len(wanted | theirs)
        letters.set_seq1(other)
        in_letters = letters.ratio()
        if other != slug and (in_trigrams >= TRIGRAMS_ALIKE or in_letters >= LETTERS_ALIKE):
            found.append((-in_trigrams - in_letters, other))
    return [other for _, other in sorted(found)[:SUGGESTED]]


def _trigrams(slug: str) -> set[str]:
    """Three letters each of the words; a word's beginning counts twice."""
    padded = (f"  {word} " for word in slug.split("-"))
    return {word[at : at + 3] for word in padded for at in range(len(word) - 2)}


@operation(Access.READ)
def suggestions(
    actor: Actor, missing: Iterable[tuple[str | None, str]]
) -> dict[tuple[str | None, str], list[tuple[str | None, str]]]:
    """For missing slugs of scopes, the pages that may have been meant, as scope and slug each.

    A scope is the id of a project, or None for the global one. A link of a project means its own
    pages and the global ones.
    """
    asked = list(missing)
    own = _slugs_of({scope for scope, _ in asked if scope and actor.sees_project(scope)})
    ready = {scope: known_slugs([*slugs, *own[None]]) for scope, slugs in own.items()}
    mine = {scope: set(slugs) for scope, slugs in own.items()}
    return {
        (scope, slug): [
            (scope if one in mine[scope] else None, one)
            for one in closest_slugs(ready[scope], slug)
        ]
        for scope, slug in asked
        if scope in ready
    }


def _slugs_of(project_ids: Set[str]) -> dict[str | None, list[str]]:
    """The slugs of the global scope and of these projects, in one statement."""
    found: dict[str | None, list[str]] = {None: []} | {one: [] for one in project_ids}
    parts = [_live(WikiPage.project_id.is_(None))]
    if project_ids:
        parts.append(_live(WikiPage.project_id.in_(sorted(project_ids))))
    every = union_all(*(select(part.subquery()) for part in parts))
    for project_id, slug in session.execute(every):
        # A page whose name is an address of ours has another, which its name does not tell.
        if slug not in TAKEN:
            found[project_id].append(slug)
    return found


def _live(scope: ColumnElement[bool]) -> AnySelect:
    return (
        select(WikiPage.project_id, WikiPage.slug)
        .where(scope, WikiPage.deleted_at.is_(None))
        .order_by(WikiPage.slug)
        .limit(COMPARED)
    )
