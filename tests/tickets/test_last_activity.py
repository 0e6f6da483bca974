"""``last_activity_at``: the latest change, comment or relation; ETag and ``updated_at`` stay."""

import time

from tests.support.cast import Cast
from tests.support.story import make_ticket, ok


def read(cast: Cast, name: str = "OPEN-1") -> tuple[str, str, str]:
    answer = cast.ada.get(f"/tickets/{name}")
    ticket = ok(answer)
    return ticket["last_activity_at"], ticket["updated_at"], answer.headers["ETag"]


def later(cast: Cast, name: str, work) -> bool:
    """Return whether ``work`` moves the ticket's last activity and keeps its version."""
    activity, updated, etag = read(cast, name)
    time.sleep(0.002)
    work()
    after = read(cast, name)
    assert after[1:] == (updated, etag)
    return after[0] > activity


def test_each_change_of_a_comment_is_activity(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    made = []
    assert later(
        cast,
        "OPEN-1",
        lambda: made.append(ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "a"}), 201)),
    )
    path = f"/comments/{made[0]['id']}"
    assert later(cast, "OPEN-1", lambda: ok(cast.smith.patch(path, {"body": "b"})))
    assert not later(cast, "OPEN-1", lambda: ok(cast.smith.patch(path, {"body": "b"})))
    assert later(cast, "OPEN-1", lambda: cast.smith.delete(path))


def test_a_relation_is_activity_of_both_tickets(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    other = make_ticket(cast.ada, cast.open_project)
    path, made = "/tickets/OPEN-1/relations", []
    body = {"type": "blocks", "target_ticket_id": other["id"]}
    assert later(cast, "OPEN-2", lambda: made.append(ok(cast.ada.post(path, body), 201)))
    assert read(cast)[0] == read(cast, "OPEN-2")[0]
    assert later(cast, "OPEN-1", lambda: cast.ada.delete(f"{path}/{made[0]['id']}"))
    assert read(cast)[0] == read(cast, "OPEN-2")[0]


def test_a_change_is_activity_and_a_watcher_is_none(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    assert not later(cast, "OPEN-1", lambda: ok(cast.smith.post("/tickets/OPEN-1/watchers"), 201))
    time.sleep(0.002)
    ok(cast.smith.patch("/tickets/OPEN-1", {"title": "Another"}))
    activity, updated, _ = read(cast)
    assert activity == updated


def test_no_304_hides_a_comment(cast: Cast) -> None:
    make_ticket(cast.ada, cast.open_project)
    etag = read(cast)[2]
    time.sleep(0.002)
    ok(cast.smith.post("/tickets/OPEN-1/comments", {"body": "a"}), 201)
    assert cast.ada.get("/tickets/OPEN-1", headers={"If-None-Match": etag}).status_code == 200
