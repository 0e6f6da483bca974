"""Faults of credentials: codes, passkeys, links, feeds, and unsubscribing from notices.

Each works once, or ends permanently, no matter what is killed meanwhile.
"""

import itertools
import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from tests.accounts.second_factors import Phone
from tests.support.authenticator import Authenticator
from tests.support.mailbox import Mailbox, mail_server
from tests.support.serving import Answer, until
from tests.torture.doors import BEHIND_A_PROXY, ask, invite, owner, with_settings
from tests.torture.faults import Figures, expect
from tests.torture.ledger import Once
from tests.torture.stage import Stage

API = "/api/v1"
OWN = f"{API}/users/me"
PASSWORD = "correct horse battery"
NEW_PASSWORD = urlencode({"password": "a sentence of their own"}).encode()
# Simultaneous tries: a username has five attempts, and two are left for after the kill.
TRIES = 3
CLIENTS = 8
NOTICES_MS = 400
CODE, PASSKEY = '%"password_and_code"%', '%"passkey"%'

EVENTS = """SELECT count(*) FROM audit_events WHERE event_type = :kind AND target_id = :target
    AND CAST(payload AS TEXT) LIKE :payload"""
NOTICES = "SELECT count(*) FROM mails WHERE user_id = :person AND kind IN ('notice', 'digest')"
PENDING = "SELECT count(*) FROM mails WHERE state = 'pending'"
UNSUBSCRIBED = """SELECT count(*) FROM notice_choices
    WHERE user_id = :person AND frequency = 'off'"""
# States of people, passkeys and sessions that no kill may leave behind.
BY_HALF = {
    "two-factor that is on without its codes": """SELECT count(*) FROM second_factors f
        WHERE f.enabled_at IS NOT NULL
        AND 10 <> (SELECT count(*) FROM recovery_codes r WHERE r.user_id = f.user_id)
        + (SELECT count(*) FROM audit_events e WHERE e.target_id = f.user_id
        AND e.event_type = 'user.recovery_code_used')""",
    "recovery codes without two-factor": """SELECT count(*) FROM recovery_codes
        WHERE user_id NOT IN (SELECT user_id FROM second_factors WHERE enabled_at IS NOT NULL)""",
    "sessions of a passkey that was removed": """SELECT count(*) FROM sessions
        WHERE passkey_id IS NOT NULL AND passkey_id NOT IN (SELECT id FROM passkeys)""",
    "passkeys that differ from their events": """SELECT (SELECT count(*) FROM passkeys)
        - (SELECT count(*) FROM audit_events WHERE event_type = 'user.passkey_added')
        + (SELECT count(*) FROM audit_events WHERE event_type = 'user.passkey_removed')""",
}


@dataclass
class Person:
    """A person and their browser cookie."""

    stage: Stage
    id: str
    name: str
    cookie: str

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Return the JSON of a successful response."""
        answer = ask(self.stage, method, path, body, cookie=self.cookie)
        expect(answer.status < 300, f"{method} {path}: {answer.status} {answer.body[:200]!r}")
        return answer.json if answer.body else None

    def log_in(self, code: str | None = None) -> Answer:
        body = {"username": self.name, "password": PASSWORD} | ({"code": code} if code else {})
        return ask(self.stage, "POST", f"{API}/auth/login", body)

    def phone(self) -> Phone:
        """Return an authenticator app whose two-factor setup awaits its second code."""
        made = self.call("POST", f"{OWN}/totp", {"current_password": PASSWORD})
        return Phone(made["secret"])

    def enrolled(self) -> tuple[Phone, str]:
        """Enable two-factor authentication; return the app and a recovery code."""
        phone = self.phone()
        on = self.call("POST", f"{OWN}/totp/confirm", {"code": phone.code()})
        return phone, on["recovery_codes"][0]

    def new_passkey(self) -> tuple[Authenticator, dict[str, Any]]:
        """Return a device and the request body that registers it."""
        device = Authenticator(f"http://localhost:{self.stage.port}")
        path = f"{OWN}/passkeys/options"
        begun = self.call("POST", path, {"current_password": PASSWORD})
        made = device.make(begun["options"])
        return device, {"name": "Phone", "state": begun["state"], **made}

    def has_events(self, kind: str, payload: str = "%", target: str = "") -> Callable[[], int]:
        """Return a function that counts new events of a kind for this person or ``target``."""
        given = {"kind": kind, "target": target or self.id, "payload": payload}
        before = self.stage.count(EVENTS, **given)
        return lambda: self.stage.count(EVENTS, **given) - before


def credentials(stage: Stage, kills: int) -> Figures:
    """SIGKILL while people enroll, log in with codes and passkeys, reset passwords and revoke.

    Codes, challenges and links work once; removed or revoked ones are never accepted again;
    unsubscribed people get no further notices.
    """
    chance, asked = random.Random(20261126), 0
    with mail_server() as box:
        settings = {
            "SMTP_URL": f"smtp://127.0.0.1:{box.port}?starttls=off",
            "MAIL_FROM": "docket@mail.example.org",
            "NOTICES_MS": NOTICES_MS,
        } | BEHIND_A_PROXY
        with with_settings(stage, **settings):
            ticket = _ticket(stage)
            still = _reader(stage, box, ticket, "still")
            for number in range(kills):
                gone = _reader(stage, box, ticket, f"gone{number}")
                _say(stage, ticket)
                uses = _uses(stage, box, gone, number)
                _press(stage, uses, chance)
                for one in uses:
                    one.judge()
                    asked += one.answers.total()
                for what, statement in BY_HALF.items():
                    expect(stage.count(statement) == 0, what)
                _check_end_of_notices(stage, box, ticket, gone, still)
    return {"SIGKILLs": kills, "requests": asked}


def _press(stage: Stage, uses: list[Once], chance: random.Random) -> None:
    """Attempt each several times at once; kill the server amid the answers, and try again."""
    tries = uses * TRIES
    chance.shuffle(tries)
    answers, fatal = itertools.count(), chance.randrange(len(tries) // 2)

    def attempt(one: Once) -> None:
        one.attempt()
        if next(answers) == fatal:
            time.sleep(chance.uniform(0.0, 0.02))
            stage.kill()

    for turn in (tries, uses * 2):
        with ThreadPoolExecutor(CLIENTS) as pool:
            list(pool.map(attempt, turn))
        if turn is tries:
            stage.start()


def _uses(stage: Stage, box: Mailbox, gone: Person, number: int) -> list[Once]:
    """Prepare everything that works once; one person waits for a notice."""
    person = _person(stage, f"person{number}")
    return [
        _reset(stage, box, gone),
        _unsubscribe(stage, box, gone),
        _feed(stage, person),
        _removal(stage, person),
        *_passkeys(stage, person),
        # Last, because codes expire after a minute.
        *_codes(stage, number),
        _enrolment(stage, person),
    ]


def _codes(stage: Stage, number: int) -> list[Once]:
    coded, recovered = _person(stage, f"coded{number}"), _person(stage, f"recovered{number}")
    code, recovery_code = coded.enrolled()[0].code(), recovered.enrolled()[1]
    return [
        Once(
            f"the {what} of {one.name}",
            lambda one=one, value=value: one.log_in(value),  # type: ignore[misc]
            200,
            401,
            one.has_events("auth.login.success", CODE),
        )
        for one, what, value in (
            (coded, "code", code),
            (recovered, "recovery code", recovery_code),
        )
    ]


def _enrolment(stage: Stage, person: Person) -> Once:
    phone = person.phone()
    # The later code is valid longer.
    body = {"code": [phone.code() for _ in range(2)][-1]}
    return Once(
        f"two-factor authentication of {person.name}",
        lambda: ask(stage, "POST", f"{OWN}/totp/confirm", body, cookie=person.cookie),
        200,
        409,
        person.has_events("user.totp_enabled"),
    )


def _passkeys(stage: Stage, person: Person) -> list[Once]:
    """A passkey to add, and one that logs in: with its signature, and with a copy of its count."""
    _, wanted = person.new_passkey()
    device, body = person.new_passkey()
    person.call("POST", f"{OWN}/passkeys", body)
    device.count = 1
    signed = [_signed(stage, device) for _ in range(2)]
    logins = person.has_events("auth.login.success", PASSKEY)
    return [
        Once(
            f"the passkey that {person.name} adds",
            lambda: ask(stage, "POST", f"{OWN}/passkeys", wanted, cookie=person.cookie),
            201,
            422,
            person.has_events("user.passkey_added"),
        ),
        Once(
            f"a count of the passkey of {person.name}",
            # Both responses have the same count: once one is accepted, the other is refused.
            lambda: ask(stage, "POST", f"{API}/auth/passkey", random.choice(signed)),
            200,
            401,
            logins,
            anew=lambda: ask(stage, "POST", f"{API}/auth/passkey", _signed(stage, device)),
        ),
    ]


def _signed(stage: Stage, device: Authenticator) -> dict[str, Any]:
    """Return a device's answer to a new challenge."""
    begun = ask(stage, "POST", f"{API}/auth/passkey/options", {}).json
    return {"state": begun["state"], **device.answer(begun["options"])}


def _removal(stage: Stage, person: Person) -> Once:
    """The owner removes a passkey; that also ends the session it started."""
    device, body = person.new_passkey()
    passkey = person.call("POST", f"{OWN}/passkeys", body)["id"]
    entered = ask(stage, "POST", f"{API}/auth/passkey", _signed(stage, device))
    cookie = entered.headers["Set-Cookie"].split(";")[0]
    path = f"{API}/users/{person.id}/passkeys/{passkey}"
    return Once(
        f"the end of a passkey of {person.name} and of its session",
        lambda: owner(stage, "DELETE", path),
        204,
        404,
        person.has_events("user.passkey_removed"),
        is_alive=lambda: ask(stage, "GET", f"{API}/auth/me", cookie=cookie).status == 200,
    )


def _feed(stage: Stage, person: Person) -> Once:
    made = person.call("POST", f"{OWN}/feeds", {"kind": "calendar"})
    path = "/feed/" + made["address"].split("/feed/")[1]
    expect(ask(stage, "GET", path).status == 200, "a new feed does not answer")
    return Once(
        f"the end of a feed of {person.name}",
        lambda: ask(stage, "DELETE", f"{OWN}/feeds/{made['id']}", cookie=person.cookie),
        204,
        404,
        person.has_events("feed.revoked", target=made["id"]),
        is_alive=lambda: ask(stage, "GET", path).status == 200,
    )


def _reset(stage: Stage, box: Mailbox, person: Person) -> Once:
    """A password reset link."""
    seen, form = len(box.received), urlencode({"email": _address(person.name)}).encode()
    expect(ask(stage, "POST", "/forgot-password", form).status == 200, "no reset was sent")
    path = _link_in(box, person.name, seen)
    return Once(
        f"the link to a new password of {person.name}",
        lambda: ask(stage, "POST", path, NEW_PASSWORD),
        303,
        404,
        person.has_events("user.updated", '%"password_changed"%'),
    )


def _unsubscribe(stage: Stage, box: Mailbox, person: Person) -> Once:
    """One-click unsubscribe from a notice; it may be repeated."""
    link = until(lambda: _notices(box, person))[0]
    path = "/mail/unsubscribe/" + link.strip("<>").split("/mail/unsubscribe/")[1]
    form = urlencode({"List-Unsubscribe": "One-Click"}).encode()
    return Once(
        f"the end of the notices of {person.name}",
        lambda: ask(stage, "POST", path, form),
        200,
        200,
        lambda: stage.count(UNSUBSCRIBED, person=person.id),
        is_alive=lambda: stage.count(UNSUBSCRIBED, person=person.id) == 0,
    )


def _notices(box: Mailbox, person: Person) -> list[str]:
    """Return the unsubscribe links in the notices that a person got."""
    address = _address(person.name)
    own = [one for one in list(box.received) if one["To"] == address]
    return [str(one["List-Unsubscribe"]) for one in own if one["List-Unsubscribe"]]


def _check_end_of_notices(
    stage: Stage, box: Mailbox, ticket: str, gone: Person, still: Person
) -> None:
    """Comment, and check that the subscriber gets a notice and the unsubscribed person none."""
    before, words = stage.count(NOTICES, person=gone.id), f"without-{gone.name}"
    _say(stage, ticket, words)
    until(lambda: _told(box, still, words))
    until(lambda: stage.count(PENDING) == 0)
    expect(not _told(box, gone, words), f"{gone.name} got a notice again")
    expect(stage.count(NOTICES, person=gone.id) == before, f"{gone.name} gets notices again")


def _told(box: Mailbox, person: Person, words: str) -> bool:
    """Return whether a person got a mail that contains these words."""
    return any(
        one["To"] == _address(person.name) and words in box.text(index)
        for index, one in enumerate(list(box.received))
    )


def _person(stage: Stage, name: str) -> Person:
    """Create a person with a password, and log in."""
    answer = owner(stage, "POST", f"{API}/users", {"username": name, "password": PASSWORD})
    expect(answer.status == 201, f"{name} was {answer.status}")
    person = Person(stage, answer.json["id"], name, "")
    person.cookie = person.log_in().headers["Set-Cookie"].split(";")[0]
    return person


def _reader(stage: Stage, box: Mailbox, ticket: str, name: str) -> Person:
    """Invite a person by mail who watches a ticket and gets notices about it."""
    invite(stage, name)
    entered = ask(stage, "POST", _link_in(box, name), NEW_PASSWORD)
    expect(entered.status == 303, f"an invitation led to {entered.status}")
    reader = Person(stage, "", name, entered.headers["Set-Cookie"].split(";")[0])
    reader.id = reader.call("GET", f"{API}/auth/me")["id"]
    reader.call("PATCH", f"{OWN}/notices", {"frequency": "messages"})
    reader.call("POST", f"{API}/tickets/{ticket}/watchers", {"user_id": reader.id})
    return reader


def _link_in(box: Mailbox, name: str, seen: int = 0) -> str:
    """Return the path of the password link in a mail received after the first ``seen`` ones."""

    def paths() -> list[str]:
        return [
            "/password/" + box.text(index).split("/password/")[1].split()[0]
            for index in range(seen, len(box.received))
            if box.received[index]["To"] == _address(name) and "/password/" in box.text(index)
        ]

    return str(until(paths)[0])


def _address(name: str) -> str:
    return f"{name}@example.org"


def _ticket(stage: Stage) -> str:
    assert stage.site is not None
    title = stage.ledger.title()
    path = f"{API}/projects/{stage.site.project}/tickets"
    ticket = str(owner(stage, "POST", path, {"title": title}).json["id"])
    stage.ledger.tickets[ticket] = title
    return ticket


def _say(stage: Stage, ticket: str, words: str = "News") -> None:
    """Comment on a ticket, which notifies its watchers."""
    path = f"{API}/tickets/{ticket}/comments"
    stage.ledger.comments.append(owner(stage, "POST", path, {"body": words}).json["id"])
