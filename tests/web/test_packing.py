"""Pages of texts and pieces as they go over the wire."""

import gzip
import re

import pytest

from app.web.packing import PiecedPage, pack, piece, takes_gzip

LONG = "".join(f"Line {number} of a long text.\n" for number in range(5000))


@pytest.mark.parametrize(
    "parts",
    [
        ["short", piece("short"), ""],
        ["", piece(LONG), LONG],
        [LONG, piece(""), "é" * 127, piece("é"), "x" * 256, piece("y" * 255)],
        [piece(LONG), piece(LONG)],
        ["x" * 255, piece(LONG), "x" * 255, "", LONG],
    ],
)
def test_a_packed_page_is_the_page(parts):
    encoded = [one.encode() if isinstance(one, str) else one for one in parts]
    plain = PiecedPage(encoded, 200).get_data()
    packed = PiecedPage(encoded, 200)
    pack(packed)
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.get_data()) == plain


def test_what_was_added_to_a_page_is_packed_too():
    page = PiecedPage([b"one ", piece(LONG)], 200)
    page.set_data(page.get_data() + b"two")
    pack(page)
    assert gzip.decompress(page.get_data()) == b"one " + LONG.encode() + b"two"


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("", False),
        ("gzip", True),
        ("GZIP", True),
        ("gzip, deflate, br", True),
        ("gzip;q=0", False),
        ("gzip;q=0.0, *", False),
        ("gzip; q=0.1", True),
        ("*", True),
        ("*;q=0", False),
        ("identity", False),
        ("br, *;q=0", False),
        ("gzipped", False),
        ("gzip;q=nonsense", False),
        ("gzip, identity", True),
        ("*;q=0, gzip", True),
        ("gzip;q=0.5, identity;q=0.4", True),
        ("identity, gzip;q=0.5", False),
        ("gzip;q=0.5, *", False),
    ],
)
def test_gzip_is_sent_to_those_alone_who_take_it(header, takes):
    assert takes_gzip(header) is takes


@pytest.mark.parametrize("path", ["/projects/OPEN/board", "/tickets/OPEN-1", "/help", "/assets"])
@pytest.mark.parametrize(
    ("accepted", "takes"),
    [("gzip", True), ("gzip;q=0", False), ("*;q=0", False), ("identity, gzip;q=0.5", False)],
)
def test_every_answer_that_may_be_packed_asks_first(ada, ticket, path, accepted, takes):
    if path == "/assets":
        path = re.search(r'href="(/assets/[^"]+\.css)"', ada.get("/help").text).group(1)
    answer = ada.get(path, **{"Accept-Encoding": accepted})
    assert (answer.headers.get("Content-Encoding") == "gzip") is takes
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.data.startswith(b"\x1f\x8b") is takes
