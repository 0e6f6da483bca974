"""The addresses at which passkeys work."""

from dataclasses import replace
from pathlib import Path

import pytest

from app.accounts.ceremonies import Site, site_of
from tests.support.settings import settings_for


@pytest.mark.parametrize(
    ("address", "host", "origin"),
    [
        ("https://tickets.example.org", "tickets.example.org", "https://tickets.example.org"),
        ("https://tickets.example.org:443", "tickets.example.org", "https://tickets.example.org"),
        ("https://tickets.example.org:8443", "tickets.example.org", None),
        ("https://tickets", "tickets", None),
        ("http://localhost:8080", "localhost", None),
        ("http://localhost:80", "localhost", "http://localhost"),
        ("http://docket.localhost", "docket.localhost", None),
    ],
)
def test_they_work_at_a_name_with_tls_and_on_this_machine(address, host, origin):
    settings = replace(settings_for("sqlite://", Path("/nowhere")), base_url=address)
    assert site_of(settings) == Site(host, origin or address)


@pytest.mark.parametrize(
    "address",
    [
        "http://tickets.example.org",
        "https://192.0.2.1",
        "https://[2001:db8::1]",
        "http://127.0.0.1",
    ],
)
def test_browsers_refuse_other_addresses(address):
    settings = replace(settings_for("sqlite://", Path("/nowhere")), base_url=address)
    assert site_of(settings) is None


@pytest.mark.parametrize(
    ("port", "origin"), [(8321, "http://localhost:8321"), (80, "http://localhost")]
)
def test_without_an_address_they_work_on_this_machine(port, origin):
    settings = settings_for("sqlite://", Path("/nowhere"), port=port, has_base_url=False)
    assert site_of(settings) == Site("localhost", origin)
