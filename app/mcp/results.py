"""The result of a tool call: the same JSON twice, since clients show their model only one form."""

from collections.abc import Mapping, Sequence
from typing import Any

import orjson

from app.core.errors import DomainError, NotFound, OutsideAllowlist, ReadOnlyBot, RequestInvalid
from app.mcp.parameters import Parameter

# What an agent can do about a refusal, by the kind of thing that was not found.
_FIND = {
    "ticket": "Find tickets with search or list_tickets.",
    "project": "list_projects shows the projects you can use.",
    "wiki_page": "Find pages with search or list_wiki_pages.",
    "comment": "list_comments shows the comments of a ticket.",
    "sticky_note": "list_sticky_notes shows the notes of a project.",
    "relation": "get_ticket shows a ticket's relations.",
    "watcher": "get_ticket shows who watches a ticket.",
}


def result(structured: dict[str, Any], *, is_error: bool = False) -> dict[str, Any]:
    """A call's result, complete in both of its forms; the same bytes make both."""
    written = orjson.dumps(structured)
    return {
        "content": [{"type": "text", "text": written.decode()}],
        "structuredContent": orjson.Fragment(written),
        "isError": is_error,
    }


def refusal(error: DomainError, parameters: Mapping[str, Parameter]) -> dict[str, Any]:
    """The structured form of a refusal, in the words of the tool, and what to do about it."""
    message, details = error.message, dict(error.details or {})
    if isinstance(error, RequestInvalid):
        message = " ".join(f"{one['loc'][-1]}: {one['msg']}" for one in error.errors)
    names = {one.also: name for name, one in parameters.items() if one.also}
    named = names.get(str(details.get("field")))
    if named is not None:
        message = message.replace(details["field"], named)
        details["field"] = named
    body: dict[str, Any] = {"code": error.code, "message": f"{message}{_advice(error)}"}
    if error.details is not None:
        body["details"] = details
    return {"error": body}


def _advice(error: DomainError) -> str:
    if isinstance(error, NotFound) and error.details:
        advice = _FIND.get(error.details["resource"], "")
        return f" {advice}" if advice else ""
    if isinstance(error, OutsideAllowlist):
        return " list_projects shows the projects you can use."
    if isinstance(error, ReadOnlyBot) and not error.is_paused:
        return " A person can change that on the page of bots."
    return ""


_LONG = ("body", "edit_history")


def slim(
    row: dict[str, Any], *, with_body: bool, may_be_empty: Sequence[str] | None = None
) -> dict[str, Any]:
    """A row of a list, made for it, without empty fields and, unless wanted, long texts.

    Where only some fields can be empty, the others need not be looked at.
    """
    for name in list(row) if may_be_empty is None else may_be_empty:
        if row[name] is None:
            del row[name]
    if not with_body:
        for name in _LONG:
            row.pop(name, None)
    return row
