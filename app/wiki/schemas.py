"""Shapes of wiki pages, revisions and links in requests and answers."""

from typing import Any

from marshmallow import Schema

from app.accounts.schemas import UserSummaryOut
from app.rest import examples
from app.rest.examples import Nested, TimestampOut, like
from app.rest.fields import (
    CreateSchema,
    DeletedPageQuery,
    DeletedQuery,
    Identifier,
    Items,
    StrictSchema,
    Text,
    Whole,
)

WORDS = "Each host renews its own; see [[hosts]]."
TITLE = like("Certificates", "On one line.", minLength=1, maxLength=200)
BODY = like(WORDS, "Markdown, kept exactly as sent.", maxLength=1048576)
SLUG = like("certificates", pattern="^[a-z0-9]+(-[a-z0-9]+)*$", maxLength=128)


class ScopeField(Text):
    """A project's id, or ``null`` for global pages."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        return value if value == "null" else UUID._deserialize(value, attr, data, **kwargs)


UUID = Identifier()
SCOPE = ScopeField(
    load_default=None,
    metadata={
        "description": "A project's id, or `null` for global pages.",
        "anyOf": [{"type": "string", "format": "uuid"}, {"type": "string", "const": "null"}],
    },
)


class WikiPageRowOut(Schema):
    """A page as lists show it: without its body."""

    id = Identifier(required=True, metadata=like(examples.PAGE))
    slug = Text(required=True, metadata=SLUG)
    title = Text(required=True, metadata=like("Certificates"))
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))
    revision_number = Whole(required=True, metadata=like(1))
    created_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    updated_by_user_id = Identifier(required=True, metadata=like(examples.ADA))
    created_at = TimestampOut(required=True)
    updated_at = TimestampOut(required=True)
    deleted_at = TimestampOut(required=True, allow_none=True)


class WikiPageOut(WikiPageRowOut):
    """A wiki page."""

    body = Text(required=True, metadata=like(WORDS))
    broken_links = Items(
        Text(),
        metadata={
            "description": "In the answer to a create or a change, if there are any: the slugs in "
            "its links that mean no page, 50 at most."
        },
    )
    taken_slug = Text(
        metadata={
            "description": "In the answer to a create: the slug that the title gives, if another "
            "page has it and `slug` therefore differs."
        }
    )


class WikiPageCreate(CreateSchema):
    """A new page."""

    title = Text(required=True, metadata=TITLE)
    slug = Text(metadata={**SLUG, "description": "Generated from the title by default."})
    body = Text(metadata=BODY)
    project_id = Identifier(
        allow_none=True, metadata=like(examples.PROJECT, "Null: a global page.")
    )


class WikiPagePatch(StrictSchema):
    """A save: a new revision if it changes anything."""

    immutable = (
        "id",
        "slug",
        "project_id",
        "revision_number",
        "created_by_user_id",
        "updated_by_user_id",
        "created_at",
        "updated_at",
        "deleted_at",
    )

    title = Text(metadata=TITLE)
    body = Text(metadata=BODY)
    summary = Text(metadata=like("The hosts", "What changed in this revision.", maxLength=200))


class PageFilters(DeletedPageQuery):
    """Which pages a list shows."""

    project_id = SCOPE


class PageLookup(DeletedQuery):
    """Which scope a slug means."""

    project_id = SCOPE


class WikiRevisionRowOut(Schema):
    """A revision as lists show it: without its body."""

    id = Identifier(required=True, metadata=like(examples.REVISION))
    page_id = Identifier(required=True, metadata=like(examples.PAGE))
    revision_number = Whole(required=True, metadata=like(1))
    title = Text(required=True, metadata=like("Certificates"))
    summary = Text(required=True, metadata=like("The hosts"))
    author_user_id = Identifier(required=True, metadata=like(examples.ADA))
    author = Nested(UserSummaryOut, required=True)
    created_at = TimestampOut(required=True)


class WikiRevisionOut(WikiRevisionRowOut):
    """A revision."""

    body = Text(required=True, metadata=like(WORDS))


class WikiPageSummaryOut(Schema):
    """A page where a link names one."""

    id = Identifier(required=True, metadata=like(examples.PAGE))
    slug = Text(required=True, metadata=like("certificates"))
    title = Text(required=True, metadata=like("Certificates"))
    project_id = Identifier(required=True, allow_none=True, metadata=like(examples.PROJECT))


class BrokenLinkOut(Schema):
    """A link that means no page."""

    target_slug = Text(required=True, metadata=like("hosts"))
    page = Nested(WikiPageSummaryOut, required=True)
