"""What the editor of a page asks while it is open: whether someone else saved meanwhile."""

from flask import Response, request

from app.core import text
from app.core.errors import Gone
from app.database.session import reading
from app.web.guard import actor
from app.web.render import partial
from app.wiki import saves
from app.wiki.pages.blueprint import both, scope_of


def _number(name: str) -> int:
    return text.whole(request.args.get(name, "")) or 0


@both("/<reference>/saved")
def saved(reference: str, key: str | None = None) -> Response:
    """Say who saved a revision after ``since``, with what changed from ``base``; 204 if nobody."""
    with reading():
        scope = scope_of(key)
        try:
            last = saves.last_save(actor(), reference, scope.id)
        except Gone:
            return partial("wiki/_saved.html", last=None, address=f"{scope.base}/{reference}")
    if last.revision_number <= _number("since"):
        return Response(status=204)
    return partial(
        "wiki/_saved.html",
        last=last,
        address=f"{scope.base}/{reference}",
        base=_number("base"),
        since=last.revision_number,
    )
