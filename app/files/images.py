"""Decoding and reencoding images in a separate process (``encoder.py``)."""

import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import orjson

from app.core.errors import Unavailable

ENCODER = Path(__file__).with_name("encoder.py")
# Media types by Pillow's format names.
MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
THUMBNAIL_TYPE = "image/webp"
SECONDS = 20.0
# An encoder can use much memory, so each server process runs one at a time.
_one_at_a_time = threading.Lock()


@dataclass(frozen=True, slots=True)
class EncodedImage:
    """An image that is safe to show, and where it and its thumbnail were written."""

    path: Path
    thumbnail: Path
    media_type: str
    width: int
    height: int


def encode_image(source: Path, most_bytes: int) -> EncodedImage | None:
    """Reencode the image in this file, beside it; None if it is no image or exceeds the limits.

    Applies the image's orientation and drops its metadata. Raises Unavailable if too many others
    wait.
    """
    target, thumbnail = (source.with_name(f"{source.name}.{part}") for part in ("image", "small"))
    if not _one_at_a_time.acquire(timeout=SECONDS):
        raise Unavailable
    try:
        made = subprocess.run(  # noqa: S603 - this interpreter, with paths of ours
            [sys.executable, "-I", ENCODER, source, target, thumbnail, str(most_bytes)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={},
            timeout=SECONDS,
            check=True,
        )
        about = orjson.loads(made.stdout)
        kind, width, height = about["format"], int(about["width"]), int(about["height"])
        return EncodedImage(target, thumbnail, MEDIA_TYPES[kind], width, height)
    except (subprocess.SubprocessError, ValueError, KeyError):
        for path in (target, thumbnail):
            path.unlink(missing_ok=True)
        return None
    finally:
        _one_at_a_time.release()
