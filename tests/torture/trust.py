"""Rewinds and checkpoint runs are killed midway: started again, both complete."""

import random
from typing import Any

import sqlalchemy as sa

from tests.support.serving import Served
from tests.torture import dying
from tests.torture.faults import Figures, expect, is_killed
from tests.torture.load import load
from tests.torture.stage import Stage

# Changes by a bot to one page and one note; a person changes the page's title in between.
CHANGES = 60
# Statements of such a rewind and of a checkpoint run; each executes a few more.
OF_REWIND, OF_CHECKPOINT = 700, 60
BEFORE = {"title": "Before", "body": "Before"}


def trust(stage: Stage, count: int) -> Figures:
    """SIGKILL `flask bots rewind` and `flask audit checkpoint` midway, ``count`` times each."""
    assert stage.site is not None
    chance = random.Random(20261126)
    killed = {"rewinds killed": 0, "checkpoints killed": 0}
    for number in range(count):
        name = f"rewound-{number}-{chance.randrange(10**9)}"
        page, title = _afternoon(stage, name)
        rewind = ("bots", "rewind", name, "--since", "1h", "--as", "ada")
        with load(stage.site, stage.ledger, 2):
            for _ in range(2):
                at = chance.randrange(2, OF_REWIND)
                killed["rewinds killed"] += is_killed(dying.run(stage, at, *rewind).returncode)
                at = chance.randrange(2, OF_CHECKPOINT)
                killed["checkpoints killed"] += is_killed(_checkpoint(stage, at))
            ended = dying.run(stage, 0, *rewind)
            expect(ended.returncode == 0, f"a rewind that was killed cannot go on: {ended.stderr}")
            expect(_checkpoint(stage) == 0, "checkpoints cannot be made after a kill")
        now = _owner(stage, "GET", f"/wiki/pages/{page}")
        found = now["title"], now["body"]
        expect(found == (title, BEFORE["body"]), f"a rewind left {found}, not {title}")
        again = dying.run(stage, 0, *rewind)
        expect("Nothing left to revert." in again.stdout, again.stdout + again.stderr)
        verified = dying.run(stage, 0, "audit", "verify")
        expect(verified.returncode == 0, verified.stdout + verified.stderr)
    expect(all(killed.values()), f"nothing was killed of one kind: {killed}")
    return dict(killed)


def _owner(stage: Stage, method: str, path: str, body: Any = None, key: str = "") -> Any:
    """Send a request as the owner, or with this API key."""
    assert stage.site is not None
    served = Served(None, stage.port, None)  # type: ignore[arg-type]  # only its port is used
    who: dict[str, Any] = {"X_API_Key": key} if key else {"Cookie": stage.site.owner_cookie}
    answer = served.request(method, f"/api/v1{path}", body, **who)
    expect(answer.status < 300, f"{method} {path}: {answer.status} {answer.body[:200]!r}")
    return answer.json


def _afternoon(stage: Stage, name: str) -> tuple[str, str]:
    """Have a new bot change a page; return the page, and the title that its owner set last."""
    assert stage.site is not None
    page = _owner(stage, "POST", "/wiki/pages", {**BEFORE, "project_id": stage.site.project})["id"]
    key = _owner(stage, "POST", "/bots", {"username": name, "mode": "write"})["plaintext_token"]
    title = ""
    for number in range(CHANGES):
        _owner(stage, "PATCH", f"/wiki/pages/{page}", {"body": f"Change {number}"}, key)
        if number % 10 == 0:
            title = f"Title {number}"
            _owner(stage, "PATCH", f"/wiki/pages/{page}", {"title": title})
    return page, title


def _checkpoint(stage: Stage, at: int = 0) -> int:
    """Return the exit code of a checkpoint run; first expire leases left by earlier kills."""
    with stage.engine.begin() as connection:
        connection.execute(sa.text("UPDATE sweeper_leases SET lease_until = 0"))
    return dying.run(stage, at, "audit", "checkpoint").returncode
