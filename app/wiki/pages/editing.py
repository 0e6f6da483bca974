"""Writing: a new page, and a new revision of one.

A save names the version that its writer saw. If someone else saved meanwhile, nothing is written:
the writer sees both texts, what changed, and a proposal that holds both (``conflict.html``).
"""

from collections.abc import Sequence
from typing import Any

from flask import Response, request

from app.core import text
from app.core.actor import Actor
from app.core.errors import Conflict, NotFound
from app.database.session import reading
from app.markdown import Html
from app.text.diff import compare
from app.text.merge3 import merge
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor
from app.web.render import go, page
from app.web.wiki_addresses import address_of, title_of
from app.wiki import page_queries, service
from app.wiki.pages import rendering
from app.wiki.pages.blueprint import (
    Scope,
    both,
    found_or_missing,
    near,
    page_of,
    scope_of,
)
from app.wiki.schemas import WikiPageCreate, WikiPagePatch
from app.wiki.slug_resolution import Found, SeenPage, namesakes


@both("/new")
def new(key: str | None = None) -> Response:
    """Ask for a new page's title and text."""
    with reading():
        scope = scope_of(key)
    form = Form()
    for name in ("title", "slug"):
        if request.args.get(name):
            form.raw.add(name, request.args[name])
    return _new(scope, form)


def _new(scope: Scope, form: Form, meant: Sequence[dict[str, str]] = ()) -> Response:
    return page(
        "wiki/new.html",
        project=scope.project,
        scope=scope,
        form=form,
        near=meant,
        preview=_preview(scope, form.value("body")),
        status=422 if form.errors else 200,
    )


def _preview(scope: Scope, body: str) -> Html:
    with reading():
        return rendering.rendered(scope, body)


@both("/new", "POST")
def create_page(key: str | None = None) -> Response:
    """Create a page and show it."""
    with reading():
        scope = scope_of(key)
    form = load_form(WikiPageCreate, project_id=scope.id)

    def work(present: Actor) -> str:
        made = service.create_page(present, **form.data)
        return address_of(scope.key, made.slug, made.id)

    target = create(form, work)
    return go(target) if target else _new(scope, form)


@both("/<reference>/edit")
def edit(reference: str, key: str | None = None) -> Response:
    """Show the editor; where there is no page, that of a new one with this slug."""
    with reading():
        scope = scope_of(key)
        found = found_or_missing(scope, namesakes(actor(), reference, key))
        meant = [] if isinstance(found, Found) else near(scope, reference)
    if isinstance(found, Found):
        return _editor(scope, found.page, Form())
    form = Form()
    form.raw.add("slug", reference)
    form.raw.add("title", title_of(reference))
    return _new(scope, form, meant)


def _editor(scope: Scope, one: SeenPage, form: Form) -> Response:
    return page(
        "wiki/edit.html",
        project=scope.project,
        scope=scope,
        page=one,
        form=form,
        etag=form.value("etag", one.etag),
        base=form.value("base", str(one.revision_number)),
        preview=_preview(scope, form.value("body", one.body)),
        status=422 if form.errors else 200,
    )


@both("/<reference>/edit", "POST")
def save(reference: str, key: str | None = None) -> Response:
    """Save a new revision, unless someone else saved one since this editor was opened."""
    with reading():
        scope = scope_of(key)
        one = page_of(scope, reference)
    form = _sent()
    if form.data.get("body") == text.unified(one.body):
        # Browsers know one kind of line break; that is no change of the text.
        del form.data["body"]
    overtaken: list[Conflict] = []

    def work(present: Actor) -> None:
        overtaken.clear()
        try:
            service.update_page(
                present, one.id, if_match=request.form.get("etag", one.etag), **form.data
            )
        except Conflict as error:
            if (error.details or {}).get("reason") == "etag_mismatch":
                overtaken.append(error)
            raise

    if submit(form, work):
        return go(scope.address(one))
    return _conflict(reference, scope, form) if overtaken else _editor(scope, one, form)


def _sent() -> Form:
    """The form; in a conflict, the writer may have chosen the text as it was first sent."""
    if request.form.get("take") != "mine":
        return load_form(WikiPagePatch, keep_empty=True)
    mine = text.unified(request.form.get("mine", ""))
    title = request.form.get("my_title", "")
    return load_form(WikiPagePatch, keep_empty=True, body=mine, title=title)


def _conflict(reference: str, scope: Scope, form: Form) -> Response:
    """Both texts, what differs, and one that holds both."""
    with reading():
        one = page_of(scope, reference)
        theirs, base = _versions(one, request.form.get("base", ""))
        mine = form.data.get("body", base["body"])
        my_title = form.data.get("title", base["title"])
        merged = merge(base["body"], mine, theirs["body"])
    return page(
        "wiki/conflict.html",
        project=scope.project,
        scope=scope,
        page=one,
        theirs=theirs,
        base=base,
        mine=mine,
        my_title=my_title,
        merged=merged,
        merged_title=theirs["title"] if my_title == base["title"] else my_title,
        summary=form.value("summary"),
        changed=compare(base["body"], theirs["body"]),
        differs=compare(theirs["body"], mine),
        status=409,
    )


def _versions(one: SeenPage, base: str) -> list[dict[str, Any]]:
    """The revision that is current, and the one that the writer began with."""
    number = text.whole(base) or 0
    try:
        return page_queries.numbered(actor(), one, one.revision_number, number)
    except NotFound:
        return page_queries.numbered(actor(), one, one.revision_number, one.revision_number)
