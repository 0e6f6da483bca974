"""The texts of a ticket and its comments as pages show them: one query for all their links."""

from typing import Any

from app.tickets.page_queries import Subject
from app.web.texts import laid_out

Comments = list[dict[str, Any]]


def lay_out(subject: Subject, comments: Comments, *, only_comments: bool = False) -> Comments:
    """Put ``html`` beside each body, in a unit of work; the comments again, with theirs."""
    ticket = subject.ticket
    bodies = {} if only_comments else {"h": ticket["body"]}
    for comment in comments:
        if comment["deleted_at"] is None:
            bodies |= {_name(comment, at): body for at, body in _versions(comment)}
    html = laid_out(bodies, subject.project["id"], subject.project["key"])
    if not only_comments:
        ticket["html"] = html["h"].html
    return [_with_html(comment, html) for comment in comments]


def _versions(comment: dict[str, Any]) -> list[tuple[int, str]]:
    """What the comment says, and what it said before."""
    bodies = [comment["body"], *(old["body"] for old in comment["edit_history"])]
    return list(enumerate(bodies))


def _name(comment: dict[str, Any], at: int) -> str:
    return f"c{comment['id']}-{at}"


def _with_html(comment: dict[str, Any], html: dict[str, Any]) -> dict[str, Any]:
    if comment["deleted_at"] is not None:
        return comment
    history = [
        {**old, "html": html[_name(comment, at)].html}
        for at, old in enumerate(comment["edit_history"], start=1)
    ]
    return {**comment, "html": html[_name(comment, 0)].html, "edit_history": history}
