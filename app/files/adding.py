"""Storing and removing files; callers check the parent item and access."""

from dataclasses import dataclass

from sqlalchemy import delete, exists, func, insert, or_, select

from app.config import Settings
from app.core import ids
from app.core.clock import now_ms
from app.core.errors import InvalidField
from app.database.locks import Lock, acquire
from app.database.session import session
from app.files import detection, images, messages
from app.files.models import FileContent, StoredFile
from app.files.store import NewContent, Store, store_of
from app.http.multipart import ReceivedFile

FIELD = "file"


@dataclass(frozen=True, slots=True)
class PreparedFile:
    """An accepted file, with contents that are ready to be stored."""

    name: str
    media_type: str
    content: NewContent
    thumbnail: NewContent | None = None
    width: int | None = None
    height: int | None = None

    @property
    def contents(self) -> list[NewContent]:
        return [self.content, *([self.thumbnail] if self.thumbnail else [])]


def prepare(settings: Settings, received: ReceivedFile) -> PreparedFile:
    """Check a file, reencode an image, and do slow writes. Not for use in a unit of work.

    Raises InvalidField for an empty file or a type that is not allowed.
    """
    if not received.size:
        raise InvalidField(FIELD, "empty", messages.EMPTY)
    name = detection.clean_name(received.name)
    with received.path.open("rb") as file:
        kind = detection.media_type(file.read(detection.HEAD_BYTES), name)
    if not detection.is_allowed(kind, settings.files_types):
        message = messages.type_not_allowed(kind)
        raise InvalidField(FIELD, "type_not_allowed", message)
    prepared = None
    if kind in images.MEDIA_TYPES.values():
        prepared = _as_image(received, name, settings)
    if prepared is None:
        content = NewContent(received.sha256, received.size, received.path)
        prepared = PreparedFile(name, kind, content)
    store = store_of(settings)
    for one in prepared.contents:
        store.prepare(one)
    return prepared


def _as_image(received: ReceivedFile, name: str, settings: Settings) -> PreparedFile | None:
    made = images.encode_image(received.path, settings.files_max_bytes)
    if made is None:
        return None
    content, thumbnail = NewContent.of(made.path), NewContent.of(made.thumbnail)
    return PreparedFile(name, made.media_type, content, thumbnail, made.width, made.height)


def require_room(settings: Settings, *files: PreparedFile) -> None:
    """Lock files until the transaction ends; raises InvalidField ``quota_exceeded``.

    Counts contents as new even if they are stored already, so that the result does not reveal that.
    """
    acquire(Lock.FILES)
    stored = session.scalar(select(func.sum(FileContent.size))) or 0
    sizes = {content.sha256: content.size for file in files for content in file.contents}
    if stored + sum(sizes.values()) > settings.files_quota:
        raise InvalidField(FIELD, "quota_exceeded", messages.NO_ROOM)


def insert_file(
    settings: Settings,
    prepared: PreparedFile,
    *,
    uploader_user_id: str,
    file_id: str | None = None,
    ticket_id: str | None = None,
    comment_id: str | None = None,
    page_id: str | None = None,
) -> StoredFile:
    """Insert a file's rows and store its contents, after ``require_room`` in the transaction."""
    store = store_of(settings)
    for content in prepared.contents:
        _insert_content(store, content)
    identifier = file_id or ids.new_id()
    file = StoredFile(
        id=identifier,
        sha256=prepared.content.sha256,
        name=prepared.name,
        media_type=prepared.media_type,
        thumbnail_sha256=prepared.thumbnail.sha256 if prepared.thumbnail else None,
        width=prepared.width,
        height=prepared.height,
        uploader_user_id=uploader_user_id,
        ticket_id=ticket_id,
        comment_id=comment_id,
        page_id=page_id,
        created_at=ids.created_ms(identifier),
    )
    session.add(file)
    session.flush()
    return file


def _insert_content(store: Store, content: NewContent) -> None:
    known = select(FileContent.sha256).where(FileContent.sha256 == content.sha256)
    if session.scalar(known) is None:
        values = {"sha256": content.sha256, "size": content.size, "created_at": now_ms()}
        session.execute(insert(FileContent).values(values))
    store.ensure(content)


def remove_file(file: StoredFile) -> None:
    """Delete a file and the rows of contents that it alone uses; a sweep deletes the contents."""
    acquire(Lock.FILES)
    contents = {file.sha256, file.thumbnail_sha256} - {None}
    session.delete(file)
    session.flush()
    used = exists().where(
        or_(
            StoredFile.sha256 == FileContent.sha256,
            StoredFile.thumbnail_sha256 == FileContent.sha256,
        )
    )
    session.execute(delete(FileContent).where(FileContent.sha256.in_(contents), ~used))
