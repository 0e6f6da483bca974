"""Deleting a page."""

from flask import Response, request

from app.database.session import reading
from app.web.guard import actor, write
from app.web.render import go, page
from app.wiki import links, service
from app.wiki.pages.blueprint import both, page_of, scope_of

COUNTED = 100


@both("/<reference>/delete")
def confirm_delete(reference: str, key: str | None = None) -> Response:
    """Ask before deleting, and say how many links will break."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
        linking = links.list_backlinks(actor(), one.id, limit=COUNTED, cursor=None)
    count = len([link for link in linking.data if link["id"] != one.id])
    return page(
        "wiki/delete.html",
        block="sheet",
        project=scope.project,
        scope=scope,
        page=one,
        linking=f"{count}+" if linking.next_cursor else str(count),
    )


@both("/<reference>/delete", "POST")
def delete(reference: str, key: str | None = None) -> Response:
    """Delete the page and go back to the index."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
    write(lambda present: service.delete_page(present, one.id, if_match=request.form.get("etag")))
    return go(scope.base)
