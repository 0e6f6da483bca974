"""Wiki pages, their revisions, and the links in their bodies."""

from sqlalchemy import ColumnElement, ForeignKey, Index, Text, UniqueConstraint, text
from sqlalchemy.orm import Mapped, mapped_column

from app.core.etag import etag
from app.database.columns import Id, Moment, id_key, index_of_bodies_with_files, short_text
from app.database.session import Base


def _live_slug(name: str, scope: str, *columns: str) -> Index:
    """Slugs are unique among the live pages of a scope; null scopes need their own index."""
    condition = text(f"deleted_at IS NULL AND {scope}")
    return Index(
        f"uq_wiki_pages_{name}",
        *columns,
        unique=True,
        sqlite_where=condition,
        postgresql_where=condition,
    )


class WikiPage(Base):
    """A page of a project, or a global one (``project_id`` null). Its slug never changes."""

    __tablename__ = "wiki_pages"
    __table_args__ = (
        _live_slug("project_slug", "project_id IS NOT NULL", "project_id", "slug"),
        _live_slug("global_slug", "project_id IS NULL", "slug"),
        Index(None, "slug"),
        Index(None, "created_at", "id"),
        Index(None, "project_id", "created_at", "id"),
        index_of_bodies_with_files("wiki_pages"),
    )

    id: Mapped[str] = id_key()
    project_id: Mapped[str | None] = mapped_column(Id, ForeignKey("projects.id"))
    slug: Mapped[str] = mapped_column(short_text(128))
    title: Mapped[str] = mapped_column(short_text())
    body: Mapped[str] = mapped_column(Text)
    revision_number: Mapped[int]
    created_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    updated_by_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)
    updated_at: Mapped[int] = mapped_column(Moment)
    deleted_at: Mapped[int | None] = mapped_column(Moment)

    __mapper_args__ = {"version_id_col": updated_at, "version_id_generator": False}

    @property
    def is_deleted(self) -> bool:
        return self.deleted_at is not None

    @property
    def etag(self) -> str:
        return etag(self.updated_at, self.id)


def in_scope(project_id: str | None) -> ColumnElement[bool]:
    """Pages of the project, or the global ones for None."""
    return WikiPage.project_id == project_id if project_id else WikiPage.project_id.is_(None)


class WikiRevision(Base):
    """The page after one save. Append-only; it outlives the page."""

    __tablename__ = "wiki_revisions"
    __table_args__ = (
        UniqueConstraint("page_id", "revision_number"),
        Index(None, "page_id", "created_at", "id"),
    )

    id: Mapped[str] = id_key()
    page_id: Mapped[str] = mapped_column(Id, ForeignKey("wiki_pages.id"))
    revision_number: Mapped[int]
    title: Mapped[str] = mapped_column(short_text())
    body: Mapped[str] = mapped_column(Text)
    summary: Mapped[str] = mapped_column(short_text())
    author_user_id: Mapped[str] = mapped_column(Id, ForeignKey("users.id"))
    created_at: Mapped[int] = mapped_column(Moment)


class WikiLink(Base):
    """A ``[[slug]]`` in a page's body. Reading it decides which page it means."""

    __tablename__ = "wiki_links"
    __table_args__ = (
        UniqueConstraint("page_id", "target_slug"),
        Index(None, "target_slug"),
        Index(None, "created_at", "id"),
    )

    id: Mapped[str] = id_key()
    page_id: Mapped[str] = mapped_column(Id, ForeignKey("wiki_pages.id"))
    target_slug: Mapped[str] = mapped_column(short_text(128))
    created_at: Mapped[int] = mapped_column(Moment)


class WikiTicketLink(Base):
    """A ticket that a page's body names by its display id."""

    __tablename__ = "wiki_ticket_links"
    __table_args__ = (Index(None, "display_id"),)

    page_id: Mapped[str] = mapped_column(Id, ForeignKey("wiki_pages.id"), primary_key=True)
    display_id: Mapped[str] = mapped_column(short_text(32), primary_key=True)
