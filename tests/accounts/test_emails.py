"""Email addresses of people: their form, their uniqueness, and who may set them."""

import pytest

from app.accounts.emails import new_email
from app.core.errors import InvalidField
from tests.accounts.helpers import (
    API,
    at_once,
    details,
    error,
    events,
    logged_in,
    new_human,
    only,
)

USERS = f"{API}/users"
HTML = {"Accept": "text/html"}


@pytest.mark.parametrize(
    ("typed", "stored"),
    [
        (" Ada@Example.ORG ", "ada@example.org"),
        ("o'hara+docket@mail.example.org", "o'hara+docket@mail.example.org"),
        ("root@localhost", "root@localhost"),
        (f"{'a' * 64}@x.example", f"{'a' * 64}@x.example"),
    ],
)
def test_an_address_is_stored_in_lower_case(typed, stored):
    assert new_email(typed) == stored


@pytest.mark.parametrize(
    "typed",
    [
        *("", "ada", "@example.org", "ada@", "a@b@c", "ada@-x.org", "ada@x-.org", "ada@x..org"),
        *(".ada@x.org", "ada.@x.org", "a..b@x.org", '"a b"@x.org', "ada@[127.0.0.1]"),
        *("Ada <ada@x.org>", "ada@x.org,bo@x.org", "ada@x.org\nBcc: bo@x.org", "ada@x.org\r"),
        *("a\x00b@x.org", "a b@x.org", "jürgen@x.org", "ada@bücher.org", "\u212aim@x.org"),
        *(f"{'a' * 65}@x.org", f"a@{'b' * 250}.org", f"a@{'b' * 64}.org"),
    ],
)
def test_what_is_no_address(typed):
    # A line break at the end counts as whitespace, like one at the beginning.
    if typed.endswith("\r"):
        assert new_email(typed) == "ada@x.org"
        return
    with pytest.raises(InvalidField):
        new_email(typed)


def test_it_is_set_over_rest_and_recorded_without_the_address(app, admin):
    grace = new_human(admin, "grace", email="Grace@Example.org")
    assert (grace["email"], grace["email_confirmed"]) == ("grace@example.org", False)
    changed = admin.patch(f"{USERS}/{grace['id']}", json={"email": "hopper@example.org"})
    assert changed.json["email"] == "hopper@example.org"
    event = only(app, "user.updated")
    assert event.payload == {"email_changed": True}
    removed = admin.patch(f"{USERS}/{grace['id']}", json={"email": None})
    assert removed.json["email"] is None
    again = admin.patch(f"{USERS}/{grace['id']}", json={"email": None})
    assert again.json == removed.json
    for one in events(app):
        assert "example.org" not in str(one.payload)


def test_no_two_people_share_one(app, admin):
    new_human(admin, "grace", email="grace@example.org")
    bo = new_human(admin, "bo")
    for refused in (
        admin.patch(f"{USERS}/{bo['id']}", json={"email": "GRACE@example.org"}),
        admin.post(
            USERS,
            json={
                "username": "eve",
                "password": "correct horse battery",
                "email": "grace@example.org",
            },
        ),
    ):
        assert error(refused) == (409, "resource.conflict")
        assert details(refused)["field"] == "email"
    # Any number of people may have no address.
    new_human(admin, "carol")


def test_of_two_who_take_one_at_once_one_wins(app, admin):
    people = [new_human(admin, name) for name in ("grace", "carol", "dan")]
    browsers = [logged_in(app, one["username"]) for one in people]

    def take(number):
        path = f"{USERS}/{people[number]['id']}"
        return browsers[number].patch(path, json={"email": "x@example.org"}).status_code

    assert sorted(at_once(3, take)) == [200, 409, 409]


def test_a_wrong_one_is_refused(admin):
    grace = new_human(admin, "grace")
    refused = admin.patch(f"{USERS}/{grace['id']}", json={"email": "grace"})
    assert error(refused) == (422, "validation.invalid_field")


def test_one_sets_ones_own_in_the_profile(app, admin):
    saved = admin.post("/profile/email", data={"email": "ada@example.org"}, headers=HTML)
    assert saved.status_code == 303
    assert 'value="ada@example.org"' in admin.get("/profile", headers=HTML).text
    refused = admin.post("/profile/email", data={"email": "ada"}, headers=HTML)
    assert (refused.status_code, "Email must be an address" in refused.text) == (422, True)
    admin.post("/profile/email", data={"email": ""}, headers=HTML)
    assert admin.get(f"{API}/auth/me").json["email"] is None
