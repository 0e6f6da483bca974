"""Links that mean no page, of the whole workspace."""

from typing import Any

from flask import Response, request

from app.core.errors import InvalidField
from app.database.session import reading
from app.web.guard import actor
from app.web.render import go, page
from app.web.wiki_addresses import address_of, address_of_new, title_of
from app.wiki import did_you_mean, links, page_queries
from app.wiki.pages.blueprint import pages

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
