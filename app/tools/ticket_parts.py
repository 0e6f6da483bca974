"""Tools of relations, watchers and comments."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate
from typing import Any

from app.core.text import BODY_LENGTH
from app.database.pagination import Page
from app.inbox.unread import begin_reading
from app.mcp.jsonrpc import rows
from app.mcp.parameters import (
    CLIENT_REQUEST_ID,
    CREATE_ONCE,
    INCLUDE_BODY,
    PAGE,
    body,
    choice,
    needed,
    raise_missing,
    text,
)
from app.mcp.registry import ADDS, ADDS_ONCE, REPLACES, Toolbox, ToolCall
from app.tickets import comments, loaders, relations, watchers
from app.tickets.models import RelationType
from app.tools import lean, naming
from app.tools.naming import COMMENT, NUMBERED
from app.tools.reading import keep
from app.tools.undoing import UNDO, undo

toolbox = Toolbox()

TEXT = body("body", "Markdown.")
# Bots can only name themselves.
USER = text("user", "Username or me.", alias="user_id", hidden=True)
# Of the texts on a page of comments; the first is always whole.
MAX_CHARACTERS = BODY_LENGTH // 2


@toolbox.tool(
    "add_ticket_relation",
    "Relate tickets",
    calls=relations.create_relation,
    hints=ADDS,
    parameters=(
        *NUMBERED,
        choice("type", RelationType, "What ticket does to target.", required=True),
        text(
            "target",
            "The other ticket.",
            required=True,
            alias="target_ticket_id",
            meaning=naming.ticket_name,
        ),
        CLIENT_REQUEST_ID,
    ),
)
def add_ticket_relation(call: ToolCall) -> dict[str, Any]:
    """Relate two tickets, of any projects you see. Blocks cannot form a cycle."""
    target = naming.numbered(call["target"], naming.key_beside(call, writing=True))
    _, relation = relations.create_relation(
        call.actor, naming.ticket(call, writing=True), type=call["type"], target_ticket_id=target
    )
    return relation


@toolbox.tool(
    "remove_ticket_relation",
    "Remove relation",
    calls=relations.delete_relation,
    hints=REPLACES,
    parameters=(
        *NUMBERED,
        text("relation", "Its id.", required=True, alias="relation_id"),
    ),
)
def remove_ticket_relation(call: ToolCall) -> dict[str, Any]:
    """Remove a relation through either of its tickets."""
    relations.delete_relation(call.actor, naming.ticket(call, writing=True), call["relation"])
    return {"deleted": True, "id": call["relation"]}


@toolbox.tool(
    "watch_ticket",
    "Watch ticket",
    calls=watchers.add_watcher,
    hints=ADDS_ONCE,
    parameters=(*NUMBERED, USER, CLIENT_REQUEST_ID),
)
def watch_ticket(call: ToolCall) -> dict[str, Any]:
    """Watch a ticket yourself; watching twice is fine."""
    user_id = naming.user_id(call.actor, call["user"] or naming.ME, "user")
    _, watcher, _ = watchers.add_watcher(
        call.actor, naming.ticket(call, writing=True), user_id=user_id
    )
    return watcher


@toolbox.tool(
    "unwatch_ticket",
    "Stop watching ticket",
    calls=watchers.remove_watcher,
    hints=REPLACES,
    parameters=(*NUMBERED, USER),
)
def unwatch_ticket(call: ToolCall) -> dict[str, Any]:
    """Stop watching a ticket."""
    user_id = naming.user_id(call.actor, call["user"] or naming.ME, "user")
    watchers.remove_watcher(call.actor, naming.ticket(call, writing=True), user_id)
    return {"deleted": True, "id": user_id}


@toolbox.tool(
    "list_comments",
    "List comments",
    calls=comments.list_comments,
    parameters=(*NUMBERED, *PAGE, replace(INCLUDE_BODY, hidden=True)),
    shorten=lean.comment_rows,
)
def list_comments(call: ToolCall) -> dict[str, Any]:
    """A ticket's comments, oldest first. Long texts make a page shorter."""
    ticket = loaders.visible(call.actor, naming.ticket(call))
    reading = begin_reading(call.actor, ticket.id)
    page = _comments(call, ticket.id, call["limit"])
    if call["include_body"] is False:
        return rows(page.collection)
    lengths = accumulate(sum(map(len, _texts(row))) for row in page.data)
    fitting = max(1, sum(length <= MAX_CHARACTERS for length in lengths))
    if fitting < len(page.data):
        page = _comments(call, ticket.id, fitting)
    keep(call.log_writes, reading, comments=page.data, are_all=page.next_cursor is None)
    return rows(page.collection, with_body=True)


def _comments(call: ToolCall, ticket_id: str, limit: int) -> Page:
    page = comments.list_comments(call.actor, ticket_id, limit=limit, cursor=call["cursor"])
    if not call["include_body"]:
        for row in page.data:
            del row["edit_history"]
    return page


def _texts(comment: dict[str, Any]) -> Iterator[str]:
    yield comment["body"]
    for old in comment.get("edit_history", ()):
        yield old["body"]


@toolbox.tool(
    "add_comment",
    "Add comment",
    calls=comments.create_comment,
    hints=ADDS,
    parameters=(*NUMBERED, needed(TEXT), *CREATE_ONCE),
)
def add_comment(call: ToolCall) -> dict[str, Any]:
    """Comment on a ticket: findings, questions, results. With a change of state, give the comment
    to transition_ticket instead.
    """
    named = naming.ticket(call, writing=True)
    comment = comments.create_comment(call.actor, named, body=call["body"])
    return comments.described(call.actor, comment, is_new=True)


@toolbox.tool(
    "update_comment",
    "Edit comment",
    calls=comments.update_comment,
    hints=REPLACES,
    parameters=(COMMENT, TEXT, UNDO),
    events_of="comment",
)
def update_comment(call: ToolCall) -> dict[str, Any]:
    """Replace the text of a comment of your own; the old text stays in its edit_history."""
    if call["undo"] is not None:
        comment, _ = loaders.writable_comment(call.actor, call["comment"], include_deleted=True)
        undone = undo(call, "comment", comment.id)
        return {**comments.described(call.actor, comment), "undone": undone}
    if call["body"] is None:
        raise_missing("body")
    comment = comments.update_comment(call.actor, call["comment"], body=call["body"])
    return comments.described(call.actor, comment)


@toolbox.tool(
    "delete_comment",
    "Delete comment",
    calls=comments.delete_comment,
    hints=REPLACES,
    parameters=(COMMENT,),
    events_of="comment",
)
def delete_comment(call: ToolCall) -> dict[str, Any]:
    """Delete a comment of your own; update_comment with undo restores it."""
    comments.delete_comment(call.actor, call["comment"])
    return {"deleted": True, "id": call["comment"]}
