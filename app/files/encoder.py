"""Decodes and reencodes an image, in a separate process with limits.

Started as ``python -I encoder.py SOURCE TARGET THUMBNAIL BYTES``. Prints the format, width and
height of the target as JSON. Any failure, and reaching any limit, ends the process with an error.
"""

import json
import resource
import sys
import warnings
from io import BytesIO
from typing import Any

CPU_SECONDS = 10
MEMORY_BYTES = 1536 * 1024 * 1024
MAX_PIXELS = 50_000_000
# The total of all frames of an animation.
MAX_ANIMATED_PIXELS = 100_000_000
MAX_FRAMES = 500
MAX_SIDE_PIXELS = 16_384
THUMBNAIL = (480, 480)
FORMATS = ("PNG", "JPEG", "GIF", "WEBP")


def limit(most_bytes: int) -> None:
    """Limit this process: CPU time, memory, and the size of its output files."""
    for kind, limit in (
        (resource.RLIMIT_CPU, CPU_SECONDS),
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_FSIZE, most_bytes),
        (resource.RLIMIT_CORE, 0),
    ):
        resource.setrlimit(kind, (limit, limit))


def encode(source: str, target: str, thumbnail: str) -> dict[str, Any]:
    """Write the image and its thumbnail; raises an exception if the image is invalid or too big."""
    from PIL import Image, ImageOps  # noqa: PLC0415 - loaded under the limits

    Image.MAX_IMAGE_PIXELS = MAX_PIXELS
    warnings.simplefilter("error", Image.DecompressionBombWarning)
    with Image.open(source, formats=FORMATS) as image:
        width, height, frames = *image.size, getattr(image, "n_frames", 1)
        is_large = max(width, height) > MAX_SIDE_PIXELS or width * height > MAX_PIXELS
        if is_large or frames > MAX_FRAMES or width * height * frames > MAX_ANIMATED_PIXELS:
            raise ValueError("too large")
        kind = str(image.format)
        is_animated = frames > 1 and kind in ("GIF", "WEBP")
        if is_animated:
            first = _animation(image, kind, target)
        else:
            image.load()
            first = _plain(ImageOps.exif_transpose(image), kind)
            quality: dict[str, Any] = {"quality": 90} if kind in ("JPEG", "WEBP") else {}
            first.save(target, kind, **quality)
    described = {"format": kind, "width": first.width, "height": first.height}
    small = first.convert("RGBA" if first.has_transparency_data else "RGB")
    small.thumbnail(THUMBNAIL)
    small.save(thumbnail, "WEBP", quality=80)
    return described


def _animation(image: Any, kind: str, target: str) -> Any:
    """Write all frames; returns the first one."""
    from PIL import ImageSequence  # noqa: PLC0415 - as above

    frames, durations = [], []
    for frame in ImageSequence.Iterator(image):
        durations.append(min(max(int(frame.info.get("duration", 100)), 10), 60_000))
        plain = frame.convert("RGBA")
        plain.info = {}
        frames.append(plain)
    frames[0].save(
        target, kind, save_all=True, append_images=frames[1:], duration=durations, loop=0
    )
    return frames[0]


def _plain(image: Any, kind: str) -> Any:
    """Only the pixels, in a mode that the format supports; profile colors become sRGB."""
    image = _in_srgb(image)
    if kind == "JPEG":
        plain = image if image.mode in ("L", "RGB") else image.convert("RGB")
    elif image.has_transparency_data:
        plain = image.convert("RGBA")
    elif image.mode in ("1", "L", "RGB") or (image.mode == "P" and kind in ("PNG", "GIF")):
        plain = image
    else:
        plain = image.convert("RGB")
    plain.info = {}
    return plain


def _in_srgb(image: Any) -> Any:
    from PIL import ImageCms  # noqa: PLC0415 - as above

    profile = image.info.get("icc_profile")
    if not profile or image.mode not in ("RGB", "RGBA"):
        return image
    try:
        return ImageCms.profileToProfile(image, BytesIO(profile), ImageCms.createProfile("sRGB"))
    except ImageCms.PyCMSError:
        return image


if __name__ == "__main__":
    limit(int(sys.argv[4]))
    print(json.dumps(encode(*sys.argv[1:4])))
