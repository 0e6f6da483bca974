"""flask rotate-secret-key: stored secrets open under the new key, even after an interruption."""

import os
import stat

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from app import create_app
from app.accounts import second_factor
from app.accounts.models import SecondFactor
from app.config import Settings, SettingsError
from app.database import encryption
from app.database.encryption import SecretColumn
from app.database.locks import sole_use_of
from app.database.session import reading, run_write, session
from app.integrations import service as integrations
from app.integrations.models import Integration
from app.webhooks import service as webhooks
from app.webhooks.models import Webhook
from tests.support.story import ok, refused

OLD = "the old key of an installation, long enough"
NEW = "the new key of an installation, long enough"
HOOK = {"url": "https://receiver.example/hook", "event_types": ["ticket.created"]}


@pytest.fixture
def hooks(cast):
    """Create three webhooks; return their secrets."""
    made = {}
    for number in range(3):
        secret = f"{number}" * 32
        made[ok(cast.ada.post("/webhooks", HOOK | {"secret": secret}), 201)["id"]] = secret
    return made


@pytest.fixture
def as_if_replaced(app, monkeypatch):
    """The application as after a restart with a new key."""
    before = app.config["SECRET_KEY"]
    monkeypatch.setitem(app.config, "SECRET_KEY", NEW)
    monkeypatch.setitem(app.config, "SECRET_KEY_FALLBACKS", [before])
    settings = app.config["SETTINGS"]
    given = {"secret_key_previous": before, "secret_key": NEW, "key_kept_in": None}
    for name, value in given.items():
        monkeypatch.setitem(vars(settings), name, value)


def opened(app):
    with app.app_context(), reading():
        return {
            row.id: (webhooks.SECRETS.decrypt(row) or b"").decode()
            for row in session.query(Webhook).all()
        }


def test_secrets_of_integrations_are_sealed_anew_too(app, cast, as_if_replaced, flask):
    body = {"name": "GitHub", "forge": "github", "project_ids": [cast.open_project]}
    app.config["SECRET_KEY"], app.config["SECRET_KEY_FALLBACKS"] = (
        app.config["SECRET_KEY_FALLBACKS"][0],
        [],
    )
    secret = ok(cast.ada.post("/integrations", body), 201)["secret"]
    app.config["SECRET_KEY"], app.config["SECRET_KEY_FALLBACKS"] = NEW, [app.config["SECRET_KEY"]]
    assert "encrypted under the previous key: 1" in flask("doctor")
    flask("rotate-secret-key")
    app.config["SECRET_KEY_FALLBACKS"] = []
    with app.app_context(), reading():
        (row,) = session.query(Integration).all()
        assert (integrations.SECRETS.decrypt(row) or b"").decode() == secret


def test_what_was_sealed_before_opens_and_is_sealed_anew(app, hooks, as_if_replaced, flask):
    assert opened(app) == hooks
    assert "secrets encrypted under the previous key: 3" in flask("doctor")
    said = flask("rotate-secret-key")
    assert "Webhook secrets under the new key: 3" in said
    assert "The previous key is no longer needed." in said
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert opened(app) == hooks
    assert "previous" not in flask("doctor")


def test_an_interrupted_rotation_goes_on(app, hooks, as_if_replaced, flask, monkeypatch):
    done = []

    def stops_in_the_middle(column, row_id):
        if len(done) == 1:
            raise KeyboardInterrupt
        done.append(row_id)
        return encrypt_anew(column, row_id)

    encrypt_anew = SecretColumn.encrypt_anew
    monkeypatch.setattr(SecretColumn, "encrypt_anew", stops_in_the_middle)
    flask("rotate-secret-key", code=130)
    assert opened(app) == hooks
    monkeypatch.setattr(SecretColumn, "encrypt_anew", encrypt_anew)
    flask("rotate-secret-key")
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert opened(app) == hooks


def test_without_the_previous_key_it_says_how(flask, hooks):
    assert "SECRET_KEY_PREVIOUS" in flask("rotate-secret-key", code=1)


def test_a_secret_that_neither_key_opens_is_counted(app, hooks, as_if_replaced, flask):
    with app.app_context():

        def damage():
            session.get(Webhook, next(iter(hooks))).sealed_secret = os.urandom(60)

        run_write(damage)
    said = flask("rotate-secret-key")
    assert "under the new key: 2" in said
    assert "Decrypted by neither key: 1" in said


def test_a_webhook_looks_the_same_afterwards(cast, hooks, as_if_replaced, flask):
    first = next(iter(hooks))
    before = ok(cast.ada.get(f"/webhooks/{first}"))
    flask("rotate-secret-key")
    assert ok(cast.ada.get(f"/webhooks/{first}")) == before


def test_values_of_the_first_release_open(app, cast, hooks, as_if_replaced, flask):
    """They have no header."""
    first = next(iter(hooks))
    with app.app_context():

        def as_it_was():
            (old,) = app.config["SECRET_KEY_FALLBACKS"]
            key = encryption._key(old, f"webhook:{first}")  # the format is what is tested
            nonce = os.urandom(12)
            sealed = nonce + AESGCM(key).encrypt(nonce, hooks[first].encode(), None)
            session.get(Webhook, first).sealed_secret = sealed

        run_write(as_it_was)
    assert opened(app) == hooks
    flask("rotate-secret-key")
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert opened(app) == hooks


def test_answers_to_retries_outlive_the_rotation(cast, app, hooks, as_if_replaced, flask):
    previous = app.config["SECRET_KEY_FALLBACKS"]
    now = app.config["SECRET_KEY"]
    tickets, body = f"/projects/{cast.open_project}/tickets", {"title": "Once"}
    keyed = {"Idempotency-Key": "one create"}
    app.config.update(SECRET_KEY=previous[0], SECRET_KEY_FALLBACKS=[])
    first = ok(cast.ada.post(tickets, body, headers=keyed), 201)
    app.config.update(SECRET_KEY=now, SECRET_KEY_FALLBACKS=previous)
    assert cast.ada.post(tickets, body, headers=keyed).json == first
    assert "Keep the previous key until 20" in flask("rotate-secret-key")
    app.config["SECRET_KEY_FALLBACKS"] = []
    lost = cast.ada.post(tickets, body, headers=keyed)
    refused(lost, 409, "resource.conflict")


class TestAKeyThatDocketKeeps:
    @pytest.fixture
    def kept(self, tmp_path):
        environ = {"INSTANCE_DIR": str(tmp_path)}
        app = create_app(Settings.from_env(environ))
        invoke = app.test_cli_runner().invoke
        sealed = {}
        with app.app_context():
            sealed["value"] = encryption.encrypt(b"kept", "a test")
        return environ, invoke, sealed["value"]

    def test_it_is_replaced_and_the_old_one_kept(self, kept, tmp_path):
        environ, invoke, sealed = kept
        old = (tmp_path / "secret_key").read_text()
        create_schema(invoke)
        assert invoke(args=["rotate-secret-key"]).exit_code == 0
        assert (tmp_path / "secret_key_previous").read_text() == old
        assert (tmp_path / "secret_key").read_text() != old
        for name in ("secret_key", "secret_key_previous"):
            assert stat.S_IMODE((tmp_path / name).stat().st_mode) == 0o600
        with create_app(Settings.from_env(environ)).app_context():
            assert encryption.decrypt(sealed, "a test") == b"kept"

    def test_a_running_server_keeps_it(self, kept, tmp_path):
        _, invoke, _sealed = kept
        create_schema(invoke)
        old = (tmp_path / "secret_key").read_text()
        with sole_use_of(tmp_path / "docket.db"):
            ended = invoke(args=["rotate-secret-key"])
        assert ended.exit_code == 1
        assert "Stop it first" in ended.output
        assert (tmp_path / "secret_key").read_text() == old


def create_schema(invoke):
    password = "a long enough phrase for a test"
    ended = invoke(args=["setup-admin", "--username", "ada", "--password", password])
    assert ended.exit_code == 0, ended.output


def test_a_weak_key_can_be_replaced(tmp_path):
    given = {"INSTANCE_DIR": str(tmp_path), "SECRET_KEY": NEW, "SECRET_KEY_PREVIOUS": "weak"}
    assert Settings.from_env(given).secret_key_previous == "weak"
    with pytest.raises(SettingsError):
        Settings.from_env(given | {"SECRET_KEY": "weak"})


@pytest.fixture
def factor(app, cast):
    """The secret of ada's second factor."""
    secret = b"a secret of 20 bytes"

    def work():
        sealed = second_factor.SECRETS.encrypt(cast.ada.user_id, secret)
        row = SecondFactor(
            user_id=cast.ada.user_id, sealed_secret=sealed, created_at=0, enabled_at=1, last_step=0
        )
        session.add(row)

    with app.app_context():
        run_write(work)
    return secret


def secret_of_factor(app):
    with app.app_context(), reading():
        return second_factor.SECRETS.decrypt(session.query(SecondFactor).one())


def test_second_factors_are_sealed_anew(app, factor, as_if_replaced, flask):
    assert secret_of_factor(app) == factor
    assert "secrets encrypted under the previous key: 1" in flask("doctor")
    assert "Second factors under the new key: 1" in flask("rotate-secret-key")
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert secret_of_factor(app) == factor


def test_second_factors_that_no_key_opens_are_reported(app, factor, as_if_replaced, flask):
    app.config["SECRET_KEY_FALLBACKS"] = []
    assert secret_of_factor(app) is None
    assert "second factors that cannot be decrypted: 1" in flask("doctor", code=1)
    app.config["SECRET_KEY_FALLBACKS"] = ["a third key of the tests, which is long enough"]
    assert "Decrypted by neither key: 1. Run 'flask users disable-totp'" in flask(
        "rotate-secret-key"
    )
