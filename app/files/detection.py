"""Detecting a file's type by its first bytes, and making its name safe to show and to save."""

import codecs
import re
import unicodedata
from fnmatch import fnmatchcase

from app.core.text import JOINERS

# The bytes read to detect a file's type.
HEAD_BYTES = 64 * 1024
MAX_NAME_LENGTH = 200
_MAX_SUFFIX_LENGTH = 20
UNNAMED = "file"
UNKNOWN = "application/octet-stream"
PLAIN = "text/plain"

_MAGIC = (
    (0, b"\x89PNG\r\n\x1a\n", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF87a", "image/gif"),
    (0, b"GIF89a", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"%PDF-", "application/pdf"),
    (0, b"PK\x03\x04", "application/zip"),
    (0, b"\x1f\x8b", "application/gzip"),
    (4, b"ftyp", "video/mp4"),
    (0, b"\x1aE\xdf\xa3", "video/webm"),
    (8, b"WAVE", "audio/wav"),
    (0, b"ID3", "audio/mpeg"),
    (0, b"OggS", "audio/ogg"),
)
# Zip archives whose type depends on the suffix of their name.
_ARCHIVES = {
    ".docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
    ".xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    ".pptx": "application/vnd.openxmlformats-officedocument.presentationml.presentation",
    ".odt": "application/vnd.oasis.opendocument.text",
    ".ods": "application/vnd.oasis.opendocument.spreadsheet",
}
_TEXTS = {
    ".md": "text/markdown",
    ".csv": "text/csv",
    ".json": "application/json",
    ".xml": "text/xml",
    ".html": "text/html",
    ".htm": "text/html",
    ".xhtml": "text/html",
    ".svg": "image/svg+xml",
    ".js": "text/javascript",
    ".css": "text/css",
}
_MARKUP = (
    (re.compile(r"<svg[\s>]", re.I), "image/svg+xml"),
    (re.compile(r"<(!doctype\s+html|html|head|body|script|iframe)[\s>]", re.I), "text/html"),
    (re.compile(r"^\s*<\?xml"), "text/xml"),
)


def media_type(head: bytes, name: str) -> str:
    """The type of a file by its first bytes; the name only distinguishes texts and archives."""
    suffix = _suffix(name)
    for start, magic, kind in _MAGIC:
        if head[start : start + len(magic)] == magic:
            return _ARCHIVES.get(suffix, kind) if kind == "application/zip" else kind
    text = _as_text(head)
    if text is None:
        return UNKNOWN
    for pattern, kind in _MARKUP:
        if pattern.search(text[:1024]):
            return kind
    return _TEXTS.get(suffix, PLAIN)


def _as_text(head: bytes) -> str | None:
    try:
        # The head may end within a character.
        text = codecs.getincrementaldecoder("utf-8-sig")().decode(head)
    except UnicodeDecodeError:
        return None
    return None if re.search(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]", text) else text


def _suffix(name: str) -> str:
    _, dot, suffix = name.rpartition(".")
    return f".{suffix.lower()}" if dot else ""


def clean_name(sent: str) -> str:
    """The last part of a path, without characters that hide or reorder other characters."""
    name = unicodedata.normalize("NFC", sent).replace("\\", "/").rpartition("/")[2]
    kept = "".join(
        char if unicodedata.category(char)[0] != "C" or char in JOINERS else " " for char in name
    )
    shown = re.sub(r"\s+", " ", re.sub(r'[<>:"|?*]', "_", kept)).strip(". ")
    if len(shown) > MAX_NAME_LENGTH:
        suffix = _suffix(shown)
        suffix = shown[-len(suffix) :] if 0 < len(suffix) <= _MAX_SUFFIX_LENGTH else ""
        shown = shown[: MAX_NAME_LENGTH - len(suffix)] + suffix
    return shown or UNNAMED


def is_allowed(kind: str, patterns: str) -> bool:
    """Whether a type matches one of the comma-separated patterns, such as ``image/*``."""
    return any(fnmatchcase(kind, pattern) for pattern in patterns.split(","))
