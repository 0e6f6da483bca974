"""Files that lie about what they are, or are too much, made by code."""

import struct
import zlib
from io import BytesIO
from typing import Any

from PIL import Image


def picture(
    kind: str, size: tuple[int, int] = (64, 40), mode: str = "RGB", **options: Any
) -> bytes:
    """A plain picture."""
    color = {"RGB": (200, 30, 90), "RGBA": (200, 30, 90, 120), "CMYK": (9, 99, 9, 0)}.get(mode, 1)
    target = BytesIO()
    Image.new(mode, size, color).save(target, kind, **options)
    return target.getvalue()


def animation(kind: str, frames: int = 3) -> bytes:
    """A picture that moves."""
    target = BytesIO()
    made = [Image.new("RGB", (20, 20), (index * 60, 0, 0)) for index in range(frames)]
    made[0].save(target, kind, save_all=True, append_images=made[1:], duration=50)
    return target.getvalue()


def photograph(orientation: int = 6) -> bytes:
    """A JPEG that lies on its side, with a place and a thumbnail of words in its metadata."""
    exif = Image.Exif()
    exif[0x0112] = orientation
    exif[0x010E] = "secret description"
    exif.get_ifd(0x8825)[1] = "N"
    return picture("JPEG", exif=exif, comment=b"secret comment")


def chunk(kind: bytes, data: bytes) -> bytes:
    """A chunk of a PNG."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int, height: int, pixels: bytes, *more: bytes) -> bytes:
    """A grey PNG of these dimensions, with these bytes for its pixels."""
    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = (chunk(b"IHDR", header), *more, chunk(b"IDAT", pixels), chunk(b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts)


def packed(zeros: int) -> bytes:
    """So many zero bytes, compressed a thousandfold."""
    packer = zlib.compressobj(9, wbits=-zlib.MAX_WBITS)
    # After a full flush, what comes next depends on nothing before it.
    part = packer.compress(bytes(1 << 20)) + packer.flush(zlib.Z_FULL_FLUSH)
    checksum = (zeros % 65_521 << 16) | 1
    return b"\x78\xda" + part * (zeros >> 20) + packer.flush() + struct.pack(">I", checksum)


def gif_of(width: int, height: int) -> bytes:
    """A GIF that claims to be so large."""
    small = picture("GIF", (1, 1), "P")
    return small[:6] + struct.pack("<HH", width, height) + small[10:]


SCRIPT = b"<script>fetch('/api/v1/users')</script>"
SVG = b'<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>'
HTML = b"<!DOCTYPE html><title>x</title>" + SCRIPT
OCTETS = "application/octet-stream"

# By name: the content, the name that is sent, the detected type, and whether it becomes an image.
CASES: dict[str, tuple[bytes, str, str, bool]] = {
    "png": (picture("PNG"), "a.png", "image/png", True),
    "png with alpha": (picture("PNG", mode="RGBA"), "a.png", "image/png", True),
    "png with palette": (picture("PNG", mode="P"), "a.png", "image/png", True),
    "png of one bit": (picture("PNG", mode="1"), "a.png", "image/png", True),
    "png of 16 bits": (picture("PNG", mode="I;16"), "a.png", "image/png", True),
    "jpeg": (picture("JPEG"), "a.jpg", "image/jpeg", True),
    "jpeg of a press": (picture("JPEG", mode="CMYK"), "a.jpg", "image/jpeg", True),
    "jpeg in grey": (picture("JPEG", mode="L"), "a.jpg", "image/jpeg", True),
    "gif": (picture("GIF", mode="P"), "a.gif", "image/gif", True),
    "gif that moves": (animation("GIF"), "a.gif", "image/gif", True),
    "webp": (picture("WEBP"), "a.webp", "image/webp", True),
    "webp that moves": (animation("WEBP"), "a.webp", "image/webp", True),
    "photograph": (photograph(), "a.jpg", "image/jpeg", True),
    "png named as a page": (picture("PNG"), "a.html", "image/png", True),
    "png with a page behind": (picture("PNG") + HTML, "a.png", "image/png", True),
    "png with a zip behind": (picture("PNG") + b"PK\x03\x04" + HTML, "a.png", "image/png", True),
    "png with a text": (
        png(1, 1, zlib.compress(b"\0\0"), chunk(b"tEXt", b"x\0" + SCRIPT)),
        "a.png",
        "image/png",
        True,
    ),
    "jpeg with a page behind": (picture("JPEG") + HTML, "a.jpg", "image/jpeg", True),
    "jpeg with a page in a comment": (
        picture("JPEG", comment=HTML),
        "a.jpg",
        "image/jpeg",
        True,
    ),
    "gif with a script behind": (picture("GIF", mode="P") + SCRIPT, "a.gif", "image/gif", True),
    "gif that is a script": (b"GIF89a=1;" + SCRIPT, "a.gif", "image/gif", False),
    "png of four gigapixels": (png(65_535, 65_535, packed(1 << 20)), "a", "image/png", False),
    "png that is a bomb": (png(10_000, 9_000, packed(90 << 20)), "a", "image/png", False),
    "png too wide": (png(20_000, 1, packed(1 << 20)), "a.png", "image/png", False),
    "png of negative size": (png(0xFFFFFFFF, 1, b""), "a.png", "image/png", False),
    "png of no size": (png(0, 0, b""), "a.png", "image/png", False),
    "png with a huge text": (
        png(1, 1, zlib.compress(b"\0\0"), chunk(b"zTXt", b"x\0\0" + packed(80 << 20))),
        "a.png",
        "image/png",
        False,
    ),
    "png of too many chunks": (
        png(1, 1, b"", *(chunk(b"IDAT", b"") for _ in range(5000))),
        "a.png",
        "image/png",
        False,
    ),
    "gif that claims to be huge": (gif_of(65_535, 65_535), "a.gif", "image/gif", False),
    "truncated png": (picture("PNG", (300, 300))[:-60], "a.png", "image/png", False),
    "truncated jpeg": (picture("JPEG", (300, 300))[:700], "a.jpg", "image/jpeg", False),
    "truncated webp": (picture("WEBP", (300, 300))[:40], "a.webp", "image/webp", False),
    "only the first bytes of a png": (b"\x89PNG\r\n\x1a\n", "a.png", "image/png", False),
    "only the first bytes of a jpeg": (b"\xff\xd8\xff", "a.jpg", "image/jpeg", False),
    "png of noise": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 40, "a.png", "image/png", False),
    "tiff named as a png": (picture("TIFF"), "a.png", OCTETS, False),
    "bmp": (picture("BMP"), "a.bmp", OCTETS, False),
    "icon": (picture("ICO"), "a.ico", OCTETS, False),
    "postscript": (b"%!PS-Adobe-3.0 EPSF-3.0\n(x) run\n", "a.png", "text/plain", False),
    "svg": (SVG, "a.svg", "image/svg+xml", False),
    "svg named as a png": (SVG, "a.png", "image/svg+xml", False),
    "svg behind a declaration": (b'<?xml version="1.0"?>' + SVG, "a", "image/svg+xml", False),
    "page": (HTML, "a.html", "text/html", False),
    "page named as a text": (HTML, "a.txt", "text/html", False),
    "page behind a mark": (b"\xef\xbb\xbf" + HTML, "a.png", "text/html", False),
    "page in UTF-16": (HTML.decode().encode("utf-16"), "a.html", OCTETS, False),
    "script": (b"alert(1)", "a.js", "text/javascript", False),
    "pdf with a script": (b"%PDF-1.7\n/JS (app.alert(1))", "a.pdf", "application/pdf", False),
    "zip that climbs": (b"PK\x03\x04../../etc/passwd", "a.zip", "application/zip", False),
    "text": ("Grüße".encode(), "a.txt", "text/plain", False),
    "text cut within a letter": (b"x" * 65_535 + "ü".encode(), "a.txt", "text/plain", False),
    "text with a NUL": (b"one\x00two", "a.txt", OCTETS, False),
    "one byte": (b"\x00", "a", OCTETS, False),
}

# Names as they are sent, and as they are kept.
NAMES = {
    "../../etc/passwd": "passwd",
    "C:\\Windows\\win.ini": "win.ini",
    "..": "file",
    "": "file",
    "   ": "file",
    ".htaccess": "htaccess",
    "a/": "file",
    "invoice\u202efdp.exe": "invoice fdp.exe",
    "\u2067hidden\u2069.txt": "hidden .txt",
    "line\r\nbreak.txt": "line break.txt",
    'quote".txt': "quote_.txt",
    "a<b>.html": "a_b_.html",
    "bell\x07.txt": "bell .txt",
    "e\u0301.txt": "\u00e9.txt",
    "\u05e9\u05dc\u05d5\u05dd.txt": "\u05e9\u05dc\u05d5\u05dd.txt",
    "x" * 300 + ".tar.gz": "x" * 197 + ".gz",
    "x" * 300 + "." + "y" * 300: "x" * 200,
    "\ud800.txt": ".txt".lstrip("."),
    "\U0001f468\u200d\U0001f469.png": "\U0001f468\u200d\U0001f469.png",
}
