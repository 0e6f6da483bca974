"""A rewind over REST: preview, steps, kept values, and putting those back."""

import pytest

from app.core import ids
from app.core.clock import iso
from app.rewind import previewing
from tests.support.cases import cases
from tests.support.story import events, invalid, ok, refused


@pytest.fixture(name="path")
def _path(world):
    return f"/users/{world.cast.smith.user_id}/rewind"


@pytest.fixture
def rewound(world, path):
    """Rewind everything that smith did, step by step; return the responses."""

    def run():
        body, steps = {"since": iso(world.since)}, []
        while not steps or steps[-1]["beyond"]:
            steps.append(ok(world.cast.ada.post(path, body)))
            body |= {name: steps[-1][name] for name in ("until", "beyond")}
        return steps

    return run


def query(world, **more):
    return "?" + "&".join(
        f"{key}={value}" for key, value in {"since": iso(world.since), **more}.items()
    )


def both_wrote(world, count):
    """Create tickets whose titles smith wrote first and Bo later."""
    made = [world.make(world.cast.ada, "Before") for _ in range(count)]
    for ticket in made:
        world.smith("PATCH", f"/tickets/{ticket}", title="By the bot", priority="low")
        world.bo("PATCH", f"/tickets/{ticket}", title="By Bo")
    return made


def test_a_preview_counts_and_writes_nothing(world, path):
    (ticket,) = both_wrote(world, 1)
    world.make(world.cast.smith, "Spam")
    before = len(events(world.app))
    found = ok(world.cast.ada.get(path + query(world)))
    assert found["since"] == iso(world.since)
    assert (found["event_count"], found["previewed_count"]) == (2, 2)
    assert (found["put_back_count"], found["kept_count"]) == (2, 1)
    assert found["changes"] == [
        {"count": 1, "text": "ticket deleted"},
        {"count": 1, "text": "field reverted"},
    ]
    assert found["subjects"][1] == {
        "kind": "ticket",
        "id": ticket,
        "name": "OPEN-2",
        "title": "By Bo",
        "put_back_count": 1,
        "kept_count": 1,
    }
    assert len(events(world.app)) == before


def test_steps_lead_to_the_end_and_nothing_is_left(world, path, rewound, monkeypatch):
    monkeypatch.setattr("app.rewind.service.BATCH", 2)
    for number in range(5):
        world.make(world.cast.smith, f"Spam {number}")
    assert [(one["event_count"], one["put_back_count"]) for one in rewound()] == [
        (2, 2),
        (2, 2),
        (1, 1),
    ]
    assert ok(world.cast.ada.get(path + query(world)))["put_back_count"] == 0
    assert [one["put_back_count"] for one in rewound()] == [0, 0, 0]


def test_what_was_done_in_this_millisecond_is_rewound_too(world, rewound, monkeypatch):
    ticket_id = world.make(world.cast.smith, "Spam")
    (made,) = events(world.app, ticket_id=ticket_id)
    monkeypatch.setattr("app.rewind.scope.now_ms", lambda: made.created_at)
    assert [one["event_count"] for one in rewound()] == [1]


def test_what_stands_is_listed_and_put_back_one_by_one(world, path, rewound):
    (ticket,) = both_wrote(world, 1)
    rewound()
    (kept,) = ok(world.cast.ada.get(f"{path}/kept{query(world)}"))["data"]
    by_bo = events(
        world.app,
        ticket_id=ticket,
        event_type="ticket.updated",
        actor_user_id=world.cast.bo.user_id,
    )
    assert kept | {"reason": None} == {
        "event_id": kept["event_id"],
        "name": "title",
        "subject": {"kind": "ticket", "id": ticket, "name": "OPEN-2", "title": "By Bo"},
        "field": "Title",
        "now": "By Bo",
        "before": "Before",
        "reason": None,
        "changed_by_event_id": by_bo[0].id,
    }
    assert kept["reason"].startswith("Changed by Bo on ")
    body = {"since": iso(world.since), "event_id": kept["event_id"], "name": "title"}
    refused(
        world.cast.ada.post(f"{path}/put-back", body | {"name": "body"}), 404, "resource.not_found"
    )
    ok(world.cast.ada.post(f"{path}/put-back", body), 204)
    assert world.now(f"/tickets/{ticket}")["title"] == "Before"
    assert ok(world.cast.ada.get(f"{path}/kept{query(world)}"))["data"] == []


@pytest.mark.parametrize("looked_at", [3, 100])
def test_pages_of_what_stands_miss_nothing_and_repeat_nothing(world, path, monkeypatch, looked_at):
    """Also beyond the events that one page looks at, and with several values per event."""
    monkeypatch.setattr(previewing, "MAX_PREVIEWED_EVENTS", looked_at)
    monkeypatch.setattr("app.rewind.service.READ_AT_ONCE", 2)
    made = both_wrote(world, 5)
    for ticket in made:
        world.bo("PATCH", f"/tickets/{ticket}", priority="high")
    seen, cursor = [], None
    for number in range(20):
        if number and not cursor:
            break
        more = {"limit": 3} | ({"cursor": cursor} if cursor else {})
        page = ok(world.cast.ada.get(f"{path}/kept{query(world, **more)}"))
        assert len(page["data"]) <= 3
        seen += [(row["subject"]["id"], row["name"]) for row in page["data"]]
        cursor = page["page"]["next_cursor"]
    assert sorted(seen) == sorted(
        (ticket, name) for ticket in made for name in ("title", "priority")
    )
    assert [ticket for ticket, name in seen if name == "title"] == made[::-1]


def test_an_own_import_goes_by_its_requests(world):
    answer = world.cast.bo.post(f"{world.project}/tickets", {"title": "Imported"})
    request_id = answer.headers["X-Request-Id"]
    path = f"/users/{world.cast.bo.user_id}/rewind"
    found = ok(world.cast.bo.get(f"{path}?request_ids={request_id},{ids.new_id()}"))
    assert (found["event_count"], found["put_back_count"]) == (1, 1)
    refused(world.cast.ada.get(f"{path}?request_ids={request_id}"), 409, "resource.conflict")
    refused(world.cast.bo.get(f"{path}?since={iso(world.since)}"), 409, "resource.conflict")
    step = ok(world.cast.bo.post(path, {"request_ids": [request_id]}))
    assert (step["put_back_count"], step["beyond"]) == (1, None)
    assert world.cast.bo.get(f"/tickets/{answer.json['id']}").status_code == 410


def test_a_project_limits_it(world, path):
    world.make(world.cast.smith, "Spam")
    other = world.cast.fenced_project
    assert ok(world.cast.ada.get(path + query(world, project_id=other)))["event_count"] == 0
    refused(
        world.cast.ada.get(path + query(world, project_id=ids.new_id())), 404, "resource.not_found"
    )


def test_what_is_wrong_is_refused(world, path):
    ada = world.cast.ada
    for call in (lambda body: ada.post(path, body), lambda body: ada.get(path + said(body))):
        invalid(call({}), "since")
        invalid(call({"since": "2026-01-02T00:00:00Z", "until": "2026-01-01T00:00:00Z"}), "until")
        assert call({"since": "soon"}).status_code == 422
        assert call({"request_ids": ["x"]}).status_code == 422
        many = [ids.new_id() for _ in range(51)]
        invalid(call({"request_ids": many}), "request_ids")
        for odd in ("0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59-23:59"):
            call({"since": "0001-01-01T00:00:00Z", "until": odd})
    assert ada.post(path, {"since": iso(world.since), "beyond": "x"}).status_code == 422
    ok(
        ada.post(
            path, {"since": iso(world.since), "beyond": "ffffffff-ffff-ffff-ffff-ffffffffffff"}
        )
    )
    refused(ada.get(f"{path}/kept{query(world, cursor='x')}"), 400, "validation.invalid_field")
    refused(ada.get("/users/nobody/rewind" + query(world)), 404, "resource.not_found")


@cases(
    "span",
    [
        {"since": "0001-01-01T00:00:00+23:59"},
        {"since": "2026-01-01T00:00:00Z", "until": "9999-12-31T23:59:59-23:59"},
        {"since": "2026-01-01T00:00:00Z", "until": "9999-12-31T23:59:59.9999999Z"},
    ],
)
def test_times_beyond_all_years_are_the_first_or_last(world, path, span):
    ada = world.cast.ada
    for found in (ok(ada.get(path + said(span))), ok(ada.post(path, span))):
        assert found["until"] >= iso(world.since)


def said(body):
    parts = {key: ",".join(one) if isinstance(one, list) else one for key, one in body.items()}
    return "?" + "&".join(f"{key}={value.replace('+', '%2B')}" for key, value in parts.items())
