"""Settings: defaults, accepted forms, and the error message of each rejected form."""

import os
import re
import stat
import threading
import tomllib
from dataclasses import fields
from pathlib import Path

import pytest

from app import config
from app.config import ROOT, VERSION, Settings, SettingsError
from app.environment import mail_server

SECRET = "thirty-two characters, at least!!"


@pytest.fixture
def read(tmp_path):
    def read(**environ):
        return Settings.from_env({"INSTANCE_DIR": str(tmp_path), **environ})

    return read


def on_postgresql(**environ):
    return {"DATABASE_URL": "postgresql://docket@db/docket", "SECRET_KEY": SECRET, **environ}


def test_defaults_are_those_of_the_specification(read, tmp_path):
    settings = read()
    assert settings.host == "127.0.0.1"
    assert settings.port == 8000
    assert settings.base_url == "http://127.0.0.1:8000"
    assert settings.app_name == "Docket"
    assert settings.database_url == f"sqlite:///{tmp_path}/docket.db"
    assert settings.database_path == tmp_path / "docket.db"
    assert settings.is_sqlite
    assert not settings.cookie_secure
    assert settings.trusted_proxies == 0
    assert settings.max_request_bytes == 4_194_304
    assert settings.idempotency_key_ttl_hours == 24
    assert settings.session_idle_minutes == 10_080
    assert settings.session_absolute_days == 30
    assert settings.bot_can_edit_global_wiki_default is False
    assert settings.default_rate_limit_per_minute == 60
    assert settings.bot_auth_audit_minutes == 60
    assert settings.tool_invocation_log_retention_days == 90
    assert settings.docs_enabled is False
    assert settings.metrics_token == ""
    assert settings.log_level == "INFO"
    assert settings.threads == 4
    assert settings.user_agent == f"docket/{VERSION}"


def test_a_blank_setting_has_its_default(read):
    assert read(PORT="", APP_NAME="  ").port == 8000


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({"HOST": "0.0.0.0", "PORT": "80"}, "http://0.0.0.0:80"),
        ({"HOST": "::1"}, "http://[::1]:8000"),
        ({"HOST": "[::1]"}, "http://[::1]:8000"),
        ({"BASE_URL": "https://Tickets.Example.org/"}, "https://tickets.example.org"),
        ({"BASE_URL": "http://[2001:db8::1]:8080"}, "http://[2001:db8::1]:8080"),
    ],
)
def test_the_outside_address(read, environ, expected):
    assert read(**environ).base_url == expected


def test_cookies_are_for_tls_where_the_outside_address_is(read):
    assert read(BASE_URL="https://tickets.example.org").cookie_secure


@pytest.mark.parametrize("given", ["postgresql://u:p%40ss@h:1/d", "postgres://u:p%40ss@h:1/d"])
def test_postgresql_addresses_name_the_driver(read, given):
    settings = read(DATABASE_URL=given, SECRET_KEY=SECRET)
    assert settings.database_url == "postgresql+psycopg://u:p%40ss@h:1/d"
    assert not settings.is_sqlite
    assert settings.database_path is None


def test_a_relative_sqlite_file_is_where_the_server_is_started(read, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert read(DATABASE_URL="sqlite:///other.db").database_path == tmp_path / "other.db"


def test_user_agent_is_one_token(read):
    assert read(APP_NAME="Tücher & Co").user_agent == f"t-cher-co/{VERSION}"


@pytest.mark.parametrize(
    ("environ", "beginning"),
    [
        ({"HOST": "not a host"}, "HOST must be a host name or an IP address, not 'not a host'."),
        ({"PORT": "0"}, "PORT must be a whole number from 1 to 65535, not '0'."),
        ({"PORT": "８０００"}, "PORT must be a whole number from 1 to 65535, not '８０００'."),
        ({"PORT": "80.5"}, "PORT must be a whole number from 1 to 65535, not '80.5'."),
        (
            {"TRUSTED_PROXIES": "11"},
            "TRUSTED_PROXIES must be a whole number from 0 to 10, not '11'.",
        ),
        ({"DOCS_ENABLED": "maybe"}, "DOCS_ENABLED must be true or false, not 'maybe'."),
        (
            {"LOG_LEVEL": "loud"},
            "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, not 'LOUD'.",
        ),
        ({"SECRET_KEY": "short"}, "SECRET_KEY must have at least 32 characters."),
        ({"SECRET_KEY": "thirty-one characters, too few"}, "SECRET_KEY must have at least 32"),
        ({"SECRET_KEY": "abcab" * 20}, "SECRET_KEY must be hard to guess: it has fewer than 6"),
        ({"ALLOWED_HOSTS": "a.example,b c"}, "ALLOWED_HOSTS must list host names such as"),
        ({"ALLOWED_HOSTS": "a.example:80"}, "ALLOWED_HOSTS must list host names such as"),
        (
            {"DATABASE_URL": "mysql://u@h/d"},
            "DATABASE_URL must begin with postgresql:// or sqlite:///.",
        ),
        ({"DATABASE_URL": "nonsense"}, "DATABASE_URL is not a database address."),
        ({"DATABASE_URL": "sqlite://"}, "DATABASE_URL must name a file"),
        ({"DATABASE_URL": "postgresql://u:p@ss@h/d"}, "DATABASE_URL has two @ signs: "),
        ({"DATABASE_URL": "postgresql://h"}, "DATABASE_URL must name a database"),
        (
            {"DATABASE_URL": "sqlite:////nowhere/at/all.db"},
            "DATABASE_URL names a file in a directory",
        ),
        ({"DATABASE_URL": "postgresql://u@h/d"}, "SECRET_KEY must be set with PostgreSQL"),
        ({"SMTP_URL": "mail.example.org", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        ({"SMTP_URL": "smtp://u:p@ss@host", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        ({"SMTP_URL": "smtp://user@host", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        ({"SMTP_URL": "smtp://host:0", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        ({"SMTP_URL": "smtp://host/x", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        ({"SMTP_URL": "smtp://host?tls=no", "MAIL_FROM": "d@x.org"}, "SMTP_URL must be smtp://"),
        (
            {"SMTP_URL": "smtps://host?starttls=off", "MAIL_FROM": "d@x.org"},
            "SMTP_URL must be smtp://",
        ),
        ({"SMTP_URL": "smtp://host"}, "MAIL_FROM must be a sender"),
        ({"SMTP_URL": "smtp://host", "MAIL_FROM": "Docket"}, "MAIL_FROM must be a sender"),
        ({"MAIL_FROM": "d@x.org, e@x.org"}, "MAIL_FROM must be a sender"),
        ({"MAIL_FROM": "d@x.org\nBcc: e@x.org"}, "MAIL_FROM must be a sender"),
        ({"METRICS_TOKEN": "fifteen-letters"}, "METRICS_TOKEN must be 16 to 200 printable ASCII"),
        ({"METRICS_TOKEN": "sixteen and a bit"}, "METRICS_TOKEN must be 16 to 200 printable ASCII"),
        *(
            ({"OIDC_ISSUER": issuer}, "OIDC_ISSUER must be an address such as https://login.")
            for issuer in (
                "http://login.example.org",
                "https://u:p@login.example.org",
                "https://login.example.org?x",
                "login.example.org",
                "https://",
            )
        ),
        ({"OIDC_ISSUER": "https://login.example.org"}, "Single sign-on needs OIDC_ISSUER, "),
        ({"OIDC_CLIENT_SECRET": "x"}, "Single sign-on needs OIDC_ISSUER, "),
        ({"OIDC_ADMIT": "some"}, "OIDC_ADMIT must be one of "),
        ({"OIDC_ALLOWED_DOMAINS": "@example.org"}, "OIDC_ALLOWED_DOMAINS must list host names"),
        ({"PASSWORD_LOGIN": "off"}, "PASSWORD_LOGIN can only be off where OIDC_ISSUER is set"),
        ({"APP_NAME": "a\nb"}, "APP_NAME must be one line of at most 60 printable characters."),
    ],
)
def test_a_wrong_setting_is_named_in_one_sentence(read, environ, beginning):
    with pytest.raises(SettingsError) as raised:
        read(**environ)
    assert raised.value.message.startswith(beginning)
    assert raised.value.message.count(". ") == 0
    assert raised.value.message.endswith(".")


def test_single_sign_on_is_read(read):
    settings = read(
        OIDC_ISSUER="http://127.0.0.1:8080/realms/team/",
        OIDC_CLIENT_ID="docket",
        OIDC_CLIENT_SECRET="hush hush",
        OIDC_ALLOWED_DOMAINS="Example.org, example.com",
        OIDC_ADMIT="all",
        PASSWORD_LOGIN="off",
    )
    # The trailing slash is part of the issuer's name.
    assert settings.oidc_issuer == "http://127.0.0.1:8080/realms/team/"
    assert settings.oidc_allowed_domains == "example.org,example.com"
    assert (settings.oidc_admit, settings.password_login) == ("all", False)
    assert "hush" not in repr(settings)


@pytest.mark.parametrize(
    "given",
    [
        "ftp://example.org",
        "example.org",
        "https://",
        "https://example.org/docket",
        "https://example.org?",
        "https://example.org/#top",
        "https://user@example.org",
        "https://example.org:99999",
        "https://example.org:0",
        "https://[::1",
        "https://exa mple.org",
    ],
)
def test_an_outside_address_is_scheme_host_and_port_only(read, given):
    with pytest.raises(SettingsError, match=r"^BASE_URL must be an address such as "):
        read(BASE_URL=given)


@pytest.mark.parametrize(
    "given", ["mysql://u:hidden-password@h", "postgresql://u:x@hidden-password@h"]
)
def test_no_sentence_repeats_a_database_password(read, given):
    with pytest.raises(SettingsError) as raised:
        read(DATABASE_URL=f"{given}/d")
    assert "hidden-password" not in raised.value.message


def test_there_is_a_process_for_each_core_up_to_four(read, monkeypatch):
    for cores, workers in ((1, 1), (3, 3), (16, 4)):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, cores=cores: set(range(cores)))
        assert read().workers == workers
        assert read(**on_postgresql()).workers == workers
        assert read(WORKERS="7").workers == 7


def test_the_renderers_of_the_docs_must_be_there_to_be_enabled(read, monkeypatch):
    assert read(DOCS_ENABLED="true").docs_enabled
    monkeypatch.setattr(config, "RENDERERS", ("no_such_renderer",))
    with pytest.raises(SettingsError, match=r"^DOCS_ENABLED needs .*make install"):
        read(DOCS_ENABLED="true")


def test_an_instance_directory_that_cannot_be_one_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(SettingsError, match=r"^INSTANCE_DIR must be a directory"):
        Settings.from_env({"INSTANCE_DIR": str(tmp_path / "file")})


def test_the_secret_key_is_made_once_for_its_owner_alone(read, tmp_path):
    made = read().secret_key
    assert len(made) >= 64
    assert read().secret_key == made
    assert stat.S_IMODE((tmp_path / "secret_key").stat().st_mode) == 0o600
    assert [path.name for path in tmp_path.iterdir()] == ["secret_key"]


def test_a_secret_key_that_cannot_be_read_is_said(read, tmp_path):
    (tmp_path / "secret_key").write_bytes(b"SQLite\xff\xfe")
    with pytest.raises(SettingsError, match="secret_key cannot be read"):
        read()


def test_what_is_kept_is_closed_to_other_users_whatever_it_was(tmp_path):
    instance = tmp_path / "instance"
    instance.mkdir()
    names = ("docket.db", "docket.db-wal", "docket.db.write", "secret_key", "secret_key_previous")
    for name in names:
        (instance / name).write_text(SECRET)
        (instance / name).chmod(0o664)
    instance.chmod(0o775)
    Settings.from_env({"INSTANCE_DIR": str(instance)})
    assert stat.S_IMODE(instance.stat().st_mode) == 0o700
    assert {stat.S_IMODE((instance / name).stat().st_mode) for name in names} == {0o600}
    # Do not change modes of a shared directory, and do not create missing files.
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o1777)
    Settings.from_env({"INSTANCE_DIR": str(shared), "SECRET_KEY": SECRET})
    assert stat.S_IMODE(shared.stat().st_mode) == 0o1777
    assert list(shared.iterdir()) == []


def test_a_given_secret_key_is_used_and_none_is_made(read, tmp_path):
    assert read(SECRET_KEY=SECRET).secret_key == SECRET
    assert not (tmp_path / "secret_key").exists()


def test_a_damaged_secret_key_file_is_named(read, tmp_path):
    (tmp_path / "secret_key").write_text("\n")
    with pytest.raises(SettingsError, match=r"^SECRET_KEY \(kept in .*/secret_key\) must have"):
        read()


def test_many_that_start_at_once_agree_on_one_secret_key(tmp_path):
    barrier = threading.Barrier(16)
    keys = []

    def start():
        barrier.wait()
        keys.append(Settings.from_env({"INSTANCE_DIR": str(tmp_path)}).secret_key)

    threads = [threading.Thread(target=start) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(keys) == 16
    assert len(set(keys)) == 1


def test_secrets_do_not_show(read):
    shown = repr(read(**on_postgresql()))
    assert SECRET not in shown
    assert "docket@db" not in shown


def test_every_field_is_documented_beside_it():
    source = Path(config.__file__).read_text()
    ours = [
        one.name
        for one in fields(Settings)
        if not one.name.startswith(("password_", "has_", "key_kept"))
    ]
    for name in ours:
        assert re.search(rf"^    # {name.upper()}: ", source, re.MULTILINE), name


def test_the_version_is_that_of_the_project():
    assert tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"] == VERSION


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.org", ("mail.example.org", 587, "", "", "starttls")),
        ("smtp://u:p%40%3A@h:25?starttls=off", ("h", 25, "u", "p@:", "none")),
        ("smtp://h?starttls=on", ("h", 587, "", "", "starttls")),
        ("smtps://u:p@h", ("h", 465, "u", "p", "implicit")),
    ],
)
def test_the_mail_server(read, url, server):
    settings = read(SMTP_URL=url, MAIL_FROM="Docket <docket@example.org>")
    found = mail_server(settings.smtp_url)
    assert (found.host, found.port, found.username, found.password, found.tls) == server
    assert "p%40" not in repr(settings)
