"""Faults in communication with other services: mail, code hosts, single sign-on."""

import json
import os
import random
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import sqlalchemy as sa

from app.serving.parent import CRASH_SECONDS
from tests.integrations.deliveries import pull_request, signed
from tests.sign_on.provider import CLIENT, Provider
from tests.sign_on.provider import SECRET as CLIENT_SECRET
from tests.support.mailbox import Mailbox, mail_server
from tests.support.serving import Answer, Served, until
from tests.torture.faults import Figures, expect
from tests.torture.ledger import LOST, Once
from tests.torture.load import load
from tests.torture.proxy import Fault, proxying
from tests.torture.stage import METRICS_TOKEN, Stage

FORGE_SECRET = "a secret of the forge in this torture"
TICKETS = "/api/v1/projects/<project_id>/tickets"
FORM = "application/x-www-form-urlencoded"
# Number of clients at work while metrics are scraped.
SCRAPED = 4
# Gives each request its own client address, so that none hits the login rate limit.
BEHIND_A_PROXY = {"TRUSTED_PROXIES": 1}
PEOPLE = "SELECT count(*) FROM users WHERE email = :email"
IDENTITIES = """SELECT count(*) FROM identities JOIN users ON users.id = identities.user_id
    WHERE identities.subject = :subject AND users.email = :email"""
SESSIONS = """SELECT count(*) FROM sessions JOIN identities ON identities.id = sessions.identity_id
    WHERE identities.subject = :subject"""


@contextmanager
def with_settings(stage: Stage, **settings: Any) -> Iterator[None]:
    """Run the server with these settings during the with-block, restarts included."""
    before = stage.settings
    stage.settings = before | settings
    stage.stop()
    stage.start()
    try:
        yield
    finally:
        stage.settings = before
        stage.stop()
        stage.start()


def ask(
    stage: Stage, method: str, path: str, body: Any = None, *, cookie: str = "", **headers: str
) -> Answer:
    """Send a request from a random client address; a body in bytes is a form."""
    served = Served(None, stage.port, None)  # type: ignore[arg-type]  # only its port is used
    headers["X_Forwarded_For"] = ".".join(str(random.randrange(1, 255)) for _ in range(4))
    if isinstance(body, bytes):
        headers |= {"Content_Type": FORM, "Accept": "text/html"}
    return served.request(method, path, body, Cookie=cookie, **headers)


def owner(stage: Stage, method: str, path: str, body: Any = None, **headers: str) -> Answer:
    """Send a request as the owner's browser."""
    assert stage.served is not None
    assert stage.site is not None
    return stage.served.request(method, path, body, Cookie=stage.site.owner_cookie, **headers)


def mail(stage: Stage, kills: int, people: int = 4) -> Figures:
    """Start with a dead mail server, then SIGKILL while mail is sent.

    Every mail arrives; each kill causes at most one duplicate, which has the same Message-ID.
    """
    with mail_server() as box, proxying(("127.0.0.1", box.port)) as line:
        settings = {
            "SMTP_URL": f"smtp://127.0.0.1:{line.port}?starttls=off",
            "MAIL_FROM": "docket@mail.example.org",
            # Each process sends one mail at a time.
            "WORKERS": 1,
        }
        with with_settings(stage, **settings):
            line.fault = Fault.REFUSE
            invited = [invite(stage, f"dead{number}") for number in range(people)]
            until(lambda: len(_mails(stage, "error IS NOT NULL")) >= people)
            expect(not box.received, "a dead server received mail")
            stage.kill()
            line.fault = Fault.NONE
            for number in range(kills):
                _make_due(stage)
                invited.append(_killed_as_it_sends(stage, box, f"kill{number}"))
            _make_due(stage)
            stage.start()
            invited += [invite(stage, f"after{number}") for number in range(people)]
            until(lambda: not _mails(stage, "state = 'pending'"), 60)
    states = Counter(state for state, _ in _mails(stage, "kind = 'invitation'"))
    expect(set(states) == {"sent"}, f"mails ended as {states}")
    arrived = Counter(box.recipients)
    expect(set(arrived) == set(invited), f"lost: {set(invited) - set(arrived)}")
    twice = sum(arrived.values()) - len(arrived)
    expect(twice <= kills, f"{twice} duplicates of {kills} kills")
    marks = {(one["To"], one["Message-ID"]) for one in box.received}
    expect(len(marks) == len(arrived), "a duplicate has another Message-ID")
    return {"mails": len(arrived), "SIGKILLs": kills, "mails twice": twice}


def _killed_as_it_sends(stage: Stage, box: Mailbox, name: str) -> str:
    """Start the server; kill it after a mail arrives, before that is recorded; return the name."""
    may_die, doomed = threading.Event(), threading.Event()

    def die() -> None:
        may_die.wait(30)
        if not doomed.is_set():
            stage.kill()
            doomed.set()

    box.on_text = die
    stage.start()
    invited = invite(stage, name)
    may_die.set()
    expect(doomed.wait(30), "no mail was sent")
    box.on_text = None
    return invited


def invite(stage: Stage, name: str) -> str:
    address = f"{name}@example.org"
    form = urlencode({"display_name": f"Person {name}", "email": address, "by_mail": "true"})
    answer = owner(stage, "POST", "/people", form.encode(), Content_Type=FORM, Accept="text/html")
    expect(answer.status == 200, f"an invitation was {answer.status}")
    return address


def _mails(stage: Stage, condition: str) -> list[tuple[str, int]]:
    with stage.engine.connect() as connection:
        found = connection.execute(sa.text(f"SELECT state, attempts FROM mails WHERE {condition}"))
        return [(state, attempts) for state, attempts in found]


def _make_due(stage: Stage) -> None:
    """Make all retries of mail due; no server may be running."""
    now = int(time.time() * 1000)
    statement = sa.text("UPDATE mails SET due_at = :now WHERE state = 'pending' AND due_at > :now")
    with stage.engine.begin() as connection:
        connection.execute(statement, {"now": now})


def forges(stage: Stage, kills: int, tickets: int = 6) -> Figures:
    """A code host delivers twice, out of order, and again after a SIGKILL: the end state is one."""
    assert stage.site is not None
    site, ledger, chance = stage.site, stage.ledger, random.Random(20261126)
    moves = [{"project_id": site.project, "state_id": site.states[-1]}]
    body = {
        "name": "Forge",
        "forge": "github",
        "project_ids": [site.project],
        "on_merge": moves,
        "secret": FORGE_SECRET,
    }
    made = owner(stage, "POST", "/api/v1/integrations", body)
    expect(made.status == 201, f"the integration was {made.status}")
    path = f"/integrations/{made.json['id']}/events"
    sent = 0
    for _ in range(kills):
        named = {}
        for _ in range(tickets):
            title = ledger.title()
            answer = site.ask("POST", f"/projects/{site.project}/tickets", {"title": title}).json
            ledger.tickets[answer["id"]] = title
            named[answer["id"]] = answer["display_id"]
        deliveries = [one for name in named.values() for one in _lifetime(name)] * 2
        chance.shuffle(deliveries)
        killer = threading.Timer(chance.uniform(0.02, 0.3), stage.kill)
        killer.start()
        with ThreadPoolExecutor(4) as pool:
            left = [one for one in pool.map(_sender(stage, path), deliveries) if one is not None]
        killer.join()
        stage.start()
        with ThreadPoolExecutor(4) as pool:
            lost = [one for one in pool.map(_sender(stage, path), left) if one is not None]
        expect(not lost, f"{len(lost)} deliveries were not accepted")
        sent += len(deliveries)
        for ticket, name in named.items():
            links = site.ask("GET", f"/tickets/{ticket}/links").json["data"]
            shown = [(one["kind"], one["state"], one["title"]) for one in links]
            expect(shown == [("pull_request", "merged", f"Fixes {name}")], f"{name}: {shown}")
        # The ledger's checker verifies that each was moved exactly once.
        ledger.moves += list(named)
    ended = owner(stage, "DELETE", f"/api/v1/integrations/{made.json['id']}")
    expect(ended.status == 204, f"the end of the integration was {ended.status}")
    return {"deliveries": sent, "SIGKILLs": kills}


def _lifetime(name: str) -> list[bytes]:
    """Return the deliveries of a pull request from its first commit to its merge."""
    number = int(name.partition("-")[2])
    found = []
    for second, state in enumerate(("draft", "open", "closed", "open", "merged")):
        action = "closed" if state in ("closed", "merged") else "edited"
        _, payload = pull_request(
            "github",
            second,
            action=action,
            state="open" if state == "draft" else state,
            draft=state == "draft",
            title=f"Fixes {name}" if state == "merged" else f"{state} {name}",
        )
        payload["number"] = payload["pull_request"]["number"] = number
        payload["pull_request"]["html_url"] += str(number)
        found.append(json.dumps(payload).encode())
    return found


def _sender(stage: Stage, path: str) -> Callable[[bytes], bytes | None]:
    """Return a function that delivers, and returns the delivery if it was not accepted."""
    served = Served(None, stage.port, None)  # type: ignore[arg-type]  # only its port is used

    def send(body: bytes) -> bytes | None:
        headers = signed("github", "pull_request", body, FORGE_SECRET)
        try:
            answer = served.request("POST", path, body, Content_Type="application/json", **headers)
        except LOST:
            return body
        if answer.status not in (200, 503):
            stage.ledger.surprises.append(f"{answer.status} {answer.body[:200]!r}")
        return None if answer.status == 200 else body

    return send


def sign_on(stage: Stage, kills: int) -> Figures:
    """SIGKILL while a login returns from the provider: no partial accounts, everyone gets in.

    A state and its nonce work once, even if the provider issues its code again.
    """
    provider = Provider()
    settings = {
        "OIDC_ISSUER": provider.issuer,
        "OIDC_CLIENT_ID": CLIENT,
        "OIDC_CLIENT_SECRET": CLIENT_SECRET,
        "OIDC_ADMIT": "all",
        "BASE_URL": f"http://127.0.0.1:{stage.port}",
    } | BEHIND_A_PROXY
    chance, cut = random.Random(20261126), 0
    try:
        with with_settings(stage, **settings):
            for number in range(kills):
                subject = f"subject-{number}"
                login = _begin_login(stage, provider, subject)
                # During the request to the provider, or at any moment of the work after it.
                killer = threading.Timer(chance.uniform(0.0, 0.3), stage.kill)
                killer.start()
                login.attempt()
                killer.join()
                stage.start()
                found = _people(stage, subject)
                expect(found in ((0, 0), (1, 1)), f"after a kill: {found} people, identities")
                cut += found == (0, 0)
                for _ in range(2):
                    login.attempt()
                login.judge()
                login = _begin_login(stage, provider, subject)
                for _ in range(2):
                    login.attempt()
                login.judge()
                expect(login.answers[login.done] == 1, f"the next login was {login.answers}")
                expect(_people(stage, subject) == (1, 1), "the next login made someone else")
    finally:
        provider.stop()
    return {"SIGKILLs": kills, "logins cut off": cut}


def metrics(stage: Stage, kills: int) -> Figures:
    """SIGKILL the older worker under load: /metrics answers, and no counter decreases."""
    assert stage.site is not None
    assert stage.served is not None
    over = threading.Event()
    acknowledged = stage.ledger.tickets
    with load(stage.site, stage.ledger, SCRAPED), ThreadPoolExecutor(1) as pool:
        scraping = pool.submit(_scrape, stage, over)
        try:
            for number in range(kills):
                # Two deaths of one worker within seconds stop the server.
                time.sleep(0.3 if number < stage.settings["WORKERS"] else CRASH_SECONDS)
                workers = stage.served.workers()
                os.kill(workers[0], signal.SIGKILL)
                until(lambda was=workers: _is_replaced(stage, was))  # type: ignore[misc]
            # A dying worker loses what it has not recorded yet, so requests acknowledged before the
            # last death may be missing; later ones may not.
            counted, before = _creates(_scraped(stage)), len(acknowledged)
            until(lambda: len(acknowledged) > before + 4 * SCRAPED)
        finally:
            over.set()
        scrapes, slowest = scraping.result()
    # For each client, one create may be counted but not yet acknowledged.
    due = counted + len(acknowledged) - before - SCRAPED
    with suppress(AssertionError):
        until(lambda: _creates(_scraped(stage)) >= due)
    made = _creates(_scraped(stage))
    expect(made >= due, f"{made} creates were counted, and {due} were acknowledged")
    expect(slowest < 2, f"/metrics did not answer for {slowest:.1f} s")
    return {"workers killed": kills, "scrapes": scrapes, "slowest s": round(slowest, 2)}


def _creates(counted: dict[str, float]) -> int:
    """Return the number of created tickets according to the counters."""
    wanted = f'route="{TICKETS}",status="201"'
    found = [name for name in counted if name.startswith("docket_requests_total{")]
    return int(sum(counted[name] for name in found if wanted in name))


def _is_replaced(stage: Stage, before: list[int]) -> bool:
    assert stage.served is not None
    now = stage.served.workers()
    return len(now) == len(before) and before[0] not in now


def _scraped(stage: Stage) -> dict[str, float]:
    answer = ask(stage, "GET", "/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    expect(answer.status == 200, f"/metrics was {answer.status} {answer.body[:200]!r}")
    return _counters(answer.body.decode())


def _scrape(stage: Stage, over: threading.Event) -> tuple[int, float]:
    """Scrape metrics until it is over; return the count and the longest time without an answer."""
    counted: dict[str, float] = {}
    scrapes, slowest, began = 0, 0.0, time.monotonic()
    while not over.is_set():
        with suppress(*LOST):
            now = _scraped(stage)
            less = [one for one, value in counted.items() if now.get(one, -1.0) < value]
            expect(not less, f"counters that went back: {less[:3]}")
            slowest = max(slowest, time.monotonic() - began)
            counted, scrapes, began = now, scrapes + 1, time.monotonic()
    return scrapes, max(slowest, time.monotonic() - began)


def _counters(text: str) -> dict[str, float]:
    """Parse the counters of the Prometheus format, histograms included, by name and labels."""
    lines = [line.rpartition(" ") for line in text.splitlines() if not line.startswith("#")]
    kinds = ("_total", "_count", "_sum", "_bucket")
    return {
        name: float(value) for name, _, value in lines if name.partition("{")[0].endswith(kinds)
    }


def _begin_login(stage: Stage, provider: Provider, subject: str) -> Once:
    """A login whose browser returns from the provider, possibly several times."""
    answer = ask(stage, "GET", "/login/oidc", Accept="text/html")
    expect(answer.status == 303, f"the way to the provider was {answer.status}")
    asked = dict(parse_qsl(urlsplit(answer.headers["Location"]).query))
    code = provider.grant(
        asked, sub=subject, email=f"{subject}@example.org", preferred_username=f"p.{subject}"
    )
    back, grant = {"state": asked["state"], "code": code, "iss": provider.issuer}, provider.grants
    cookie = "; ".join(one.split(";")[0] for one in answer.headers.get_all("Set-Cookie", []))
    given, before = grant[code], stage.count(SESSIONS, subject=subject)

    def come_back() -> Answer:
        grant[code] = given
        path = f"/login/oidc/callback?{urlencode(back)}"
        answer = ask(stage, "GET", path, cookie=cookie, Accept="text/html")
        if answer.status == 303:
            expect("app_session=" in str(answer.headers), "a login gave no session")
        return answer

    return Once(
        f"the login of {subject} at the provider",
        come_back,
        303,
        422,
        lambda: stage.count(SESSIONS, subject=subject) - before,
        anew=lambda: _begin_login(stage, provider, subject).ask(),
    )


def _people(stage: Stage, subject: str) -> tuple[int, int]:
    """Return the number of people with this subject's address, and of identities linked to them."""
    given = {"email": f"{subject}@example.org", "subject": subject}
    return stage.count(PEOPLE, **given), stage.count(IDENTITIES, **given)
