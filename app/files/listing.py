"""Files as clients and pages see them. The caller has checked access to their parent item."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import select

from app.accounts.builders import user_summary
from app.accounts.models import User
from app.core.clock import iso
from app.database.session import session
from app.files.models import FileContent, StoredFile

FILES = (
    select(StoredFile, FileContent.size, User.type, User.username, User.display_name)
    .join(FileContent, FileContent.sha256 == StoredFile.sha256)
    .join(User, User.id == StoredFile.uploader_user_id)
    .add_columns(StoredFile.id, StoredFile.created_at)
)


def file_json(file: StoredFile, size: int, uploader: Any) -> dict[str, Any]:
    return {
        "id": file.id,
        "name": file.name,
        "media_type": file.media_type,
        "size": size,
        "sha256": file.sha256,
        "is_image": file.is_image,
        "width": file.width,
        "height": file.height,
        "ticket_id": file.ticket_id,
        "comment_id": file.comment_id,
        "page_id": file.page_id,
        "uploader_user_id": file.uploader_user_id,
        "uploader": uploader,
        "created_at": iso(file.created_at),
    }


def files_json(rows: Sequence[Any]) -> list[dict[str, Any]]:
    return [
        file_json(
            row.StoredFile,
            row.size,
            user_summary(row.StoredFile.uploader_user_id, row.type, row.username, row.display_name),
        )
        for row in rows
    ]


def described(file_id: str) -> dict[str, Any]:
    """The JSON of one file."""
    rows = session.execute(FILES.where(StoredFile.id == file_id)).all()
    return files_json(rows)[0]


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as pages list it."""

    id: str
    name: str
    size: int
    is_image: bool

    @property
    def shown_size(self) -> str:
        """The size in words, such as ``12 KB``."""
        if self.size < 1000:
            return f"{self.size} B"
        if self.size < 1_000_000:
            return f"{round(self.size / 1000)} KB"
        return f"{self.size / 1_000_000:.1f} MB"
