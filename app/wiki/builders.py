"""The JSON of wiki pages, revisions and links."""

from typing import Any

from app.accounts.builders import UserSummary
from app.core.clock import iso, iso_or_none
from app.wiki.models import WikiPage


def page_json(page: WikiPage) -> dict[str, Any]:
    return {"body": page.body, **row_json(page)}


def row_json(page: Any) -> dict[str, Any]:
    """A page without its body, as in lists."""
    return {
        **page_summary(page),
        "revision_number": page.revision_number,
        "created_by_user_id": page.created_by_user_id,
        "updated_by_user_id": page.updated_by_user_id,
        "created_at": iso(page.created_at),
        "updated_at": iso(page.updated_at),
        "deleted_at": iso_or_none(page.deleted_at),
    }


def page_summary(row: Any) -> dict[str, Any]:
    """A page as the target of a link."""
    return {"id": row.id, "slug": row.slug, "title": row.title, "project_id": row.project_id}


def revision_row_json(row: Any, author: UserSummary) -> dict[str, Any]:
    """A revision without its body, as in lists."""
    return {
        "id": row.id,
        "page_id": row.page_id,
        "revision_number": row.revision_number,
        "title": row.title,
        "summary": row.summary,
        "author_user_id": row.author_user_id,
        "author": author,
        "created_at": iso(row.created_at),
    }


def revision_json(row: Any, author: UserSummary) -> dict[str, Any]:
    return {**revision_row_json(row, author), "body": row.body}
