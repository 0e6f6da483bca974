"""The texts of a ticket and its comments as pages show them: one query for all their links."""

from typing import Any

from app.tickets.page_queries import TicketPageData
from app.web.texts import laid_out

Comments = list[dict[str, Any]]
# The name of the ticket's own text, with which the anchors of its headings begin.
BODY = "h"


def lay_out(
    subject: TicketPageData, comments: Comments, *, only_comments: bool = False
) -> Comments:
    """Put ``html`` beside each body, in a unit of work; the comments again, with theirs."""
    ticket = subject.ticket
    bodies = {} if only_comments else {BODY: ticket["body"]}
    bodies |= {_name(one): one["body"] for one in comments if one["deleted_at"] is None}
    html = laid_out(bodies, subject.project["id"], subject.project["key"])
    if not only_comments:
        ticket["html"] = html[BODY].html
    return [
        {**one, "html": html[_name(one)].html} if _name(one) in html else one for one in comments
    ]


def _name(comment: dict[str, Any]) -> str:
    return f"c{comment['id']}"
