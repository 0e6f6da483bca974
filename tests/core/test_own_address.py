"""The hosts and origins that belong to the service."""

import pytest

from app.core.own_address import OwnAddress

NAMED = OwnAddress("https://docket.example", 8000, ("tickets.example",))
UNNAMED = OwnAddress(None, 8000)


@pytest.mark.parametrize(
    ("header", "named", "unnamed"),
    [
        ("docket.example", True, False),
        ("DOCKET.example:443", True, False),
        ("docket.example.", False, False),
        ("tickets.example", True, False),
        ("localhost", True, True),
        ("localhost:8000", True, True),
        ("127.0.0.1:1", True, True),
        ("192.0.2.7", True, True),
        ("[2001:db8::1]:8000", True, True),
        ("evil.example", False, False),
        ("docket.example.evil.example", False, False),
        ("localhost.evil.example", False, False),
        ("x.localhost", False, False),
        ("docket.example, evil.example", False, False),
        ("evil.example@localhost", False, False),
        ("localhost/evil.example", False, False),
        ("localhost:99999", False, False),
        ("[::1", False, False),
        ("", False, False),
        ("l\u00f6calhost", False, False),
        ("localhost" + "0" * 300, False, False),
    ],
)
def test_hosts(header, named, unnamed):
    assert (NAMED.is_host(header), UNNAMED.is_host(header)) == (named, unnamed)


@pytest.mark.parametrize(
    ("header", "named", "unnamed"),
    [
        ("https://docket.example", True, False),
        ("https://docket.example:443", True, False),
        ("https://docket.example/", True, False),
        ("http://docket.example", False, False),
        ("https://docket.example:444", False, False),
        # Host names that requests may use are not origins.
        ("https://tickets.example", False, False),
        ("http://localhost:8000", False, True),
        ("http://127.0.0.1:8000", False, True),
        ("http://[::1]:8000", False, True),
        ("http://192.0.2.7:8000", False, True),
        ("http://localhost", False, False),
        ("http://localhost:3000", False, False),
        ("http://evil.example:8000", False, False),
        ("null", False, False),
        ("", False, False),
        ("file://localhost:8000", False, False),
        ("http://localhost:99999", False, False),
        ("http://x@localhost:8000", False, False),
        ("http://localhost:8000/x", False, False),
    ],
)
def test_origins(header, named, unnamed):
    assert (NAMED.is_origin(header), UNNAMED.is_origin(header)) == (named, unnamed)
