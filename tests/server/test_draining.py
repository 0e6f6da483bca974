"""32 bots share a queue on a running server of two processes."""

from tests.support.drain import drain, filled
from tests.support.forking import FORKED
from tests.support.serving import serving
from tests.support.sizes import IS_LONG
from tests.support.workspace import owner_of

TICKETS, BOTS = 300 if IS_LONG else 100, 32
LOST = 0.05


def test_32_bots_drain_a_queue_without_racing(migrated_url, tmp_path):
    settings = {
        "DATABASE_URL": migrated_url,
        "SECRET_KEY": "a secret key of the tests, long enough",
        "WORKERS": 2,
    }
    with serving(tmp_path / "instance", command=FORKED, **settings) as served:
        owner = owner_of(served)
        filled(owner, TICKETS)
        drained = drain(owner, BOTS)
        assert len(drained.claims) == TICKETS
        assert set(drained.claims.values()) == {1}
        # Two calls per ticket, and one per bot that finds nothing left.
        assert drained.calls - 2 * TICKETS - BOTS <= LOST * drained.calls
        assert drained.refused == []
        done = owner.call("GET", "/tickets?state_category=done&limit=200")
        assert len(done["data"]) == min(TICKETS, 200)
        assert owner.call("GET", "/tickets?ready=true")["data"] == []
