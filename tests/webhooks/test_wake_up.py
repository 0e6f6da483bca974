"""When the worker is notified that there is something to send."""

import pytest

from app.database.session import run_write, session, transaction
from app.webhooks import outbox


@pytest.fixture
def woken():
    seen = []

    def wake():
        seen.append("woken")

    outbox.outbox_filled.listen(wake)
    yield seen
    outbox.outbox_filled.forget(wake)


def test_a_savepoint_wakes_nobody_and_its_failure_forgets_nothing(app, woken):
    with app.app_context(), transaction():
        outbox.outbox_filled.emit_after_commit()
        with session.begin_nested():
            pass
        with pytest.raises(KeyError), session.begin_nested():
            raise KeyError
        assert woken == []
    assert len(woken) == 1


def test_a_transaction_that_fails_wakes_nobody(app, woken):
    def fail():
        outbox.outbox_filled.emit_after_commit()
        raise KeyError

    with app.app_context(), pytest.raises(KeyError):
        run_write(fail)
    with app.app_context(), transaction():
        pass
    assert woken == []
