"""Input from other services and from links: whatever arrives, no response is a 500.

Every feature is on, and hostile input has a valid signature or token. CASES=50000 (make fuzz) tries
more cases, which differ each time.
"""

import base64
import copy
import json
import os
import random
from dataclasses import replace
from urllib.parse import parse_qsl, urlencode, urlsplit

import pytest
from werkzeug.datastructures import Headers

from app.config import Admission
from app.mail import outbox
from app.sign_on.service import CALLBACK
from tests.files.hostile import picture
from tests.integrations.deliveries import FORGES, Connected, checked, pull_request, push, signed
from tests.sign_on.provider import CLIENT, SECRET, Provider
from tests.support.authenticator import Authenticator, decoded, encoded
from tests.support.sizes import IS_LONG
from tests.support.story import make_ticket, ok

pytestmark = pytest.mark.slow

EACH = max(24, int(os.environ.get("CASES", "0")) // 20)
CHANCE = random.Random(None if IS_LONG else 20261126)
HTML = {"Accept": "text/html"}
ODD = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**63, 2**64, 10**400, "", " ", "x", "\x00", "a\x00b"),
    *("\ud800", "\u2028", "\u0663", "x" * 300, "x" * 70_000, "OPEN-1", "OPEN-99999999999", "null"),
    *("9999-99-99T99:99:99Z", "0000-01-01T00:00:00Z", "https://\x00", "https://[", "http://x"),
    *("javascript:alert(1)", "f" * 40, [], {}, [[]], [None] * 200, {"a": {"b": []}}, ["x", 1]),
)


def places(value, path=()):
    """Yield the paths of all parts of a JSON value."""
    yield path
    parts = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value)
        if isinstance(value, list)
        else ()
    )
    for name, part in parts:
        yield from places(part, (*path, name))


def mutated(value):
    """Return the value with up to four parts replaced or removed."""
    value = copy.deepcopy(value)
    for _ in range(CHANCE.randrange(1, 5)):
        path = CHANCE.choice(list(places(value)))
        if not path:
            continue
        parent = value
        for name in path[:-1]:
            parent = parent[name]
        if isinstance(parent, dict) and CHANCE.random() < 0.2:
            del parent[path[-1]]
        else:
            parent[path[-1]] = copy.deepcopy(CHANCE.choice(ODD))
    return value


def scrambled(content):
    """Return the bytes with a few of them changed, removed or repeated."""
    content = bytearray(content)
    for _ in range(CHANCE.randrange(1, 6)):
        at = CHANCE.randrange(len(content) + 1)
        kind = CHANCE.randrange(4)
        if kind == 0:
            content[at:at] = CHANCE.randbytes(CHANCE.randrange(1, 9))
        elif kind == 1:
            del content[at : at + CHANCE.randrange(1, 40)]
        elif kind == 2:
            content[at:at] = content[at : at + CHANCE.randrange(1, 400)]
        elif at < len(content):
            content[at] = CHANCE.randrange(256)
    return bytes(content)


def word():
    """Return a text that can appear in a form or a URL."""
    value = CHANCE.choice(ODD)
    text = value if isinstance(value, str) else json.dumps(value)
    return text.encode("utf-8", "replace").decode()[:2000]


class Doors:
    """Sends requests and collects statuses; a 500 ends the test and shows what was sent."""

    def __init__(self, client, **headers):
        self.client = client
        self.headers = headers
        self.seen = set()

    def ask(self, method, path, **sent):
        headers = Headers({**self.headers, **sent.pop("headers", {})})
        answer = self.client.open(path, method=method, headers=headers, **sent)
        assert answer.status_code < 500 or answer.status_code == 503, (path, sent, answer.text)
        self.seen.add(answer.status_code)
        return answer


@pytest.fixture(name="provider", autouse=True)
def _everything_is_on(app, monkeypatch):
    # No rate limit ends a test early.
    for name in ("reserve", "refund"):
        monkeypatch.setattr(f"app.accounts.throttle.{name}", lambda *_: None)
    before = app.config["SETTINGS"]
    provider = Provider()
    app.config["SETTINGS"] = replace(
        before,
        smtp_url="smtp://127.0.0.1:9",
        mail_from="docket@example.org",
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
        oidc_admit=Admission.ALL,
    )
    yield provider
    provider.stop()
    app.config["SETTINGS"] = before


def test_uploads(cast):
    ticket = make_ticket(cast.ada, cast.open_project)
    page = ok(cast.ada.post("/wiki/pages", {"title": "Words"}), 201)
    rest = Doors(cast.smith.client, **cast.smith.headers)
    paths = [f"/api/v1/tickets/{ticket['id']}/files", f"/api/v1/wiki/pages/{page['id']}/files"]
    for number in range(EACH):
        name = CHANCE.choice(["a.png", "../a", "\u2603" * 90, '"', "a\r\nb", "CON", word()])
        head = f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
        content = picture("PNG") if CHANCE.random() < 0.5 else CHANCE.randbytes(300)
        body = head.encode() + content + b"\r\n--b--\r\n"
        kind = CHANCE.choice(["multipart/form-data; boundary=b"] * 6 + ["multipart/form-data", "x"])
        sent = scrambled(body) if number % 3 else body
        headers = {"Idempotency-Key": word()} if CHANCE.random() < 0.2 else {}
        rest.ask("POST", CHANCE.choice(paths), data=sent, content_type=kind, headers=headers)
    assert {201, 422} <= rest.seen
    assert 503 not in rest.seen


@pytest.mark.parametrize("forge", FORGES)
def test_deliveries_of_forges(cast, forge):
    make_ticket(cast.ada, cast.open_project)
    connected = Connected(cast, forge)
    doors = Doors(cast.nobody.client)
    news = [
        pull_request(forge, 1, body="Fixes OPEN-1", action="closed", state="merged"),
        push(forge, "open-1", "OPEN-1"),
        checked(forge, 1, "failure"),
    ]
    for _ in range(EACH):
        event, payload = CHANCE.choice(news)
        # Includes lone surrogates and large numbers, as JSON can express them.
        body = json.dumps(mutated(payload)).encode()
        kind = "application/json"
        if CHANCE.random() < 0.1:
            body = scrambled(body)
        if CHANCE.random() < 0.2:
            body, kind = urlencode({"payload": body}).encode(), "application/x-www-form-urlencoded"
        doors.ask(
            "POST",
            connected.address,
            data=body,
            headers=signed(forge, event, body),
            content_type=kind,
        )
    assert 200 in doors.seen
    assert not doors.seen - {200, 422}


def begun(doors, provider):
    """Start a login; return the browser's request to the provider, and a code for it."""
    answer = doors.ask("GET", "/login/oidc")
    asked = dict(parse_qsl(urlsplit(answer.location).query))
    claims = mutated(provider.claims(asked["nonce"])) if CHANCE.random() < 0.7 else None
    token = provider.signed(claims) if isinstance(claims, dict) else None
    return {"state": asked["state"], "code": provider.grant(asked, token), "iss": provider.issuer}


@pytest.mark.one_database
def test_what_comes_from_the_provider(app, cast, provider):
    answers, seen = [], set()
    for _ in range(EACH):
        doors = Doors(app.test_client(), **HTML)
        query = begun(doors, provider)
        for name in CHANCE.sample(["state", "code", "iss", "error"], CHANCE.choice([0, 0, 0, 1])):
            query[name] = word()
        answers.append(doors.ask("GET", f"{CALLBACK}?{urlencode(query)}").status_code)
        doors.ask("GET", f"{CALLBACK}?{urlencode(query)}")
        claims = mutated(logout_claims(provider))
        token = provider.signed(claims) if CHANCE.random() < 0.8 else word()
        doors.ask("POST", "/auth/oidc/backchannel-logout", data={"logout_token": token})
        candidate = {"candidate": "x" * CHANCE.randrange(90)}
        doors.ask("POST", "/profile/sign-on", data=candidate)
        seen |= doors.seen
    assert 303 in answers
    assert 503 not in seen


def logout_claims(provider):
    token = provider.logout_token().split(".")[1]
    return json.loads(base64.urlsafe_b64decode(token + "=="))


@pytest.mark.one_database
def test_links_feeds_and_choices(app, cast):
    doors, ada = Doors(app.test_client(), **HTML), Doors(cast.ada.client, **HTML)
    made = ada.ask("POST", "/profile/feeds", data={"about": "activity:OPEN"})
    feed = made.text.split("/feed/")[1].split("/")[0]
    with app.app_context():
        tokens = [feed, outbox.token_of(cast.ada.user_id), cast.ada.user_id, "x" * 43]
    for number in range(EACH):
        token = CHANCE.choice(tokens) if number else feed
        if number and CHANCE.random() < 0.5:
            token = urlencode({"": scrambled(token.encode())})[1:] or "x"
        token = token.replace("%2F", "").replace("/", "") or "x"
        headers = {"If-None-Match": word().encode("latin-1", "replace").decode("latin-1")}
        headers = {name: value for name, value in headers.items() if value.isprintable()}
        for path in ("calendar.ics", "activity.atom"):
            doors.ask("GET", f"/feed/{token}/{path}", headers=headers)
        for path in (f"/mail/confirm/{token}", f"/mail/unsubscribe/{token}", f"/password/{token}"):
            doors.ask("GET", path)
            doors.ask("POST", path, data={"password": word(), "List-Unsubscribe": word()})
        doors.ask("POST", "/forgot-password", data={"email": word()})
        form = {"frequency": CHANCE.choice(["daily", word()]), "zone": word(), "about": word()}
        for path in ("/profile/mail", "/profile/feeds", "/profile/email"):
            ada.ask("POST", path, data=form | {"email": word(), "password": word()})
    assert {200, 404, 422} <= doors.seen
    assert {200, 303, 422} <= ada.seen
    assert 503 not in doors.seen | ada.seen


def altered(answer):
    """Scramble or replace up to two parts of a device's answer; return it and what changed."""
    right = {name: value for name, value in answer.items() if value is not None}
    answer = dict(right)
    for name in CHANCE.sample(sorted(answer), CHANCE.choice([0, 1, 1, 2])):
        kept = encoded(scrambled(decoded(answer[name])))
        answer[name] = kept if CHANCE.random() < 0.7 else word()
    return answer, {name for name in right if answer[name] != right[name]}


@pytest.mark.one_database
def test_passkeys_and_codes(app, cast):
    carol = {"username": "carol", "password": "correct horse battery"}
    ok(cast.ada.post("/users", carol), 201)
    person, doors = Doors(app.test_client()), Doors(app.test_client())
    person.ask("POST", "/api/v1/auth/login", json=carol)
    password = {"current_password": carol["password"]}
    own = "/api/v1/users/me/passkeys"
    begun = person.ask("POST", f"{own}/options", json=password).json
    person.ask("POST", "/api/v1/users/me/totp", json=password)
    device = Authenticator()
    made = device.make(begun["options"])
    for number in range(EACH):
        sent = {"name": word(), "state": begun["state"], **altered(made)[0]}
        person.ask("POST", own, json=sent if number else {**sent, **made, "name": "Key"})
        code = json.dumps({"code": CHANCE.choice(ODD)})
        confirm = "/api/v1/users/me/totp/confirm"
        person.ask("POST", confirm, data=code, content_type="application/json")
        asked = doors.ask("POST", "/api/v1/auth/passkey/options", json={}).json
        device.count += 1
        right = device.answer(asked["options"])
        answer, changed = altered(right) if number else (right, set())
        sent = {"state": asked["state"], **answer}
        if number % 2:
            status = doors.ask("POST", "/login", data=sent, headers=HTML).status_code
        else:
            status = doors.ask("POST", "/api/v1/auth/passkey", json=sent).status_code
        # The handle is not signed, and may be omitted.
        assert changed <= {"user_handle"} or status not in {200, 303}, sent
    assert {201, 422} <= person.seen
    assert {200, 401} <= doors.seen
    assert 503 not in person.seen | doors.seen
