"""The history of a page: its revisions, the diff of two, and restoring one."""

from flask import Response, request

from app.core import text
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import reading
from app.text.diff import compare
from app.web.guard import actor, write
from app.web.render import go
from app.wiki import messages, page_queries, service
from app.wiki.pages.blueprint import both, rendered, scope_and_page, scope_page


def _number(name: str, default: int) -> int:
    """A revision number of the query string; raises NotFound."""
    value = request.args.get(name)
    if not value:
        return default
    number = text.small_int(value)
    if number is None:
        raise NotFound("revision", value)
    return number


@both("/<reference>/history")
def history(reference: str, key: str | None = None) -> Response:
    with reading():
        scope, page = scope_and_page(key, reference)
        before = _number("before", page.revision_number + 1)
        rows, has_older = page_queries.history(actor(), page, before=before)
    return scope_page(
        "wiki/history.html",
        scope,
        page=page,
        rows=rows,
        has_older=has_older,
        is_first=before > page.revision_number,
    )


@both("/<reference>/history/<int:number>")
def revision(reference: str, number: int, key: str | None = None) -> Response:
    with reading():
        scope, page = scope_and_page(key, reference)
        (row,) = page_queries.numbered(actor(), page, number)
        shown = rendered(scope, row["body"])
    return scope_page(
        "wiki/revision.html",
        scope,
        page=page,
        revision=row,
        shown=shown,
        as_source=request.args.get("as") == "source",
    )


@both("/<reference>/diff")
def diff(reference: str, key: str | None = None) -> Response:
    """Show the changes from the older revision to the newer, in whichever order they are named."""
    with reading():
        scope, page = scope_and_page(key, reference)
        newer = _number("to", page.revision_number)
        older = _number("from", max(1, newer - 1))
        older, newer = sorted((older, newer))
        before, after = page_queries.numbered(actor(), page, older, newer)
    return scope_page(
        "wiki/diff.html",
        scope,
        page=page,
        before=before,
        after=after,
        diff=compare(before["body"], after["body"]),
        view="split" if request.args.get("view") == "split" else "inline",
    )


@both("/<reference>/history/<int:number>/restore", "POST")
def restore(reference: str, number: int, key: str | None = None) -> Response:
    """Save an old revision as a new one; raises Conflict if the page changed meanwhile."""
    with reading():
        scope, page = scope_and_page(key, reference)
        (row,) = page_queries.numbered(actor(), page, number)

    def work(person: Actor) -> None:
        service.update_page(
            person,
            page.id,
            if_match=request.form.get("etag"),
            title=row["title"],
            body=row["body"],
            summary=messages.restored_revision(number),
        )

    write(work)
    return go(scope.address(page))
