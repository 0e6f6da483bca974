"""The index of a scope, and the broken links of all scopes."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request

from app.core.errors import InvalidField
from app.database.session import reading
from app.web.guard import actor
from app.web.render import go, is_htmx, page, partial
from app.web.wiki_addresses import address_of, address_of_new, title_of
from app.wiki import did_you_mean, links, messages, page_queries
from app.wiki.page_queries import INDEX_SHOWN
from app.wiki.pages.blueprint import both, pages, scope_of, scope_page

VIEWS = {
    "tree": messages.TREE,
    "title": messages.A_TO_Z,
    "recent": messages.RECENT,
    "orphans": messages.NOT_LINKED,
}
# The number of pages with the same first words that form a group without a page of its own.
GROUP = 3
BROKEN_LINKS_SHOWN = 200


@both("")
def index(key: str | None = None) -> Response:
    view = request.args.get("view", "tree")
    view = view if view in VIEWS else "tree"
    with reading():
        scope = scope_of(key)
        rows = list(page_queries.index(actor(), scope.id, orphans=view == "orphans"))
    at = request.args.get("at")
    if at and is_htmx():
        # The tree beside the page that is being read.
        return partial("wiki/_pages.html", scope=scope, tree=grow(rows), at=at)
    if view == "recent":
        rows.sort(key=lambda row: row.updated_at, reverse=True)
    return scope_page(
        "wiki/index.html",
        scope,
        block="pages",
        view=view,
        views=VIEWS,
        rows=rows,
        tree=grow(rows) if view == "tree" else [],
        cut=len(rows) == INDEX_SHOWN,
    )


@dataclass(slots=True)
class Node:
    """A page, or a group named by the first words of its pages, with its children."""

    name: str
    page: Any = None
    children: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class _Branch:
    page: Any = None
    below: dict[str, "_Branch"] = field(default_factory=dict)


def grow(pages: Iterable[Any]) -> list[Node]:
    """The tree of these pages by the words of their slugs, each level sorted by name."""
    root = _Branch()
    for row in pages:
        branch = root
        for word in row.slug.split("-"):
            branch = branch.below.setdefault(word, _Branch())
        branch.page = row
    return _level(root, "")


def _level(branch: _Branch, prefix: str) -> list[Node]:
    """The nodes below a branch; the pages of a too small group move up to its parent."""
    nodes: list[Node] = []
    for word, below in branch.below.items():
        words = f"{prefix} {word}".strip()
        children = _level(below, words)
        if below.page is not None:
            nodes.append(Node(below.page.title, below.page, children))
        elif len(children) >= GROUP:
            nodes.append(Node(words.capitalize(), None, children))
        else:
            nodes += children
    return sorted(nodes, key=lambda node: node.name.lower())


@pages.get("/wiki/broken-links")
def broken_links() -> Response:
    try:
        with reading():
            broken = links.list_broken_links(
                actor(), limit=BROKEN_LINKS_SHOWN, cursor=request.args.get("cursor") or None
            )
            keys = page_queries.keys_of(row["page"]["project_id"] for row in broken.data)
            suggestions = did_you_mean.suggestions(
                actor(), {(row["page"]["project_id"], row["target_slug"]) for row in broken.data}
            )
    except InvalidField:
        return go("/wiki/broken-links")
    return page(
        "wiki/broken_links.html",
        targets=_grouped(broken.data, keys, suggestions),
        next_cursor=broken.next_cursor,
    )


def _grouped(
    rows: list[dict[str, Any]],
    keys: dict[str | None, str],
    suggestions: dict[tuple[str | None, str], list[tuple[str | None, str]]],
) -> list[dict[str, Any]]:
    """One entry for each scope and slug: creating that page repairs all links of the entry."""
    targets: dict[tuple[str | None, str], dict[str, Any]] = {}
    for row in rows:
        source = row["page"]
        key = keys.get(source["project_id"])
        slug = row["target_slug"]
        target = targets.setdefault(
            (key, slug),
            {
                "slug": slug,
                "key": key,
                "title": title_of(slug),
                "create": address_of_new(key, slug),
                "sources": [],
                "near": [
                    {"slug": close, "address": address_of(keys.get(project_id), close)}
                    for project_id, close in suggestions[source["project_id"], slug]
                ],
            },
        )
        target["sources"].append(
            {"title": source["title"], "address": address_of(key, source["slug"], source["id"])}
        )
    return sorted(targets.values(), key=lambda target: (-len(target["sources"]), target["slug"]))
