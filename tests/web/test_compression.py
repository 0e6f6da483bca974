"""Compression of responses."""

import re

import pytest

from app.web.compression import accepts_gzip
from tests.support.cases import cases

pytestmark = pytest.mark.one_database


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
    assert accepts_gzip(header) is takes


@cases("path", ["/projects/OPEN/board", "/tickets/OPEN-1", "/help", "/assets"])
@cases(
    "accepted, takes",
    [("gzip", True), ("gzip;q=0", False), ("*;q=0", False), ("identity, gzip;q=0.5", False)],
)
def test_every_answer_that_may_be_compressed_asks_first(ada, ticket, path, accepted, takes):
    if path == "/assets":
        path = re.search(r'href="(/assets/[^"]+\.css)"', ada.get("/help").text).group(1)
    answer = ada.get(path, **{"Accept-Encoding": accepted})
    assert (answer.headers.get("Content-Encoding") == "gzip") is takes
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert answer.data.startswith(b"\x1f\x8b") is takes
