"""A person waits for a slow receiver; others are served although the server has one place."""

import threading
import time

from tests.server.test_deliveries import deliveries, furnish, receiver, settings_of
from tests.support.forking import FORKED
from tests.support.serving import serving, until

__all__ = ["receiver"]


def test_a_slow_retry_holds_no_place(tmp_path, receiver):
    url = f"sqlite:///{tmp_path / 'docket.db'}"
    with serving(
        tmp_path / "instance", command=FORKED, THREADS=1, **settings_of(receiver, url)
    ) as served:
        receiver.answer = 404
        owner, project, hook = furnish(served, receiver)
        owner.call("POST", f"/projects/{project}/tickets", {"title": "x"})
        (row,) = until(lambda: deliveries(owner, hook))
        over = threading.Event()

        def slowly(_):
            over.wait(10)
            return 200

        receiver.answer = slowly
        answers = []

        def retry():
            answers.append(owner.call("POST", f"/webhooks/{hook}/deliveries/{row['id']}/retry"))

        waiting = threading.Thread(target=retry)
        waiting.start()
        until(lambda: len(receiver.received) == 2)
        began = time.monotonic()
        assert owner.call("GET", "/auth/me")["username"] == "ada"
        owner.call("POST", f"/projects/{project}/tickets", {"title": "meanwhile"})
        assert time.monotonic() - began < 3
        assert answers == []
        over.set()
        waiting.join(10)
        assert answers[0]["status"] == "succeeded"
