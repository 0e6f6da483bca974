"""Writing: a new page, and a new revision of one.

A save names the version that its writer saw. If someone else saved meanwhile, nothing is written:
the writer sees both texts, what changed, and a proposal that holds both (``conflict.html``).
"""

from collections.abc import Sequence
from typing import Any

import orjson
from flask import Response, request
from sqlalchemy import ColumnElement, func, or_, select

from app.core import text
from app.core.actor import Access, Actor, operation
from app.core.errors import Conflict, Gone, NotFound
from app.core.text import unified
from app.database.session import reading, session
from app.markdown import Html
from app.text.diff import compare
from app.text.merge3 import merge
from app.tickets.loaders import tickets_like
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor, write
from app.web.render import go, html, page, partial
from app.web.wiki_addresses import address_of, title_of
from app.wiki import links, loaders, page_queries, service
from app.wiki.models import WikiPage
from app.wiki.pages import rendering
from app.wiki.pages.blueprint import (
    WikiScope,
    both,
    found_or_missing,
    near,
    page_of,
    scope_of,
)
from app.wiki.schemas import WikiPageCreate, WikiPagePatch
from app.wiki.slug_resolution import ResolvedPage, SeenPage, resolve_slug

COMPLETIONS = 8


@operation(Access.READ)
def pages_like(actor: Actor, project_id: str | None, typed: str) -> list[dict[str, Any]]:
    """Pages that a link being typed may mean: of the project and global ones, best first."""
    wanted = typed.strip().lower()
    scope: ColumnElement[bool] = WikiPage.project_id.is_(None)
    if project_id is not None:
        scope = or_(scope, WikiPage.project_id == project_id)
    statement = select(WikiPage.slug, WikiPage.title, WikiPage.project_id).where(
        scope, WikiPage.deleted_at.is_(None), loaders.seen_by(actor)
    )
    title = func.lower(WikiPage.title)
    starts = or_(
        WikiPage.slug.startswith(wanted, autoescape=True), title.startswith(wanted, autoescape=True)
    )
    if wanted:
        statement = statement.where(
            or_(
                WikiPage.slug.contains("-".join(wanted.split()), autoescape=True),
                title.contains(wanted, autoescape=True),
            )
        ).order_by(starts.desc(), title)
    else:
        statement = statement.order_by(WikiPage.updated_at.desc(), WikiPage.id)
    found: dict[str, dict[str, Any]] = {}
    # A project's page hides the global page of its slug.
    for row in session.execute(statement.limit(2 * COMPLETIONS)):
        if row.slug not in found or row.project_id is not None:
            found[row.slug] = dict(row._mapping)
    return list(found.values())[:COMPLETIONS]


LENGTH = 100
TICKET = "ticket:"


@both("/preview", "POST")
def preview(key: str | None = None) -> Response:
    """The text of the form as a page would show it."""
    with reading():
        scope = scope_of(key)
        body = unified(request.form.get("body", ""))
        shown = rendering.rendered(scope, body)
    return html(str(shown.html))


@both("/complete")
def complete(key: str | None = None) -> Response:
    """What may stand behind ``[[``: pages by slug or title, or tickets behind ``ticket:``."""
    typed = request.args.get("q", "")[:LENGTH]
    with reading():
        scope = scope_of(key)
        if typed.startswith(TICKET):
            found = [
                {"insert": TICKET + row["display_id"], "title": row["title"], "note": "ticket"}
                for row in tickets_like(actor(), scope.id, typed[len(TICKET) :])
            ]
        else:
            found = [
                {
                    "insert": row["slug"],
                    "title": row["title"],
                    "note": "" if row["project_id"] == scope.id else "global",
                }
                for row in pages_like(actor(), scope.id, typed)
            ]
    return Response(
        orjson.dumps(found), mimetype="application/json", headers={"Cache-Control": "no-store"}
    )


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


def _number(name: str) -> int:
    return text.whole(request.args.get(name, "")) or 0


@both("/<reference>/saved")
def saved(reference: str, key: str | None = None) -> Response:
    """Say who saved a revision after ``since``, with what changed from ``base``; 204 if nobody."""
    with reading():
        scope = scope_of(key)
        try:
            last = page_queries.last_save(actor(), reference, scope.id)
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


def _new(scope: WikiScope, form: Form, meant: Sequence[dict[str, str]] = ()) -> Response:
    return page(
        "wiki/new.html",
        project=scope.project,
        scope=scope,
        form=form,
        near=meant,
        preview=_preview(scope, form.value("body")),
        status=422 if form.errors else 200,
    )


def _preview(scope: WikiScope, body: str) -> Html:
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
        found = found_or_missing(scope, resolve_slug(actor(), reference, key))
        meant = [] if isinstance(found, ResolvedPage) else near(scope, reference)
    if isinstance(found, ResolvedPage):
        return _editor(scope, found.page, Form())
    form = Form()
    form.raw.add("slug", reference)
    form.raw.add("title", title_of(reference))
    return _new(scope, form, meant)


def _editor(scope: WikiScope, one: SeenPage, form: Form) -> Response:
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


def _conflict(reference: str, scope: WikiScope, form: Form) -> Response:
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
