"""Properties of external input: forwarded headers, addresses and URLs of webhooks."""

import ipaddress
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urlsplit

from flask import Flask, request
from hypothesis import example, given
from hypothesis import strategies as st
from urllib3.util import parse_url

from app.accounts import authentication
from app.core.errors import InvalidField
from app.webhooks import rules
from app.webhooks.connecting import may_connect
from app.webhooks.models import WebhookForm
from tests.support.settings import settings_for

PEER = "192.0.2.1"
APP = Flask(__name__)
ADDRESSES = st.ip_addresses().map(str)
HOPS = st.lists(st.one_of(ADDRESSES, st.sampled_from(["", "unknown", "1.2.3", "::1%lo", "a b"])))
V4 = st.ip_addresses(v=4)
INSIDE = st.sampled_from(["10.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.168.0.0/16"]).flatmap(
    lambda network: st.ip_addresses(network=network)
)


def seen(hops, trusted, tmp):
    APP.config["SETTINGS"] = replace(settings_for("sqlite://", tmp), trusted_proxies=trusted)
    headers = [("X-Forwarded-For", ", ".join(hops))] if hops else []
    with APP.test_request_context(headers=headers, environ_base={"REMOTE_ADDR": PEER}):
        return authentication.peer(request).address


@given(HOPS, st.lists(ADDRESSES, min_size=3, max_size=3), st.integers(0, 3))
def test_no_client_can_say_who_it_is(tmp_path_factory, forged, appended, trusted):
    """Its headers are left of what the trusted proxies append, and are never read."""
    tmp = tmp_path_factory.getbasetemp()
    found = seen([*forged, *appended[:trusted]], trusted, tmp)
    expected = str(ipaddress.ip_address(appended[0])) if trusted else PEER
    assert found == expected


@given(HOPS, st.integers(0, 3))
def test_any_hops_give_an_address(tmp_path_factory, hops, trusted):
    ipaddress.ip_address(seen(hops, trusted, tmp_path_factory.getbasetemp()))


@given(V4)
def test_a_delivery_goes_to_public_addresses_alone(address):
    assert may_connect(str(address), ()) <= address.is_global


@given(INSIDE)
def test_no_translation_leads_inside(address):
    number = int(address)
    for text in (
        str(address),
        f"::ffff:{address}",
        str(ipaddress.IPv6Address((0x64FF9B << 96) + number)),
        str(ipaddress.IPv6Address((0x2002 << 112) + (number << 80))),
        str(ipaddress.IPv6Address((0x20010000 << 96) + (number ^ 0xFFFFFFFF))),
        str(ipaddress.IPv6Address(number)),
    ):
        assert not may_connect(text, ()), text


PIECES = st.sampled_from(
    ["https://", "http://", "a.example", "127.0.0.1", "[::1]", "@", ":", "/", "\\", "?", "#", "%40",
     "443", "user", " ", "\t", "\n", "\u2488", "\uff0e", "..", "xn--", "é", "0x7f.1", "", "\x00"]
)  # fmt: skip


@given(st.lists(PIECES, max_size=8).map("".join))
@example("https://a.example\\@127.0.0.1/")
@example("https://a.example#@127.0.0.1/")
@example("https://[::1]https:")
@example("https://é/")
def test_a_url_that_is_taken_means_one_host_to_every_reader(text):
    """If two parsers read different hosts, one would be checked and the other one connected to."""
    with suppress(InvalidField):
        taken = rules.url(text, WebhookForm.JSON)
        parts = urlsplit(taken)
        assert parts.scheme == "https"
        assert parts.username is None
        assert parts.password is None
        assert parts.hostname
        read = (parse_url(taken).host or "").strip("[]")
        assert read.encode("idna") == parts.hostname.encode("idna")
        assert not any(character <= " " or character == "\x7f" for character in taken)
