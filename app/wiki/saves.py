"""Who saved a page last: what its editors ask every few seconds."""

from dataclasses import dataclass
from functools import lru_cache

from sqlalchemy import bindparam, select

from app.accounts.builders import UserSummary, user_summary
from app.accounts.models import User
from app.core.actor import Access, Actor, operation
from app.core.errors import Gone, NotFound
from app.core.ids import as_uuid
from app.database.session import Prepared
from app.wiki import loaders
from app.wiki.models import WikiPage


@dataclass(frozen=True, slots=True)
class LastSave:
    """The revision that a page has, who saved it, and when."""

    revision_number: int
    by: UserSummary
    at: int


@lru_cache
def _namesakes(by_id: bool, fenced: bool) -> Prepared:
    return Prepared(
        select(
            WikiPage.project_id,
            WikiPage.revision_number,
            WikiPage.updated_at,
            WikiPage.deleted_at,
            User.id.label("user_id"),
            User.type,
            User.username,
            User.display_name,
        )
        .join(User, User.id == WikiPage.updated_by_user_id)
        .where(
            (WikiPage.id if by_id else WikiPage.slug) == bindparam("reference"),
            loaders.seen(fenced=fenced),
        )
        .order_by(WikiPage.deleted_at.is_not(None))
    )


@operation(Access.READ)
def last_save(actor: Actor, reference: str, project_id: str | None) -> LastSave:
    """The last save of a slug or id in exactly this scope; raises NotFound or Gone."""
    identifier = as_uuid(reference)
    fence = loaders.fence(actor)
    rows = _namesakes(identifier is not None, bool(fence)).all(
        reference=identifier or reference, **fence
    )
    row = next((row for row in rows if row.project_id == project_id), None)
    if row is None:
        raise NotFound("wiki_page", reference)
    if row.deleted_at is not None:
        raise Gone("wiki_page", reference)
    by = user_summary(row.user_id, row.type, row.username, row.display_name)
    return LastSave(row.revision_number, by, row.updated_at)
