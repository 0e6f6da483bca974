"""Requests caused by another site, and addresses reported by proxies."""

import pytest
from flask import request

from app.accounts import authentication
from tests.accounts.helpers import (
    API,
    PASSWORD,
    details,
    error,
    events,
    key_of,
    new_bot,
)
from tests.support.cases import cases

pytestmark = pytest.mark.one_database

ME = f"{API}/auth/me"


OWN = "http://localhost"
CROSS_SITE = [
    # Sec-Fetch-Site, Origin, whether the request is refused
    (None, None, False),
    ("same-origin", None, False),
    ("none", None, False),
    ("same-site", None, True),
    ("cross-site", None, True),
    ("", None, True),
    (None, OWN, False),
    (None, "https://localhost", True),
    (None, "http://localhost:8080", True),
    (None, "http://evil.example", True),
    (None, "http://localhost.evil.example", True),
    (None, "null", True),
    (None, "", True),
    # If Sec-Fetch-Site is present, it decides.
    ("same-origin", "http://evil.example", False),
    ("cross-site", OWN, True),
]


def site_headers(site, origin):
    given = {"Sec-Fetch-Site": site, "Origin": origin}
    return {name: value for name, value in given.items() if value is not None}


WRITES = [
    ("POST", "/auth/logout", None),
    ("POST", "/users", {"username": "grace", "password": PASSWORD}),
    ("PATCH", "/users/{me}", {"display_name": "Ada L."}),
    ("DELETE", "/bots/{bot}", None),
    ("POST", "/auth/login", {"username": "ada", "password": PASSWORD}),
]


@pytest.fixture
def written(admin):
    """A function that sends a write like a browser on a page of this site."""
    me, (bot, _) = admin.get(ME).json["id"], new_bot(admin)

    def write(method, path, body, *site):
        address = API + path.format(me=me, bot=bot["id"])
        return admin.open(address, method=method, json=body, headers=site_headers(*site))

    return write


@cases("site, origin", [(site, origin) for site, origin, refused in CROSS_SITE if refused])
def test_cross_site_writes_with_a_cookie_are_refused(app, written, site, origin):
    before = len(events(app))
    for write in WRITES:
        answer = written(*write, site, origin)
        assert error(answer) == (403, "auth.forbidden"), write
        assert details(answer) == {"reason": "cross_site_request"}, write
    assert len(events(app)) == before


@pytest.mark.parametrize(
    ("site", "origin"), [(site, origin) for site, origin, refused in CROSS_SITE if not refused]
)
@pytest.mark.parametrize("write", WRITES)
def test_writes_of_the_own_site_are_made(written, write, site, origin):
    assert written(*write, site, origin).status_code in (200, 201, 204)


@pytest.mark.parametrize(("site", "origin", "refused"), CROSS_SITE)
def test_cross_site_reads_keys_and_strangers_are_not_refused(app, admin, site, origin, refused):
    headers = site_headers(site, origin)
    assert admin.get(ME, headers=headers).status_code == 200
    _, token = new_bot(admin)
    made = new_bot_project(app, admin, token, headers)
    assert made.status_code == 201
    stranger = app.test_client().post(
        f"{API}/auth/login", json={"username": "ada", "password": PASSWORD}, headers=headers
    )
    assert stranger.status_code == 200


def new_bot_project(app, admin, token, headers):
    """A write by a bot: a ticket in a new project."""
    project = admin.post(f"{API}/projects", json={"key": "OPS", "name": "Operations"}).json
    return app.test_client().post(
        f"{API}/projects/{project['id']}/tickets",
        json={"title": "From elsewhere"},
        headers={**headers, **key_of(token)},
    )


def test_cross_site_request_with_a_dead_cookie_is_refused_too(app, admin, client):
    client.set_cookie("app_session", "garbage")
    answer = client.post(
        f"{API}/auth/login",
        json={"username": "ada", "password": PASSWORD},
        headers={"Sec-Fetch-Site": "cross-site"},
    )
    assert error(answer) == (403, "auth.forbidden")


@pytest.mark.parametrize("base_url", ["https://docket.example", "https://docket.example:443"])
@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://docket.example", 200),
        ("https://docket.example:444", 403),
        ("http://docket.example", 403),
        # The address that the request was sent to does not count.
        ("http://localhost", 403),
    ],
)
def test_outside_address_is_the_services_own_origin(admin, setting, base_url, origin, status):
    setting("base_url", base_url)
    me = admin.get(ME).json["id"]
    answer = admin.patch(
        f"{API}/users/{me}", json={"display_name": "Ada"}, headers={"Origin": origin}
    )
    assert answer.status_code == status


@pytest.mark.parametrize(
    ("host", "status"),
    [("docket.example", 200), ("docket.example:8443", 200), ("evil.example", 421), ("a,b", 421)],
)
def test_a_request_for_another_host_is_misdirected(client, setting, host, status):
    setting("base_url", "https://docket.example")
    answer = client.get(f"{API}/setup/status", headers={"Host": host})
    assert answer.status_code == status
    # The host is checked before the credential, the address and the method.
    for method, path in (("GET", "/nowhere"), ("PUT", f"{API}/tickets"), ("POST", f"{API}/x")):
        refused = client.open(path, method=method, headers={"Host": host, "X-API-Key": "bad"})
        assert (refused.status_code == 421) == (status == 421)
    if status == 421:
        assert error(answer) == (421, "request.misdirected")
        page = client.get("/login", headers={"Host": host, "Accept": "text/html"})
        assert page.status_code == 421
        assert "ALLOWED_HOSTS" in page.text
    # Health checks accept any host: a monitor may know only the server's address.
    for path in ("/healthz", "/readyz"):
        assert client.get(path, headers={"Host": host}).status_code == 200


def test_requests_with_two_credentials_are_ambiguous_before_they_are_cross_site(app, admin):
    _, token = new_bot(admin)
    headers = {**key_of(token), "Sec-Fetch-Site": "cross-site"}
    assert error(admin.post(f"{API}/auth/logout", headers=headers)) == (
        401,
        "auth.ambiguous_credentials",
    )


@pytest.mark.parametrize(
    ("forwarded", "proxies", "counted"),
    [
        (None, 0, "10.0.0.1"),
        ("203.0.113.9", 0, "10.0.0.1"),
        ("203.0.113.9", 1, "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", 1, "203.0.113.9"),
        ("198.51.100.1, 203.0.113.9", 2, "198.51.100.1"),
        ("203.0.113.9:4711", 1, "203.0.113.9"),
        ("[2001:db8::7]:4711", 1, "2001:db8::7"),
        ("[2001:db8::7]", 1, "2001:db8::7"),
        ("2001:db8::7", 1, "2001:db8::7"),
        ("203.0.113.9:x", 1, "10.0.0.1"),
        ("garbage", 1, "10.0.0.1"),
        (None, 1, "10.0.0.1"),
    ],
)
def test_forwarded_address_counts_as_far_as_proxies_are_trusted(
    app, setting, forwarded, proxies, counted
):
    setting("trusted_proxies", proxies)
    headers = {"X-Forwarded-For": forwarded} if forwarded else {}
    with app.test_request_context(headers=headers, environ_base={"REMOTE_ADDR": "10.0.0.1"}):
        assert authentication.peer(request).address == counted
