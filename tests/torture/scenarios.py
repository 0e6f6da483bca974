"""All faults, in their long and short forms."""

from collections.abc import Callable
from dataclasses import dataclass

from tests.torture.credentials import credentials
from tests.torture.doors import forges, mail, metrics, sign_on
from tests.torture.faults import (
    Figures,
    backends,
    claims,
    clock_steps,
    database_clock_steps,
    database_link,
    kills,
    receiver_link,
    restart,
    slow_clients,
)
from tests.torture.migrating import migrations
from tests.torture.moving import moving
from tests.torture.stage import Stage
from tests.torture.storage import (
    disk_full,
    read_only,
    read_only_file,
    small_disk_full,
    torn_log,
)
from tests.torture.trust import trust
from tests.torture.uploads import uploads, uploads_on_a_full_disk


@dataclass(frozen=True)
class Scenario:
    """A fault in its long and short form, and the databases it applies to."""

    name: str
    long: Callable[[Stage], Figures]
    short: Callable[[Stage], Figures] | None = None
    kinds: tuple[str, ...] = ("sqlite", "postgresql")


PG, LITE = ("postgresql",), ("sqlite",)
SCENARIOS = (
    Scenario("kills", lambda stage: kills(stage, 20), lambda stage: kills(stage, 3)),
    Scenario("backends", lambda s: backends(s, 30), lambda s: backends(s, 3), PG),
    Scenario("restart", lambda s: restart(s, 10), lambda s: restart(s, 2), PG),
    Scenario("database link", lambda s: database_link(s, 4), lambda s: database_link(s, 0.5), PG),
    Scenario("receiver link", lambda s: receiver_link(s, 4), lambda s: receiver_link(s, 0.4)),
    Scenario("disk full", disk_full, disk_full, LITE),
    Scenario("disk full", small_disk_full, None, PG),
    Scenario("clock steps", clock_steps, None),
    Scenario("its clock", database_clock_steps, None, PG),
    Scenario("slow clients", slow_clients, None),
    Scenario("claims", lambda s: claims(s, 100), lambda s: claims(s, 5)),
    Scenario("read-only", read_only, None, PG),
    Scenario("read-only", read_only_file, None, LITE),
    Scenario("migrations", lambda stage: migrations(stage, 10), None),
    Scenario("uploads", lambda s: uploads(s, 10), lambda s: uploads(s, 1)),
    Scenario("uploads, full", uploads_on_a_full_disk, uploads_on_a_full_disk, LITE),
    Scenario("uploads, full", uploads_on_a_full_disk, None, PG),
    Scenario("mail", lambda s: mail(s, 5), lambda s: mail(s, 1)),
    Scenario("forges", lambda s: forges(s, 10), lambda s: forges(s, 1)),
    Scenario("sign-on", lambda s: sign_on(s, 20), lambda s: sign_on(s, 1)),
    Scenario("credentials", lambda s: credentials(s, 20), lambda s: credentials(s, 1)),
    Scenario("metrics", lambda s: metrics(s, 10), lambda s: metrics(s, 2)),
    Scenario("moving", lambda s: moving(s, 10), lambda s: moving(s, 1, 12)),
    Scenario("trust", lambda stage: trust(stage, 5), None),
    Scenario("torn log", lambda s: torn_log(s, 10), lambda s: torn_log(s, 1), LITE),
)
