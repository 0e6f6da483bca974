"""The index of a wiki, and the links that mean no page."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from flask import Response, request

from app.core.errors import InvalidField
from app.database.session import reading
from app.web.guard import actor
from app.web.render import go, page
from app.web.wiki_addresses import address_of, address_of_new, title_of
from app.wiki import did_you_mean, links, page_queries
from app.wiki.page_queries import INDEX_SHOWN
from app.wiki.pages.blueprint import both, pages, scope_of

SHOWN = 200


@pages.get("/wiki/broken-links")
def broken_links() -> Response:
    """Show the targets that do not exist, each with the pages that name it."""
    try:
        with reading():
            found = links.list_broken_links(
                actor(), limit=SHOWN, cursor=request.args.get("cursor") or None
            )
            keys = page_queries.keys_of(row["page"]["project_id"] for row in found.data)
            meant = did_you_mean.suggestions(
                actor(), {(row["page"]["project_id"], row["target_slug"]) for row in found.data}
            )
    except InvalidField:
        return go("/wiki/broken-links")
    return page(
        "wiki/broken_links.html",
        targets=_grouped(found.data, keys, meant),
        next_cursor=found.next_cursor,
    )


def _grouped(
    rows: list[dict[str, Any]],
    keys: dict[str | None, str],
    meant: dict[tuple[str | None, str], list[tuple[str | None, str]]],
) -> list[dict[str, Any]]:
    """One entry a target and scope: the page that would heal the links lies in that scope."""
    targets: dict[tuple[str | None, str], dict[str, Any]] = {}
    for row in rows:
        source = row["page"]
        key = keys.get(source["project_id"])
        slug = row["target_slug"]
        one = targets.setdefault(
            (key, slug),
            {
                "slug": slug,
                "key": key,
                "title": title_of(slug),
                "create": address_of_new(key, slug),
                "sources": [],
                "near": [
                    {"slug": one, "address": address_of(keys.get(home), one)}
                    for home, one in meant[source["project_id"], slug]
                ],
            },
        )
        one["sources"].append(
            {"title": source["title"], "address": address_of(key, source["slug"], source["id"])}
        )
    return sorted(targets.values(), key=lambda one: (-len(one["sources"]), one["slug"]))


# So many pages with a common beginning make a group where no page has that slug itself.
GROUP = 3


@dataclass(slots=True)
class Node:
    """A page, or a group named by the words its pages share, with what stands below it."""

    name: str
    page: Any = None
    children: list["Node"] = field(default_factory=list)


@dataclass(slots=True)
class _Branch:
    page: Any = None
    below: dict[str, "_Branch"] = field(default_factory=dict)


def grow(pages: Iterable[Any]) -> list[Node]:
    """The tree of these pages, each level by name."""
    root = _Branch()
    for row in pages:
        branch = root
        for word in row.slug.split("-"):
            branch = branch.below.setdefault(word, _Branch())
        branch.page = row
    return _level(root, "")


def _level(branch: _Branch, prefix: str) -> list[Node]:
    """What stands below a branch; a group too small to be one gives its pages to its parent."""
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


VIEWS = {"tree": "Tree", "title": "A to Z", "recent": "Recent", "orphans": "Not linked"}


@both("")
def index(key: str | None = None) -> Response:
    """Show the pages of a scope."""
    view = request.args.get("view", "tree")
    view = view if view in VIEWS else "tree"
    with reading():
        scope = scope_of(key)
        rows = list(page_queries.index(actor(), scope.id, orphans=view == "orphans"))
    if view == "recent":
        rows.sort(key=lambda row: row.updated_at, reverse=True)
    return page(
        "wiki/index.html",
        block="pages",
        project=scope.project,
        scope=scope,
        view=view,
        views=VIEWS,
        rows=rows,
        tree=grow(rows) if view == "tree" else [],
        cut=len(rows) == INDEX_SHOWN,
    )
