"""The index of a wiki: as a tree, by title, by last change, or pages nobody links to."""

from flask import Response, request

from app.database.session import reading
from app.web.guard import actor
from app.web.render import page
from app.wiki import page_queries
from app.wiki.page_queries import INDEX_SHOWN
from app.wiki.pages.blueprint import both, scope_of
from app.wiki.pages.tree import grow

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
