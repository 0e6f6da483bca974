"""Tools of relations, watchers and comments."""

from typing import Any

from app.mcp.messages import rows
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
from app.tools import naming
from app.tools.naming import COMMENT, TICKET
from app.tools.undoing import UNDO, undo

toolbox = Toolbox()

TEXT = body("body", "Markdown, 1 to 65,536 characters.")
USER = text("user", "Username, UUID or me. Bots can only name themselves.", alias="user_id")


@toolbox.tool(
    "add_ticket_relation",
    "Relate tickets",
    calls=relations.create_relation,
    hints=ADDS,
    parameters=(
        TICKET,
        choice(
            "type", RelationType, "ticket blocks, relates to or duplicates target.", required=True
        ),
        text(
            "target",
            "The other ticket: display id or UUID.",
            required=True,
            alias="target_ticket_id",
            meaning=naming.ticket_name,
        ),
        CLIENT_REQUEST_ID,
    ),
)
def add_ticket_relation(call: ToolCall) -> dict[str, Any]:
    """Relate two tickets, of any projects you see. Blocks cannot form a cycle. Returns the
    relation, whose id remove_ticket_relation takes.
    """
    _, relation = relations.create_relation(
        call.actor, call["ticket"], type=call["type"], target_ticket_id=call["target"]
    )
    return relation


@toolbox.tool(
    "remove_ticket_relation",
    "Remove relation",
    calls=relations.delete_relation,
    hints=REPLACES,
    parameters=(
        TICKET,
        text(
            "relation", "The relation's UUID, from get_ticket.", required=True, alias="relation_id"
        ),
    ),
)
def remove_ticket_relation(call: ToolCall) -> dict[str, Any]:
    """Remove a relation through either of its tickets."""
    relations.delete_relation(call.actor, call["ticket"], call["relation"])
    return {"deleted": True, "id": call["relation"]}


@toolbox.tool(
    "watch_ticket",
    "Watch ticket",
    calls=watchers.add_watcher,
    hints=ADDS_ONCE,
    parameters=(TICKET, USER, CLIENT_REQUEST_ID),
)
def watch_ticket(call: ToolCall) -> dict[str, Any]:
    """Watch a ticket yourself; watching twice is fine. Returns the watcher."""
    user_id = naming.user_id(call.actor, call["user"] or naming.ME, "user")
    _, watcher, _ = watchers.add_watcher(call.actor, call["ticket"], user_id=user_id)
    return watcher


@toolbox.tool(
    "unwatch_ticket",
    "Stop watching ticket",
    calls=watchers.remove_watcher,
    hints=REPLACES,
    parameters=(TICKET, USER),
)
def unwatch_ticket(call: ToolCall) -> dict[str, Any]:
    """Stop watching a ticket."""
    user_id = naming.user_id(call.actor, call["user"] or naming.ME, "user")
    watchers.remove_watcher(call.actor, call["ticket"], user_id)
    return {"deleted": True, "id": user_id}


@toolbox.tool(
    "list_comments",
    "List comments",
    calls=comments.list_comments,
    parameters=(TICKET, *PAGE, INCLUDE_BODY),
)
def list_comments(call: ToolCall) -> dict[str, Any]:
    """A ticket's comments, oldest first: who wrote when. Set include_body true to read them."""
    page = comments.list_comments(call.actor, call["ticket"], **call.window)
    return rows(page.envelope, with_body=bool(call["include_body"]))


@toolbox.tool(
    "add_comment",
    "Add comment",
    calls=comments.create_comment,
    hints=ADDS,
    parameters=(TICKET, needed(TEXT), *CREATE_ONCE),
)
def add_comment(call: ToolCall) -> dict[str, Any]:
    """Comment on a ticket: findings, questions, results. With a change of state, give the comment
    to transition_ticket instead.
    """
    return comments.described(
        comments.create_comment(call.actor, call["ticket"], body=call["body"])
    )


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
        return {**comments.described(comment), "undone": undone}
    if call["body"] is None:
        raise_missing("body")
    comment = comments.update_comment(call.actor, call["comment"], body=call["body"])
    return comments.described(comment)


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
