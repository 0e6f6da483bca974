"""Images decoded and encoded anew, by a process of their own (``encoder.py``)."""

import subprocess
import sys
import threading
from dataclasses import dataclass
from pathlib import Path

import orjson

from app.core.errors import Unavailable

ENCODER = Path(__file__).with_name("encoder.py")
# By the names of their formats.
MEDIA_TYPES = {
    "PNG": "image/png",
    "JPEG": "image/jpeg",
    "GIF": "image/gif",
    "WEBP": "image/webp",
}
THUMBNAIL_TYPE = "image/webp"
SECONDS = 20.0
# An encoder can take much memory, so one runs at a time in each server process.
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
    """The image in this file, encoded anew beside it; None for another file, or beyond the limits.

    The metadata of the image is left out and its orientation applied. Raises Unavailable if too
    many others wait.
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
