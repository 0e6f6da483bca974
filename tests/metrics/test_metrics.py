"""/metrics: off without a token, only for its bearer, summed over all workers, bounded."""

import os
import re
import signal
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import orjson
import pytest
from prometheus_client.parser import text_string_to_metric_families
from sqlalchemy import update

from app import create_app
from app.accounts.models import UserSession
from app.core import measuring
from app.core.clock import MINUTE_MS, now_ms
from app.core.errors import Unavailable
from app.core.logs import REDACTED
from app.database.session import db, run_write
from app.metrics import recording
from app.webhooks.models import OutboxEntry
from tests.support.agent import Agent
from tests.support.cases import cases
from tests.support.cast import make_cast
from tests.support.databases import forget
from tests.support.forking import FORKED
from tests.support.receiver import SECRET, receiving
from tests.support.serving import ROOT, end, serving, start, until
from tests.support.workspace import owner_of

TOKEN = "a-token-of-the-scraper"
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def samples(text):
    """Return each sample's value by name and labels."""
    return {
        (sample.name, *(f"{name}={value}" for name, value in sorted(sample.labels.items()))): (
            sample.value
        )
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def documented():
    """Return the metrics that the documentation lists."""
    page = (ROOT / "docs/monitoring.md").read_text()
    return set(re.findall(r"^\| `(docket_[a-z_]+)` \|", page, re.MULTILINE))


def total(found, name, *labels):
    return sum(value for (of, *its), value in found.items() if of == name and {*labels} <= {*its})


@pytest.fixture(scope="module")
def measuring_app(database, tmp_path_factory):
    """Provide an application with metrics enabled, on the same database."""
    folder = tmp_path_factory.mktemp("measured")
    made = create_app(replace(database.settings, metrics_token=TOKEN, instance_dir=folder))
    yield made
    with made.app_context():
        db.session.remove()
        db.engine.dispose()


@pytest.fixture
def measured(app, measuring_app):
    """Provide that application, recording only during this test."""
    forget(measuring_app)
    folder = measuring_app.config["SETTINGS"].metrics_folder
    recording.start(folder, measuring_app.config["TOOLS"].tools)
    yield measuring_app
    measuring.set_receiver(None)


@pytest.fixture
def scraped(measured):
    def scraped():
        answer = measured.test_client().get("/metrics", headers=BEARER)
        assert answer.status_code == 200, answer.text
        assert answer.content_type == "text/plain; version=0.0.4; charset=utf-8"
        return samples(answer.text)

    return scraped


def test_there_is_no_such_address_without_a_token(client):
    assert client.get("/metrics", headers=BEARER).status_code == 404
    assert measuring.measurements is None


@cases(
    "header, code",
    [
        (None, "auth.unauthenticated"),
        ("", "auth.unauthenticated"),
        (f"Basic {TOKEN}", "auth.unauthenticated"),
        (TOKEN, "auth.unauthenticated"),
        ("Bearer", "auth.invalid_credentials"),
        (f"Bearer {TOKEN[:-1]}", "auth.invalid_credentials"),
        (f"Bearer {TOKEN}x", "auth.invalid_credentials"),
        ("Bearer é", "auth.invalid_credentials"),
    ],
)
@pytest.mark.one_database
def test_nobody_else_is_answered(measured, header, code):
    headers = {"Accept": "text/html"} | ({} if header is None else {"Authorization": header})
    answer = measured.test_client().get("/metrics", headers=headers)
    assert (answer.status_code, answer.get_json()["error"]["code"]) == (401, code)
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert TOKEN not in answer.text


@pytest.mark.one_database
def test_neither_session_nor_key_opens_it(measured):
    cast = make_cast(measured)
    for caller in (cast.ada, cast.smith):
        assert caller.get("//metrics").status_code == 401
    assert (
        cast.ada.get("//metrics", headers={"Authorization": f"bearer {TOKEN}"}).status_code == 200
    )


def test_requests_are_counted_by_route_status_and_kind_of_actor(measured, scraped):
    cast = make_cast(measured)
    for _ in range(3):
        assert cast.smith.get(f"/projects/{cast.open_project}").status_code == 200
    cast.ada.get(f"/projects/{cast.open_project}")
    cast.nobody.get(f"/projects/{cast.open_project}")
    found = scraped()
    route = "route=/api/v1/projects/<project_id>"
    for expected, labels in (
        (3, ("status=200", "actor=bot")),
        (1, ("status=200", "actor=human")),
        (1, ("status=401", "actor=anonymous")),
    ):
        assert total(found, "docket_requests_total", route, "method=GET", *labels) == expected
    assert found["docket_request_seconds_count", route] == 5
    assert found["docket_request_seconds_bucket", "le=+Inf", route] == 5


def test_a_stranger_adds_no_series(measured, scraped):
    client = measured.test_client()
    before = len(scraped())
    for number in range(30):
        client.get(f"/nowhere/{number}")
        client.open("/login", method=f"BREW{number}")
        client.post(f"/mcp/bot/{number}/mcp", json={"jsonrpc": "2.0", "method": f"m{number}"})
        client.get(f"/projects/P{number}/board")
        client.get(f"/api/v1/tickets/OPS-{number}", headers={"X-API-Key": f"app_{number}"})
    found = scraped()
    assert total(found, "docket_requests_total", "route=none") >= 60
    # One counter for each rule, method and status, and one histogram for each rule.
    assert len(found) - before < 130
    assert REDACTED not in str(found)


def test_calls_of_tools_are_counted_and_unknown_names_are_one(measured, scraped):
    agent = Agent(make_cast(measured).smith)
    agent.call("get_self")
    agent.refused("get_ticket", ticket="OPEN-77")
    for number in range(3):
        agent.send("tools/call", {"name": f"made_up_{number}", "arguments": {}})
    found = scraped()
    counted = "docket_tool_calls_total"
    assert found[counted, "status=ok", "tool=get_self"] == 1
    assert found[counted, "status=resource.not_found", "tool=get_ticket"] == 1
    assert found[counted, "status=unknown_tool", "tool=other"] == 3
    assert found["docket_tool_call_seconds_count",] == 5


def test_the_database_and_its_lock_are_measured(measured, scraped, database):
    cast = make_cast(measured)
    before = scraped()
    cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": "One"})
    cast.ada.get("/tickets")
    found = scraped()
    for kind in ("kind=read", "kind=write"):
        name = ("docket_database_seconds_count", kind)
        assert found[name] > before.get(name, 0)
    waits = ("docket_writer_lock_wait_seconds_count",)
    assert (found[waits] > before[waits]) == (database.kind == "sqlite")
    assert found["docket_database_up",] == 1
    assert found["docket_database_bytes",] > 100_000
    assert found["docket_sessions",] == 2
    assert found["docket_mail_entries",] == found["docket_mail_age_seconds",] == 0
    assert found["docket_database_collisions_total",] == 0
    version = f"version={measured.config['SETTINGS'].version}"
    assert found["docket_build_info", f"database={database.kind}", version] == 1


def test_sessions_that_ended_by_idleness_are_not_active(measured, scraped):
    make_cast(measured)
    seen_at = now_ms() - measured.config["SETTINGS"].session_idle_minutes * MINUTE_MS
    with measured.app_context():
        run_write(lambda: db.session.execute(update(UserSession).values(last_seen_at=seen_at)))
    assert scraped()["docket_sessions",] == 0


def test_an_empty_outbox_has_no_age_however_slow_the_machine(measured, scraped, monkeypatch):
    monkeypatch.setattr("app.metrics.endpoint.now_ms", count(now_ms(), 1000).__next__)
    assert scraped()["docket_outbox_age_seconds",] == 0


def test_the_depth_and_age_of_the_outbox(measured, scraped):
    cast = make_cast(measured)
    given = {"url": "https://hooks.example.org/", "secret": SECRET, "event_types": ["ticket.*"]}
    cast.ada.post("/webhooks", given)
    assert scraped()["docket_outbox_age_seconds",] == 0
    for number in range(3):
        cast.ada.post(f"/projects/{cast.open_project}/tickets", {"title": f"No {number}"})
    found = scraped()
    assert found["docket_outbox_entries", "state=pending"] == 3
    assert found["docket_outbox_entries", "state=sending"] == 0
    assert 0 < found["docket_outbox_age_seconds",] < 60
    with measured.app_context():
        assert run_write(lambda: db.session.query(OutboxEntry).count()) == 3


@pytest.mark.one_database
def test_an_outage_of_the_database_is_said_and_the_rest_is_served(measured, scraped, monkeypatch):
    def unavailable():
        raise Unavailable

    measured.test_client().get("/healthz")
    monkeypatch.setattr("app.metrics.endpoint.reading", unavailable)
    found = scraped()
    assert found["docket_database_up",] == 0
    assert total(found, "docket_requests_total", "route=/healthz") == 1
    assert not total(found, "docket_sessions")


@pytest.mark.slow
def test_all_workers_are_one_and_a_death_loses_no_count(tmp_path):
    with (
        receiving(tmp_path) as receiver,
        serving(
            tmp_path / "instance",
            command=FORKED,
            WORKERS=3,
            METRICS_TOKEN=TOKEN,
            WEBHOOK_ALLOWED_NETWORKS="127.0.0.0/8",
            WEBHOOK_CA_BUNDLE=receiver.ca_file,
        ) as served,
    ):

        def scraped():
            answer = served.request("GET", "/metrics", Authorization=f"Bearer {TOKEN}")
            return samples(answer.body.decode())

        def answered():
            return total(scraped(), "docket_requests_total", "route=/healthz")

        def ask(count):
            with ThreadPoolExecutor(8) as callers:
                list(callers.map(lambda _: served.request("GET", "/healthz"), range(count)))

        owner = owner_of(served)
        given = {"url": receiver.url, "secret": SECRET, "event_types": ["project.*"]}
        owner.call("POST", "/webhooks", given)
        owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})
        receiver.wait_for(1)
        delivered = ("docket_delivery_seconds_count", "status=succeeded")
        until(lambda: scraped().get(delivered) == 1)
        ask(60)
        until(lambda: answered() == 60)
        gone = served.workers()[0]
        os.kill(gone, signal.SIGKILL)
        until(lambda: gone not in served.workers() and len(served.workers()) == 3)
        ask(60)
        until(lambda: answered() == 120)
        folder = next((tmp_path / "instance").glob("metrics-*"))
        assert folder.stat().st_mode & 0o077 == 0
        workers = {path.stem.partition("_")[2] for path in folder.iterdir()}
        assert workers == {"parent", "worker0", "worker1", "worker2"}
        (folder / "counter_worker9.db").write_bytes(b"of an earlier run")
        assert served.stop() == 0
    again = start(tmp_path / "instance", served.port, command=FORKED, METRICS_TOKEN=TOKEN)
    try:
        found = again.request("GET", "/metrics", Authorization=f"Bearer {TOKEN}")
        assert total(samples(found.body.decode()), "docket_requests_total", "route=/healthz") == 0
        assert TOKEN not in again.output()
    finally:
        end(again)


def test_the_dashboard_asks_for_what_there_is():
    """It has a panel for each metric, and uses no metric that does not exist."""
    dashboard = orjson.loads((ROOT / "docs/deploy/grafana-dashboard.json").read_bytes())
    asked = " ".join(
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", ())
    )
    in_dashboard = {
        word.removesuffix("_bucket").removesuffix("_count").removesuffix("_sum")
        for word in re.findall(r"docket_[a-z_]+", asked)
    }
    assert in_dashboard <= documented()
    assert documented() - in_dashboard <= {"docket_database_bytes", "docket_build_info"}


@pytest.mark.one_database
def test_the_page_lists_exactly_what_is_measured(measured, scraped):
    make_cast(measured).ada.get("/projects")
    text = measured.test_client().get("/metrics", headers=BEARER).text
    # Labeled metrics that have no values yet are absent.
    families = {family.name for family in text_string_to_metric_families(text)}
    of_counters = {name.removesuffix("_total") for name in documented()}
    late = {"docket_tool_calls", "docket_delivery_seconds"}
    assert families <= of_counters
    assert of_counters - families <= late
