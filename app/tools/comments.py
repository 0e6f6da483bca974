"""Tools of comments."""

from typing import Any

from app.mcp.parameters import CLIENT_REQUEST_ID, IDEMPOTENCY_KEY, INCLUDE_BODY, PAGE, body
from app.mcp.registry import ADDS, REPLACES, Toolbox, ToolCall
from app.tickets import comments
from app.tools.fields import COMMENT, TICKET
from app.tools.projects import rows

toolbox = Toolbox()

TEXT = body("body", "Markdown, 1 to 65,536 characters.", required=True)


@toolbox.tool(
    "list_comments",
    "List comments",
    calls=comments.list_comments,
    parameters=(TICKET, *PAGE, INCLUDE_BODY),
)
def list_comments(call: ToolCall) -> dict[str, Any]:
    """A ticket's comments, oldest first: who wrote when. Set include_body true to read them."""
    page = comments.list_comments(
        call.actor, call["ticket"], limit=call["limit"], cursor=call["cursor"]
    )
    return rows(page.envelope, with_body=bool(call["include_body"]))


@toolbox.tool(
    "add_comment",
    "Add comment",
    calls=comments.create_comment,
    hints=ADDS,
    keyed=True,
    parameters=(TICKET, TEXT, IDEMPOTENCY_KEY, CLIENT_REQUEST_ID),
)
def add_comment(call: ToolCall) -> dict[str, Any]:
    """Comment on a ticket: findings, questions, results. With a change of state, give the comment
    to transition_ticket instead.
    """
    comment = comments.create_comment(call.actor, call["ticket"], body=call["body"])
    return comments.described(comment)


@toolbox.tool(
    "update_comment",
    "Edit comment",
    calls=comments.update_comment,
    hints=REPLACES,
    parameters=(COMMENT, TEXT),
)
def update_comment(call: ToolCall) -> dict[str, Any]:
    """Replace the text of a comment of your own; the old text stays in its edit_history."""
    comment = comments.update_comment(call.actor, call["comment"], body=call["body"])
    return comments.described(comment)


@toolbox.tool(
    "delete_comment",
    "Delete comment",
    calls=comments.delete_comment,
    hints=REPLACES,
    parameters=(COMMENT,),
)
def delete_comment(call: ToolCall) -> dict[str, Any]:
    """Delete a comment of your own."""
    comments.delete_comment(call.actor, call["comment"])
    return {"deleted": True, "id": call["comment"]}
