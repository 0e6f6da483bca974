"""What a page said before: its revisions, what changed between two, and bringing one back."""

from flask import Response, request

from app.core import text
from app.core.actor import Actor
from app.core.errors import NotFound
from app.database.session import reading
from app.text.diff import compare
from app.web.guard import actor, write
from app.web.render import go, page
from app.wiki import page_queries, service
from app.wiki.pages import rendering
from app.wiki.pages.blueprint import both, page_of, scope_of


def _number(value: str | None, default: int) -> int:
    """A revision number of the address; raises NotFound."""
    if not value:
        return default
    number = text.whole(value)
    if number is None:
        raise NotFound("revision", value)
    return number


@both("/<reference>/history")
def history(reference: str, key: str | None = None) -> Response:
    """Show who changed the page, when, and how they summed it up."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
        before = _number(request.args.get("before"), one.revision_number + 1)
        rows, has_older = page_queries.history(actor(), one, before=before)
    return page(
        "wiki/history.html",
        project=scope.project,
        scope=scope,
        page=one,
        rows=rows,
        has_older=has_older,
        is_first=before > one.revision_number,
    )


@both("/<reference>/history/<int:number>")
def revision(reference: str, number: int, key: str | None = None) -> Response:
    """Show the page as it was."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
        (was,) = page_queries.numbered(actor(), one, number)
        shown = rendering.rendered(scope, was["body"])
    return page(
        "wiki/revision.html",
        project=scope.project,
        scope=scope,
        page=one,
        revision=was,
        shown=shown,
        as_source=request.args.get("as") == "source",
    )


@both("/<reference>/diff")
def diff(reference: str, key: str | None = None) -> Response:
    """Show what changed between two revisions, the older first; side by side if asked for."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
        newer = _number(request.args.get("to"), one.revision_number)
        older = _number(request.args.get("from"), max(1, newer - 1))
        older, newer = sorted((older, newer))
        before, after = page_queries.numbered(actor(), one, older, newer)
    return page(
        "wiki/diff.html",
        project=scope.project,
        scope=scope,
        page=one,
        before=before,
        after=after,
        diff=compare(before["body"], after["body"]),
        view="split" if request.args.get("view") == "split" else "inline",
    )


@both("/<reference>/history/<int:number>/restore", "POST")
def restore(reference: str, number: int, key: str | None = None) -> Response:
    """Save an old revision as a new one; raises Conflict if someone saved meanwhile."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
        (was,) = page_queries.numbered(actor(), one, number)

    def work(present: Actor) -> None:
        service.update_page(
            present,
            one.id,
            if_match=request.form.get("etag"),
            title=was["title"],
            body=was["body"],
            summary=f"restore of r{number}",
        )

    write(work)
    return go(scope.address(one))
