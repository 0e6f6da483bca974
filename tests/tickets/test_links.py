"""/tickets/{id}/links."""

import pytest

from app.tickets.links import MAX_LINKS, title_of
from tests.support.cases import cases
from tests.support.cast import Cast
from tests.support.story import events, invalid, make_ticket, malformed, ok, refused

PULL = "https://github.com/docket/app/pull/5"
LINKS = "/tickets/OPEN-1/links"


@pytest.fixture(name="ticket")
def _ticket(cast: Cast):
    return make_ticket(cast.ada, cast.open_project)


def test_linking_and_removing(cast: Cast, ticket, app) -> None:
    answer = cast.smith.post(LINKS, {"url": PULL})
    made = ok(answer, 201)
    assert answer.headers["Location"].endswith(f"/links/{made['id']}")
    assert (made["title"], made["kind"]) == ("docket/app#5", "pull_request")
    assert (made["state"], made["checks"], made["author"]) == (None, None, None)
    assert made["created_by_user_id"] == cast.smith.user_id
    named = {"url": "https://example.org/build/1#log", "title": " The build ", "kind": "branch"}
    other = ok(cast.ada.post(LINKS, named), 201)
    assert (other["title"], other["kind"], other["url"]) == ("The build", "branch", named["url"])
    assert ok(cast.scout.get(LINKS))["data"] == [other, made]
    ok(cast.ada.delete(f"{LINKS}/{made['id']}"), 204)
    assert ok(cast.scout.get(LINKS))["data"] == [other]
    (event,) = events(app, event_type="ticket.link_removed")
    assert event.payload == {
        "link_id": made["id"],
        "url": PULL,
        "title": "docket/app#5",
        "kind": "pull_request",
    }
    assert len(events(app, event_type="ticket.link_added")) == 2


def test_an_address_is_once_on_a_ticket(cast: Cast, ticket, app) -> None:
    made = ok(cast.ada.post(LINKS, {"url": PULL}), 201)
    assert ok(cast.smith.post(LINKS, {"url": PULL, "title": "Other"}), 200) == made
    assert len(events(app, event_type="ticket.link_added")) == 1
    make_ticket(cast.ada, cast.open_project)
    ok(cast.ada.post("/tickets/OPEN-2/links", {"url": PULL}), 201)


def test_a_repeated_request_is_replayed(cast: Cast, ticket) -> None:
    key = {"Idempotency-Key": "once"}
    made = ok(cast.ada.post(LINKS, {"url": PULL}, headers=key), 201)
    again = cast.ada.post(LINKS, {"url": PULL}, headers=key)
    assert ok(again, 201) == made
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_link_is_activity_and_no_change_of_the_ticket(cast: Cast, ticket) -> None:
    ok(cast.ada.post(LINKS, {"url": PULL}), 201)
    now = ok(cast.ada.get("/tickets/OPEN-1"))
    assert now["updated_at"] == ticket["updated_at"]
    assert now["last_activity_at"] > ticket["last_activity_at"]


def test_a_ticket_has_fifty_links_at_most(cast: Cast, ticket) -> None:
    for number in range(MAX_LINKS):
        ok(cast.ada.post(LINKS, {"url": f"https://example.org/{number}"}), 201)
    refused(
        cast.ada.post(LINKS, {"url": PULL}), 409, "resource.conflict", reason="invariant_violation"
    )
    ok(cast.ada.post(LINKS, {"url": "https://example.org/7"}), 200)


@cases(
    "url, reason",
    [
        ("http://example.org", "not_https"),
        ("javascript:alert(1)", "not_https"),
        ("HTTPS://example.org", "not_https"),
        ("", "not_https"),
        ("https://", "pattern"),
        ("https:///path", "pattern"),
        ("https://ada:secret@example.org", "pattern"),
        ("https://example.org/a b", "pattern"),
        ('https://example.org/"onclick=', "pattern"),
        ("https://example.org/\u202egnp", "pattern"),
        ("https://example.org\\@evil.org", "pattern"),
        ("https://[::1", "pattern"),
        ("https://example.org:0/", "pattern"),
        ("https://example.org:99999/", "pattern"),
        ("https://example.org/\n", "pattern"),
        ("https://example.org/\x00", "nul_character"),
        ("https://example.org/" + "x" * 2048, "too_long"),
    ],
)
def test_unfit_addresses(cast: Cast, ticket, url: str, reason: str) -> None:
    invalid(cast.ada.post(LINKS, {"url": url}), "url", reason)


def test_unfit_fields(cast: Cast, ticket) -> None:
    invalid(cast.ada.post(LINKS, {"url": PULL, "title": " "}), "title", "blank")
    invalid(cast.ada.post(LINKS, {"url": PULL, "title": "x" * 201}), "title", "too_long")
    malformed(cast.ada.post(LINKS, {"url": PULL, "kind": "x"}), ["body", "kind"], "invalid_value")
    malformed(
        cast.ada.post(LINKS, {"url": PULL, "state": "open"}), ["body", "state"], "unknown_field"
    )


def test_a_link_is_removed_at_its_own_ticket(cast: Cast, ticket) -> None:
    made = ok(cast.ada.post(LINKS, {"url": PULL}), 201)
    make_ticket(cast.ada, cast.open_project)
    for path in (f"/tickets/OPEN-2/links/{made['id']}", f"{LINKS}/nothing"):
        refused(cast.ada.delete(path), 404, "resource.not_found", resource="link")


@pytest.mark.one_database
def test_a_long_address_is_cut_where_it_is_the_title() -> None:
    assert title_of("https://example.org/") == "example.org"
    cut = title_of("https://example.org/" + "x" * 300)
    assert (len(cut), cut[-1]) == (200, "…")
