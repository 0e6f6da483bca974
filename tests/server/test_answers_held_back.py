"""Calls of tools while another process writes: they are answered when their log is written."""

import fcntl
import time
from concurrent.futures import ThreadPoolExecutor

from tests.support.serving import serving
from tests.support.workspace import owner_of

CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "get_self", "arguments": {}},
}
CALLS = 6


def test_their_answers_wait_and_nobody_elses(tmp_path):
    database = tmp_path / "docket.db"
    with serving(
        tmp_path / "instance", DATABASE_URL=f"sqlite:///{database}", WORKERS=1, THREADS=2
    ) as served:
        owner = owner_of(served)
        bot = owner.bot("scout")
        endpoint = f"/mcp/bot/{bot.token}/mcp"
        # The first call writes that the credential was used, which its thread would wait for.
        assert served.request("POST", endpoint, CALL).status == 200

        def logged():
            return len(owner.call("GET", "/audit/tools?limit=50")["data"])

        with ThreadPoolExecutor(CALLS) as pool:
            with database.with_suffix(".db.write").open("w") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX)
                asked = [pool.submit(served.request, "POST", endpoint, CALL) for _ in range(CALLS)]
                began = time.monotonic()
                # More calls than places are on their way, and whoever reads is let in.
                while time.monotonic() - began < 0.5:
                    assert logged() == 1
                assert not any(one.done() for one in asked)
            answers = [one.result(10) for one in asked]
        assert [one.status for one in answers] == [200] * CALLS
        assert {one.json["result"]["structuredContent"]["username"] for one in answers} == {"scout"}
        assert logged() == CALLS + 1
        requests = {row["request_id"] for row in owner.call("GET", "/audit/tools")["data"]}
        assert requests >= {one.headers["X-Request-Id"] for one in answers}
        assert "was not answered" not in served.output()
        assert served.stop() == 0
