"""Files in what tools answer, and small ones read as resources."""

import base64
from typing import Any

from app.attachments import service
from app.attachments.service import SeenFile
from app.core.actor import Actor
from app.core.errors import InvalidField, Unavailable
from app.core.lanes import Lane
from app.database.session import session
from app.files.images import THUMBNAIL_TYPE
from app.files.listing import FILES, files_json
from app.files.models import StoredFile
from app.files.store import ContentMissing, store_of
from app.http.current import current_settings
from app.mcp.registry import LogWrites, Resource, ResourceContent, ResourceKind
from app.tickets.models import Comment
from app.tools import messages

FILE = "docket://files/"
MAX_IMAGE_BYTES = 1024 * 1024
MAX_TEXT_BYTES = 64 * 1024
MAX_FILES = 50


def of_ticket(ticket_id: str) -> list[dict[str, Any]]:
    """The newest files of a ticket that the actor sees."""
    statement = FILES.outerjoin(Comment, Comment.id == StoredFile.comment_id).where(
        StoredFile.ticket_id == ticket_id, Comment.deleted_at.is_(None)
    )
    newest = statement.order_by(StoredFile.created_at.desc(), StoredFile.id.desc()).limit(MAX_FILES)
    return files_json(session.execute(newest).all())


def of_page(page_id: str) -> list[dict[str, Any]]:
    """The newest files of a wiki page that the actor sees."""
    newest = (
        FILES.where(StoredFile.page_id == page_id)
        .order_by(StoredFile.created_at.desc(), StoredFile.id.desc())
        .limit(MAX_FILES)
    )
    return files_json(session.execute(newest).all())


def shown(file: dict[str, Any]) -> dict[str, Any]:
    """The lean form: the address to read it by, and what it is."""
    return {
        "uri": f"{FILE}{file['id']}",
        "name": file["name"],
        "media_type": file["media_type"],
        "size": file["size"],
    }


def read_file(actor: Actor, file_id: str, _: LogWrites) -> ResourceContent:
    """An image, small if it is a large one, or a short text; raises InvalidField for another."""
    seen = service.get_file(actor, file_id)
    file = seen.file
    if file.thumbnail_sha256 is not None:
        if seen.size <= MAX_IMAGE_BYTES:
            return ResourceContent(file.media_type, blob=_encoded(file.sha256))
        return ResourceContent(THUMBNAIL_TYPE, blob=_encoded(file.thumbnail_sha256))
    if seen.size > MAX_TEXT_BYTES or not (text := _text(seen)):
        message = messages.neither_image_nor_text(file.id)
        raise InvalidField("uri", "not_readable", message)
    return ResourceContent("text/plain", text=text)


def _content(sha256: str) -> bytes:
    try:
        return b"".join(store_of(current_settings()).read(sha256))
    except ContentMissing as error:
        raise Unavailable(messages.CONTENT_IS_MISSING) from error


def _encoded(sha256: str) -> str:
    return base64.b64encode(_content(sha256)).decode()


def _text(seen: SeenFile) -> str:
    """The text of a file, "" for one that is not text."""
    try:
        text = _content(seen.file.sha256).decode("utf-8-sig")
    except UnicodeDecodeError:
        return ""
    return "" if "\x00" in text else text


def _none(_actor: Actor, _limit: int = 0) -> list[Resource]:
    """Files are found on tickets and pages, and are not listed."""
    return []


KIND = ResourceKind(
    prefix=FILE,
    template={
        "uriTemplate": "docket://files/{id}",
        "name": "file",
        "title": "File",
        "description": "A file of a ticket or page: an image, or a text of up to 64 KiB.",
        "mimeType": "application/octet-stream",
    },
    newest=_none,
    first=_none,
    read=read_file,
    # A file can be on a slow disk, or on another server.
    lane=Lane.LONG,
)
