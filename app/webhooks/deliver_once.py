"""Delivering what is due without a server: one batch after the other, in this process."""

import os
import secrets
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from app.database.session import run_write
from app.webhooks import outbox
from app.webhooks.attempts import Outcome
from app.webhooks.connecting import Limits
from app.webhooks.outbox import Claimed
from app.webhooks.sending import send

# Receivers spoken to at a time.
BATCH = 16


def deliver_due(allowed: Limits, advance: Callable[[int], None]) -> Counter[str]:
    """Make an attempt for each entry that is due; how many succeeded and failed.

    Retries that become due meanwhile are made too; those of later are left to whoever comes next.
    A server may run beside it: each entry is in one pair of hands.
    """
    owner = f"{outbox.BY_COMMAND}{os.getpid()}-{secrets.token_hex(8)}"
    counts: Counter[str] = Counter(succeeded=0, failed=0)
    run_write(outbox.recover)
    with ThreadPoolExecutor(BATCH) as pool:
        while claimed := run_write(lambda: outbox.claim(owner, BATCH)):
            outcomes = list(pool.map(lambda one: send(one.attempt, allowed), claimed))
            run_write(partial(_complete, claimed, outcomes))
            for outcome in outcomes:
                counts["succeeded" if outcome.is_success else "failed"] += 1
            advance(len(claimed))
    return counts


def _complete(claimed: list[Claimed], outcomes: list[Outcome]) -> None:
    outbox.complete_all(list(zip(claimed, outcomes, strict=True)))
