"""The downloads of a file that the actor may read."""

import logging
from collections.abc import Iterator

from app.attachments import messages
from app.attachments.service import SeenFile
from app.core.errors import NotFound, Unavailable
from app.files.images import THUMBNAIL_TYPE
from app.files.models import StoredFile
from app.files.store import ContentMissing, store_of
from app.http.current import current_settings
from app.http.sending import Download

log = logging.getLogger(__name__)


def content_of(seen: SeenFile) -> Download:
    file = seen.file
    image_type = file.media_type if file.is_image else None
    return _download(file, file.sha256, seen.size, image_type)


def thumbnail_of(seen: SeenFile) -> Download:
    """The thumbnail of an image; raises NotFound for a file that is not an image."""
    file = seen.file
    if file.thumbnail_sha256 is None:
        raise NotFound("thumbnail", file.id)
    try:
        size = store_of(current_settings()).size(file.thumbnail_sha256)
    except ContentMissing as error:
        raise _missing(file) from error
    return _download(file, file.thumbnail_sha256, size, THUMBNAIL_TYPE)


def _missing(file: StoredFile) -> Unavailable:
    log.error("the content of a file is missing", extra={"file_id": file.id})
    return Unavailable(messages.CONTENT_IS_MISSING)


def _download(file: StoredFile, sha256: str, size: int, image_type: str | None) -> Download:
    store = store_of(current_settings())

    def read(start: int, length: int) -> Iterator[bytes]:
        try:
            return store.read(sha256, start, length)
        except ContentMissing as error:
            raise _missing(file) from error

    return Download(file.name, size, sha256[:32], read, image_type)
