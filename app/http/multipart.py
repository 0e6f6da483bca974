"""Reading a multipart body with one file, which streams to disk and never fills memory."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from flask import Request
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.sansio.multipart import Data, Epilogue, Field, File, MultipartDecoder, NeedData

from app.core.errors import InvalidField, RequestTooLarge, Unavailable, one_error
from app.core.messages import FILE_NOT_STORED, send_content_type
from app.http import messages

FORM_TYPE = "multipart/form-data"
# The allowance of a body besides its file: boundaries, headers and short fields.
FORM_OVERHEAD_BYTES = 64 * 1024
CHUNK_BYTES = 64 * 1024
# The most bytes buffered while looking for a boundary or the end of a part's headers.
_WAITING_BYTES = 4 * CHUNK_BYTES
_MAX_PARTS = 8
_MAX_BOUNDARY_LENGTH = 200


@dataclass(frozen=True, slots=True)
class ReceivedFile:
    """A file as it was sent; its name is the client's, unchecked."""

    path: Path
    name: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class MultipartForm:
    """The texts and files of a form, by the names of their fields."""

    texts: Mapping[str, str]
    files: Mapping[str, ReceivedFile]

    @property
    def values(self) -> dict[str, Any]:
        return {**self.texts, **self.files}

    @property
    def fingerprint(self) -> list[list[str]]:
        """Identifies the form's content: equal for equal forms, however they are encoded."""
        texts = [[name, text] for name, text in sorted(self.texts.items())]
        return texts + [[key, file.name, file.sha256] for key, file in sorted(self.files.items())]


def is_upload(environ: Mapping[str, Any]) -> bool:
    """Whether this is a form sent to an endpoint that accepts files."""
    return bool(
        environ.get("REQUEST_METHOD") == "POST"
        and environ.get("PATH_INFO", "").endswith("/files")
        and environ.get("CONTENT_TYPE", "").lower().startswith(FORM_TYPE)
    )


@contextmanager
def receive_form(request: Request, folder: Path, most_bytes: int) -> Iterator[MultipartForm]:
    """The form of this request; deletes its file from ``folder`` at the end, unless it was moved.

    Raises RequestInvalid for any other body, RequestTooLarge for a file over ``most_bytes``,
    Unavailable if the disk is full.
    """
    if request.mimetype != FORM_TYPE:
        raise one_error(["body"], send_content_type(FORM_TYPE), "content_type")
    boundary = request.mimetype_params.get("boundary", "")
    if not boundary.isascii() or not 0 < len(boundary) <= _MAX_BOUNDARY_LENGTH:
        raise _malformed()
    reader = _FormReader(folder, most_bytes)
    try:
        yield reader.read(_chunks(request, most_bytes), boundary.encode())
    except OSError as error:
        raise Unavailable(FILE_NOT_STORED) from error
    finally:
        reader.close()


def _malformed() -> Exception:
    return one_error(["body"], messages.NOT_A_FORM, "invalid_value")


def _chunks(request: Request, most_bytes: int) -> Iterator[bytes]:
    stream: IO[bytes] = request.environ["wsgi.input"]
    left = request.content_length
    if left is not None and left > most_bytes + FORM_OVERHEAD_BYTES:
        raise RequestTooLarge(most_bytes)
    if left is None and "chunked" not in request.headers.get("Transfer-Encoding", "").lower():
        return
    read = 0
    while chunk := stream.read(CHUNK_BYTES if left is None else min(CHUNK_BYTES, left - read)):
        read += len(chunk)
        if read > most_bytes + FORM_OVERHEAD_BYTES:
            raise RequestTooLarge(most_bytes)
        yield chunk


class _FormReader:
    """Reads the parts of a form."""

    def __init__(self, folder: Path, most_bytes: int) -> None:
        self._folder, self._most_bytes = folder, most_bytes
        self._texts: dict[str, str] = {}
        self._files: dict[str, ReceivedFile] = {}
        self._paths: list[Path] = []
        # State of the part that is being read.
        self._part: Field | File | None = None
        self._text = bytearray()
        self._file: IO[bytes] | None = None
        self._digest = hashlib.sha256()
        self._size = 0

    def read(self, chunks: Iterator[bytes], boundary: bytes) -> MultipartForm:
        decoder = MultipartDecoder(boundary, _WAITING_BYTES, max_parts=_MAX_PARTS)
        try:
            for chunk in chunks:
                decoder.receive_data(chunk)
                self._take(decoder)
            decoder.receive_data(None)
            self._take(decoder)
        # ``next_event`` raises AttributeError for a part without a line break before its data.
        except (ValueError, AttributeError, RequestEntityTooLarge) as error:
            raise _malformed() from error
        return MultipartForm(self._texts, self._files)

    def _take(self, decoder: MultipartDecoder) -> None:
        while not isinstance(event := decoder.next_event(), NeedData | Epilogue):
            if isinstance(event, Field | File):
                self._begin(event)
            elif isinstance(event, Data):
                self._continue(event)

    def _begin(self, part: Field | File) -> None:
        name = part.name
        if not isinstance(name, str) or name in self._texts or name in self._files:
            raise _malformed()
        self._part, self._size, self._digest = part, 0, hashlib.sha256()
        self._text.clear()
        if isinstance(part, File):
            if self._files:
                raise one_error(["body", name], messages.ONE_FILE_AT_A_TIME, "too_long")
            descriptor, path = tempfile.mkstemp(dir=self._folder, prefix="received-")
            self._paths.append(Path(path))
            self._file = os.fdopen(descriptor, "wb")

    def _continue(self, part: Data) -> None:
        self._size += len(part.data)
        if self._file is None:
            if self._size > FORM_OVERHEAD_BYTES:
                raise _malformed()
            self._text += part.data
        else:
            if self._size > self._most_bytes:
                raise RequestTooLarge(self._most_bytes)
            self._digest.update(part.data)
            self._file.write(part.data)
        if not part.more_data:
            self._end()

    def _end(self) -> None:
        part = self._part
        if isinstance(part, File) and self._file is not None:
            self._file.close()
            self._file = None
            if "\x00" in part.filename:
                raise InvalidField(part.name, "nul_character")
            digest = self._digest.hexdigest()
            received = ReceivedFile(self._paths[-1], part.filename, self._size, digest)
            self._files[part.name] = received
        elif part is not None:
            self._texts[part.name] = self._text.decode()

    def close(self) -> None:
        if self._file is not None:
            # Closing flushes the buffer, which fails if the disk is still full.
            with suppress(OSError):
                self._file.close()
        for path in self._paths:
            # Names of derived files, such as thumbnails, begin with the name of the file.
            for made in self._folder.glob(f"{path.name}*"):
                made.unlink(missing_ok=True)
