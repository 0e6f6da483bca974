"""Creating, editing and deleting pages.

A save names the version with which the editor was opened. If the page changed since then, nothing
is written: the user sees both texts, the differences and a merge (``conflict.html``).
"""

from collections.abc import Sequence
from typing import Any

import orjson
from flask import Response, request

from app.core import text
from app.core.actor import Actor
from app.core.errors import Conflict, Gone, NotFound
from app.database.session import reading
from app.markdown import Html
from app.text.diff import compare
from app.text.merge3 import Keep, merge
from app.tickets.loaders import tickets_like
from app.web.forms import Form, create, load_form, submit
from app.web.guard import actor, write
from app.web.render import go, html, partial
from app.web.wiki_addresses import address_of, title_of
from app.wiki import links, page_queries, service
from app.wiki.pages.blueprint import (
    WikiScope,
    both,
    page_of,
    rendered,
    resolved_or_error,
    scope_and_page,
    scope_of,
    scope_page,
    similar_pages,
)
from app.wiki.schemas import WikiPageCreate, WikiPagePatch
from app.wiki.slug_resolution import DeletedPage, ResolvedPage, SeenPage, resolve_slug

MAX_TYPED_LENGTH = 100
TICKET = "ticket:"
BACKLINKS_COUNTED = 100


@both("/new")
def new(key: str | None = None) -> Response:
    with reading():
        scope = scope_of(key)
    form = Form()
    for name in ("title", "slug"):
        if request.args.get(name):
            form.raw.add(name, request.args[name])
    return _new(scope, form)


def _new(
    scope: WikiScope,
    form: Form,
    similar: Sequence[dict[str, str]] = (),
    deleted: DeletedPage | None = None,
) -> Response:
    return scope_page(
        "wiki/new.html",
        scope,
        form=form,
        near=similar,
        deleted=deleted,
        preview=_preview(scope, form.value("body")),
        status=410 if deleted else 422 if form.errors else 200,
    )


def _preview(scope: WikiScope, body: str) -> Html:
    with reading():
        return rendered(scope, body)


@both("/new", "POST")
def create_page(key: str | None = None) -> Response:
    with reading():
        scope = scope_of(key)
    form = load_form(WikiPageCreate, project_id=scope.id)

    def work(person: Actor) -> str:
        page = service.create_page(person, **form.data)
        return address_of(scope.key, page.slug, page.id)

    address = create(form, work)
    return go(address) if address else _new(scope, form)


@both("/<reference>/edit")
def edit(reference: str, key: str | None = None) -> Response:
    """Show the editor; without a page, the form for a new one with this slug."""
    with reading():
        scope = scope_of(key)
        resolved = resolved_or_error(scope, resolve_slug(actor(), reference, key))
        is_found = isinstance(resolved, ResolvedPage)
        similar = [] if is_found else similar_pages(scope, reference)
    if isinstance(resolved, ResolvedPage):
        return _editor(scope, resolved.page, Form())
    form = Form()
    form.raw.add("slug", reference)
    form.raw.add("title", title_of(reference))
    return _new(scope, form, similar)


def _editor(scope: WikiScope, page: SeenPage, form: Form) -> Response:
    return scope_page(
        "wiki/edit.html",
        scope,
        page=page,
        form=form,
        etag=form.value("etag", page.etag),
        base=form.value("base", str(page.revision_number)),
        preview=_preview(scope, form.value("body", page.body)),
        status=422 if form.errors else 200,
    )


@both("/<reference>/edit", "POST")
def save(reference: str, key: str | None = None) -> Response:
    """Save a new revision, unless the page changed after this editor was opened."""
    with reading():
        scope = scope_of(key)
    try:
        return _save(scope, reference)
    except Gone:
        with reading():
            deleted = resolve_slug(actor(), reference, key).deleted_last(scope.id)
        if deleted is None:
            raise
        return _recreate(scope, deleted, _edit_form(None))


def _save(scope: WikiScope, reference: str) -> Response:
    with reading():
        page = page_of(scope, reference)
        chosen = _chosen(page) if "merged_from" in request.form else None
    form = _edit_form(chosen)
    if request.form.get("take") == "edit":
        return _editor(scope, page, form)
    changes = dict(form.data)
    if changes.get("body") == text.normalize_newlines(page.body):
        # Browsers unify line breaks; that alone is not a change of the text.
        del changes["body"]
    conflicts: list[Conflict] = []

    def work(person: Actor) -> None:
        conflicts.clear()
        try:
            service.update_page(
                person, page.id, if_match=request.form.get("etag", page.etag), **changes
            )
        except Conflict as error:
            if (error.details or {}).get("reason") == "etag_mismatch":
                conflicts.append(error)
            raise

    if submit(form, work):
        return go(scope.address(page))
    return _conflict(reference, scope, form) if conflicts else _editor(scope, page, form)


def _recreate(scope: WikiScope, deleted: DeletedPage, form: Form) -> Response:
    """Show the submitted text in the form for a new page in the place of the deleted one."""
    # A conflict page sends the user's text apart from the merged one.
    body = form.data.get("body") or form.value("body") or form.value("mine")
    form.raw.setlist("slug", [deleted.slug])
    form.raw.setlist("body", [body])
    return _new(scope, form, deleted=deleted)


def _chosen(page: SeenPage) -> str:
    """The merge of a conflict, with the user's choice for each place that both changed."""
    mine, *numbers = (request.form.get(name, "") for name in ("mine", "base", "merged_from"))
    theirs, base = page_queries.numbered(
        actor(), page, *(text.small_int(one) or 0 for one in numbers)
    )
    merged = merge(base["body"], mine, theirs["body"])
    choices = (request.form.get(f"keep-{place + 1}") for place in range(merged.conflicts))
    return merged.resolved(Keep(one) if one in set(Keep) else Keep.BOTH for one in choices)


def _edit_form(chosen: str | None) -> Form:
    """The submitted form; after a conflict, with the chosen text or the user's own text."""
    if request.form.get("take") != "mine":
        form = load_form(
            WikiPagePatch, keep_empty=True, **({} if chosen is None else {"body": chosen})
        )
        if chosen is not None:
            form.raw.setlist("body", [chosen])
        return form
    mine = text.normalize_newlines(request.form.get("mine", ""))
    title = request.form.get("my_title", "")
    return load_form(WikiPagePatch, keep_empty=True, body=mine, title=title)


def _conflict(reference: str, scope: WikiScope, form: Form) -> Response:
    with reading():
        page = page_of(scope, reference)
        theirs, base = _versions(page, request.form.get("base", ""))
        mine = form.data.get("body", base["body"])
        my_title = form.data.get("title", base["title"])
        if (text.normalize_newlines(theirs["body"]), theirs["title"]) == (mine, my_title):
            # The same form was sent twice, or both wrote the same.
            return go(scope.address(page))
        merged = merge(base["body"], mine, theirs["body"])
    return scope_page(
        "wiki/conflict.html",
        scope,
        page=page,
        theirs=theirs,
        base=base,
        mine=mine,
        my_title=my_title,
        merged=merged,
        merged_title=theirs["title"] if my_title == base["title"] else my_title,
        has_two_titles=len({base["title"], theirs["title"], my_title}) == 3,
        summary=form.value("summary"),
        changed=compare(base["body"], theirs["body"]),
        differs=compare(theirs["body"], mine),
        status=409,
    )


def _versions(page: SeenPage, base: str) -> list[dict[str, Any]]:
    """The current revision, and the one that the editor was opened with (else the current)."""
    number = text.small_int(base) or 0
    try:
        return page_queries.numbered(actor(), page, page.revision_number, number)
    except NotFound:
        return page_queries.numbered(actor(), page, page.revision_number, page.revision_number)


@both("/<reference>/saved")
def saved(reference: str, key: str | None = None) -> Response:
    """Say who saved a revision after ``since`` and link the changes from ``base``; else 204."""
    since = text.small_int(request.args.get("since", "")) or 0
    base = text.small_int(request.args.get("base", "")) or 0
    with reading():
        scope = scope_of(key)
        address = f"{scope.base}/{reference}"
        try:
            last = page_queries.last_save(actor(), reference, scope.id)
        except Gone:
            return partial("wiki/_saved.html", last=None, address=address)
    if last.revision_number <= since:
        return Response(status=204)
    return partial(
        "wiki/_saved.html", last=last, address=address, base=base, since=last.revision_number
    )


@both("/<reference>/delete")
def confirm_delete(reference: str, key: str | None = None) -> Response:
    """Ask before deleting, and say how many links will break."""
    with reading():
        scope, page = scope_and_page(key, reference)
        backlinks = links.list_backlinks(actor(), page.id, limit=BACKLINKS_COUNTED, cursor=None)
    count = len([link for link in backlinks.data if link["id"] != page.id])
    return scope_page(
        "wiki/delete.html",
        scope,
        block="sheet",
        page=page,
        linking=f"{count}+" if backlinks.next_cursor else str(count),
    )


@both("/<reference>/delete", "POST")
def delete(reference: str, key: str | None = None) -> Response:
    with reading():
        scope, page = scope_and_page(key, reference)
    write(lambda person: service.delete_page(person, page.id, if_match=request.form.get("etag")))
    return go(scope.base)


@both("/<reference>/restore", "POST")
def restore_page(reference: str, key: str | None = None) -> Response:
    """Restore a deleted page and show it; raises Conflict if another page has its slug."""
    with reading():
        scope = scope_of(key)
    try:
        with reading():
            address = scope.address(page_of(scope, reference))
    except Gone:
        address = write(
            lambda person: scope.address(
                service.restore_page(person, reference, project_id=scope.id)
            )
        )
    return go(address)


@both("/preview", "POST")
def preview(key: str | None = None) -> Response:
    """The text of the form as HTML."""
    body = text.normalize_newlines(request.form.get("body", ""))
    with reading():
        shown = rendered(scope_of(key), body)
    return html(str(shown.html))


@both("/complete")
def complete(key: str | None = None) -> Response:
    """Completions after ``[[``: pages by slug or title, and tickets after ``ticket:``."""
    typed = request.args.get("q", "")[:MAX_TYPED_LENGTH]
    with reading():
        scope = scope_of(key)
        if typed.startswith(TICKET):
            completions = [
                {"insert": TICKET + row["display_id"], "title": row["title"], "note": "ticket"}
                for row in tickets_like(actor(), scope.id, typed[len(TICKET) :])
            ]
        else:
            completions = [
                {
                    "insert": row.slug,
                    "title": row.title,
                    "note": "" if row.project_id == scope.id else "global",
                }
                for row in page_queries.pages_like(actor(), scope.id, typed)
            ]
    return Response(
        orjson.dumps(completions),
        mimetype="application/json",
        headers={"Cache-Control": "no-store"},
    )
