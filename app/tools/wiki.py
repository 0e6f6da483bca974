"""Tools of the wiki."""

from dataclasses import replace
from functools import partial
from typing import Any

from sqlalchemy import select

from app.accounts.bot_reads import page_seen, store, store_part
from app.core.actor import Actor
from app.core.errors import InvalidField
from app.core.ids import as_uuid
from app.database.session import session
from app.mcp.jsonrpc import rows
from app.mcp.parameters import (
    CREATE_ONCE,
    EDITS,
    IF_MATCH,
    INCLUDE_BODY,
    PAGE,
    body,
    integer,
    line,
    text,
)
from app.mcp.registry import ADDS, REPLACES, Toolbox, ToolCall
from app.tools import files, messages, naming
from app.tools.naming import APPEND, PAGE_NAME, SCOPE
from app.tools.reading import keep_page, note_seen
from app.tools.texts import changed_body, windowed
from app.tools.undoing import UNDO, undo
from app.wiki import links, loaders, service
from app.wiki.builders import page_json
from app.wiki.loaders import GLOBAL
from app.wiki.models import WikiPage, WikiRevision

toolbox = Toolbox()

ALL_BACKLINKS = 200
MARKDOWN = "Markdown; [[slug]] and [[ticket:OPS-12]] are links."

# Few need many texts at once.
TEXTS = replace(INCLUDE_BODY, hidden=True)


def _json(page: WikiPage) -> dict[str, Any]:
    return {**page_json(page), "etag": page.etag}


def _saved(page: WikiPage) -> dict[str, Any]:
    return {**service.saved_json(page), "etag": page.etag}


def _scope(actor: Actor, reference: str | None) -> str | None:
    """The id of the project to look for a page in, ``null`` for global pages, None for all."""
    if reference is None or reference.lower() in (GLOBAL, "global"):
        return reference and GLOBAL
    return naming.project_id(actor, reference)


def _page(call: ToolCall) -> WikiPage:
    scope = _scope(call.actor, call["project"])
    named = naming.page(call.actor, call["page"], scope)
    return service.get_page(call.actor, named, project_id=scope)


def _page_id(call: ToolCall) -> str:
    """The id of the page to change; a slug is looked up among the pages that the bot sees."""
    identifier = as_uuid(call["page"])
    if identifier is not None:
        return identifier
    reference = call["project"]
    if reference is not None and reference.lower() not in (GLOBAL, "global"):
        naming.project(call.actor, reference, writing=True)
    scope = _scope(call.actor, reference)
    is_undo = call["undo"] is not None
    return loaders.visible(call.actor, call["page"], project_id=scope, include_deleted=is_undo).id


@toolbox.tool(
    "list_wiki_pages",
    "List wiki pages",
    calls=service.list_pages,
    parameters=(
        text("project", "Key, or global for pages of none.", alias="project_id"),
        *PAGE,
        TEXTS,
    ),
)
def list_wiki_pages(call: ToolCall) -> dict[str, Any]:
    """Wiki pages you can see, newest first, without their texts. search finds pages by words."""
    scope = _scope(call.actor, call["project"])
    page = service.list_pages(call.actor, project_id=scope, **call.window)
    return _rows(call, page.collection, WikiPage)


def _rows(
    call: ToolCall, collection: dict[str, Any], model: type[WikiPage] | type[WikiRevision]
) -> dict[str, Any]:
    """The rows, with ``include_body`` also the texts that REST's lists leave out."""
    if not call["include_body"]:
        return rows(collection)
    row_ids = [row["id"] for row in collection["data"]]
    texts = session.execute(select(model.id, model.body).where(model.id.in_(row_ids)))
    bodies = {row.id: row.body for row in texts}
    seen = [
        one
        for row in collection["data"]
        for one in page_seen(row.get("page_id", row["id"]), row["revision_number"])
    ]
    note_seen(call.actor, seen)
    filled = [{**row, "body": bodies.get(row["id"], "")} for row in collection["data"]]
    return rows({**collection, "data": filled}, with_body=True)


@toolbox.tool(
    "get_wiki_page",
    "Get wiki page",
    calls=service.get_page,
    parameters=(
        PAGE_NAME,
        SCOPE,
        integer("revision", "Number of an old one."),
        integer("body_offset", "next_body_offset."),
        integer("body_limit", "Default: 65536."),
    ),
)
def get_wiki_page(call: ToolCall) -> dict[str, Any]:
    """One page with its Markdown text, backlinks (pages that link to it) and etag."""
    page = _page(call)
    shown = _json(page)
    if call["revision"] is not None:
        shown = service.get_numbered_revision(call.actor, page.id, call["revision"])
    backlinks = links.list_backlinks(call.actor, page.id, limit=ALL_BACKLINKS, cursor=None)
    offset, length = call["body_offset"] or 0, call["body_limit"]
    for name, value in (("body_offset", offset), ("body_limit", length)):
        if value is not None and value < (name == "body_limit"):
            raise InvalidField(name, "out_of_range")
    answer = windowed(shown, offset, length)
    end = offset + len(answer["body"])
    part = (offset, end, len(shown["body"]))
    call.log_writes.append(
        partial(store_part, call.actor.id, page.id, shown["revision_number"], part)
        if part[0] or end < part[2]
        else partial(store, call.actor.id, *page_seen(page.id, shown["revision_number"]))
    )
    return {**answer, "backlinks": backlinks.data, "files": files.of_page(page.id)}


@toolbox.tool(
    "create_wiki_page",
    "Create wiki page",
    calls=service.create_page,
    hints=ADDS,
    parameters=(
        line("title", "One line.", required=True),
        text("slug", "Default: from the title."),
        body("body", MARKDOWN),
        text(
            "project",
            "Key; without it, the page is global.",
            alias="project_id",
        ),
        *CREATE_ONCE,
    ),
)
def create_wiki_page(call: ToolCall) -> dict[str, Any]:
    """Create a wiki page. Search first: update_wiki_page extends an existing one."""
    fields = {name: call[name] for name in ("title", "slug", "body") if call[name] is not None}
    project = call["project"]
    if project is not None and project.lower() != GLOBAL:
        fields["project_id"] = naming.project(call.actor, project, writing=True, in_body=True).id
    page = service.create_page(call.actor, **fields)
    keep_page(call.log_writes, call.actor, page)
    answer = {**service.created_json(page, fields.get("slug")), "etag": page.etag}
    if "taken_slug" in answer:
        taken = answer["taken_slug"]
        answer["note"] = messages.slug_differs(taken, page.slug)
    return answer


@toolbox.tool(
    "update_wiki_page",
    "Update wiki page",
    calls=service.update_page,
    hints=REPLACES,
    parameters=(
        PAGE_NAME,
        SCOPE,
        line("title", "One line."),
        body("body", "REPLACES the whole text."),
        APPEND,
        EDITS,
        text("summary", "What changed, for the history."),
        IF_MATCH,
        UNDO,
    ),
    events_of="wiki",
    elsewhere={"slug": "create_wiki_page (a slug cannot change)"},
)
def update_wiki_page(call: ToolCall) -> dict[str, Any]:
    """Save a page as a new revision; prefer append or edits to body. Old revisions are kept."""
    page_id = _page_id(call)
    if call["undo"] is not None:
        page = loaders.writable(call.actor, page_id, include_deleted=True)
        undone = undo(call, "wiki", page.id)
        return {**_saved(page), "undone": undone}
    page = loaders.writable(call.actor, page_id)
    fields = {name: call[name] for name in ("title", "summary") if call[name] is not None}
    new_body = changed_body(call.arguments, page.body)
    if new_body is not None:
        fields["body"] = new_body
    changed = service.update_page(call.actor, page.id, if_match=call["if_match"], **fields)
    return _saved(changed)


@toolbox.tool(
    "delete_wiki_page",
    "Delete wiki page",
    calls=service.delete_page,
    hints=REPLACES,
    parameters=(PAGE_NAME, SCOPE, IF_MATCH),
    events_of="wiki",
)
def delete_wiki_page(call: ToolCall) -> dict[str, Any]:
    """Delete a page; links to it break. update_wiki_page with undo restores it."""
    page_id = _page_id(call)
    service.delete_page(call.actor, page_id, if_match=call["if_match"])
    return {"deleted": True, "id": page_id}


@toolbox.tool(
    "list_wiki_revisions",
    "List wiki revisions",
    calls=service.list_revisions,
    parameters=(PAGE_NAME, SCOPE, *PAGE, TEXTS),
)
def list_wiki_revisions(call: ToolCall) -> dict[str, Any]:
    """The saved versions of a page, newest first: who, when and why."""
    page = _page(call)
    revisions = service.list_revisions(call.actor, page.id, **call.window)
    return _rows(call, revisions.collection, WikiRevision)
