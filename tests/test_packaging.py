"""Image, compose file, unit and proxies: well-formed, consistent with the code, and locked down."""

import ast
import configparser
import json
import os
import re
import shutil
import subprocess
from dataclasses import fields
from pathlib import Path

import pytest
import yaml

from app.config import Settings
from app.http import flask_app
from app.serving.connection import HEAD_SECONDS

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "docs" / "deploy"
SETTINGS = {field.name.upper() for field in fields(Settings)}
# Variables of the interpreter, the image or another program.
OTHERS = {"PATH", "FLASK_APP", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED"}


def instructions():
    """Return the image's instructions with their arguments, in order."""
    text = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [tuple(line.strip().split(None, 1)) for line in lines]


def of(name):
    return [rest for instruction, rest in instructions() if instruction == name]


def test_the_image_holds_what_serves_and_nothing_else():
    copied = [
        name for rest in of("COPY") if not rest.startswith("--from") for name in rest.split()[:-1]
    ]
    locks, client = ["requirements.txt", "requirements-docs.txt"], "requirements-s3.txt"
    rest = ["wsgi.py", "app", "migrations", "static", "templates"]
    assert sorted(copied) == sorted([*locks, client, *rest])
    assert all((ROOT / name).exists() for name in copied)
    # A checkout in use also contains data, keys and compiled files: they are not copied.
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    ignored = [line for line in lines if not line.startswith("#")]
    assert ignored == ["*", *(f"!{name}" for name in copied), "**/__pycache__"]
    # DOCS_ENABLED needs no other package.
    for lock in locks:
        assert re.search(rf"--require-hashes .*-r /opt/docket/{lock}( |$)", " ".join(of("RUN")))
    # FILES_URL needs one more, and the image is read-only.
    assert f"${{S3:+-r /opt/docket/{client}}}" in of("RUN")[1]
    assert of("ARG") == ["S3="]
    assert of("USER") == ["10001"]
    # A checkout may be readable by its owner alone.
    assert "chmod -R a+rX /opt/docket" in of("RUN")[-2]
    after_user = [
        name for name, _ in instructions()[[n for n, _ in instructions()].index("USER") :]
    ]
    assert "RUN" not in after_user
    named = set(re.findall(r"\b([A-Z_]+)=", of("ENV")[-1]))
    assert named <= SETTINGS | OTHERS
    assert not re.search(r"(SECRET|PASSWORD|TOKEN)\w*=", (ROOT / "Dockerfile").read_text())


def test_the_image_is_asked_whether_it_is_ready():
    # HEALTHCHECK is the last instruction but one, with its CMD on the following line.
    command = json.loads(of("HEALTHCHECK")[0].partition("CMD ")[2])
    assert command[:2] == ["python", "-c"]
    ast.parse(command[2], feature_version=(3, 11))
    assert "/readyz" in command[2]
    assert json.loads(of("CMD")[-1]) == ["python", "-m", "flask", "serve"]


def test_the_services_are_closed_and_hold_no_secret():
    text = (ROOT / "compose.yaml").read_text()
    services = yaml.safe_load(text)["services"]
    assert set(services) == {"docket", "database"}
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert "no-new-privileges:true" in service["security_opt"], name
    # A setting needs no change of the file, which an upgrade would meet.
    assert services["docket"]["env_file"] == ".env"
    assert services["docket"]["build"]["args"] == {"S3": "${S3:-}"}
    environment = services["docket"]["environment"]
    assert set(environment) <= SETTINGS
    secrets = re.findall(r"\$\{(SECRET_KEY|POSTGRES_PASSWORD)(.)", text)
    assert len(secrets) == 3
    assert all(mark == ":" for _, mark in secrets)
    assert services["docket"]["depends_on"]["database"]["condition"] == "service_healthy"
    assert "pg_isready" in services["database"]["healthcheck"]["test"]
    assert services["docket"]["ports"] == ["127.0.0.1:8000:8000"]
    assert services["database"]["user"] != "root"


def test_the_unit_runs_the_server_as_its_own_user():
    unit = configparser.ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(DEPLOY / "docket.service")
    service = unit["Service"]
    assert service["User"] == "docket"
    assert service["ExecStart"].endswith("-m flask --app wsgi serve")
    assert service["ProtectSystem"] == "strict"
    assert service["NoNewPrivileges"] == "true"
    text = (DEPLOY / "docket.service").read_text()
    assert set(re.findall(r"^Environment=(\w+)=", text, re.M)) <= SETTINGS | OTHERS
    # A command that follows a start finds a server that answers, however long an upgrade takes.
    assert service["Type"] == "notify"
    assert service["TimeoutStartSec"] == "infinity"
    # The server itself gives requests 15 seconds.
    assert int(service["TimeoutStopSec"]) > 15


def dry_run(target):
    """Return what make would do on a fresh checkout."""
    made = subprocess.run(
        ["make", "--dry-run", "--always-make", target, "PYTHON=python3"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return made.stdout


@pytest.mark.parametrize("target", ["run", "install"])
def test_a_fresh_checkout_has_what_every_setting_needs(target):
    assert re.search(
        r"pip install .*--require-hashes .*-r requirements.txt -r requirements-docs.txt$",
        dry_run(target),
        re.M,
    )


def test_the_audit_is_of_all_that_is_installed_for_serving():
    said = dry_run("audit")
    locks = re.search(r"pip install .*(-r requirements.txt.*)$", said, re.M)[1]
    # With --strict, a package that cannot be looked up fails the audit.
    assert re.search(rf"pip-audit --strict .*{locks}$", said, re.M)
    pinned = [
        name
        for lock in locks.split()[1::2]
        for name in re.findall(r"^([\w.-]+)==", (ROOT / lock).read_text(), re.M)
    ]
    assert len(pinned) == len(set(pinned)) > 40
    assert re.search(rf"cat {locks.replace('-r ', '')} \| .*cyclonedx-py requirements", said)


@pytest.fixture
def docketctl(tmp_path):
    """Run docketctl as root on a machine whose systemd reports what it is asked to do."""
    tools = {
        "id": "echo ${FAKE_UID:-0}",
        "systemctl": """for word; do :; done; [ "$word" = docket.service ] || exit 1
            case "$*" in
            *=User\\ *) echo docket;; *=Group\\ *) echo docket;;
            *=WorkingDirectory\\ *) echo /opt/docket;;
            *=Environment\\ *) echo 'INSTANCE_DIR=/var/lib/docket "A=b c"';;
            *=EnvironmentFiles\\ *) echo '/etc/docket.env (ignore_errors=yes)'
                echo '/etc/more.env (ignore_errors=no)';;
            esac""",
        "systemd-run": "printf '%s\\n' \"$@\"",
    }
    for name, script in tools.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)

    def run(*args, **settings):
        return subprocess.run(
            [DEPLOY / "docketctl", *args],
            env={"PATH": f"{tmp_path}:{os.environ['PATH']}", **settings},
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def test_docketctl_runs_a_command_with_the_settings_and_the_user_of_the_service(docketctl):
    ended = docketctl("users", "create", "--display-name", "Ada $(id) Lovelace")
    assert (ended.returncode, ended.stderr) == (0, "")
    asked = ended.stdout.splitlines()
    separator = asked.index("--")
    assert asked[separator + 1 :] == [
        *("/opt/docket/.venv/bin/python", "-m", "flask", "--app", "wsgi"),
        *("users", "create", "--display-name", "Ada $(id) Lovelace"),
    ]
    assert {one.removeprefix("--property=") for one in asked[:separator] if "=" in one} >= {
        "User=docket",
        "Group=docket",
        "WorkingDirectory=/opt/docket",
        'Environment=INSTANCE_DIR=/var/lib/docket "A=b c"',
        "EnvironmentFile=-/etc/docket.env",
        "EnvironmentFile=/etc/more.env",
        "UMask=0077",
    }


def test_docketctl_says_what_is_missing(docketctl):
    for ended, said in (
        (docketctl(), "say a command"),
        (docketctl("doctor", FAKE_UID="1000"), "run it as root"),
        (docketctl("doctor", DOCKET_UNIT="other.service"), ""),
    ):
        assert ended.returncode == 1
        assert said in ended.stderr
        assert ended.stdout == ""


def test_an_upgrade_that_fails_starts_nothing_and_keeps_the_backup(tmp_path):
    guide = (ROOT / "docs" / "upgrade.md").read_text()
    upgrade, back = re.findall(r"(?:^    \S.*\n)+", guide, re.M)
    for name in ("systemctl", "docketctl", "git", "make"):
        answer = "[ $1 != rev-parse ] || echo 0a1b" if name == "git" else ""
        said = f'echo "{name} $*" >&2; [ "{name} $1" != "$FAILS" ] || exit 1\n'
        (tmp_path / name).write_text(f"#!/bin/sh\n{said}{answer}\n")
        (tmp_path / name).chmod(0o755)

    def run(block, fails):
        script = re.sub("/opt/docket|/var/lib/docket", str(tmp_path), block)
        path = f"{tmp_path}:{os.environ['PATH']}"
        env = {"PATH": path, "FAILS": fails}
        ended = subprocess.run(
            ["sh", "-c", script], env=env, capture_output=True, text=True, check=False
        )
        return ended.stderr.replace(str(tmp_path), "")

    back = back.replace("COMMIT", "0a1b")
    assert "systemctl" not in run(back, "")
    (tmp_path / "before.0a1b.db").touch()
    for block, steps in (
        (upgrade, ("systemctl stop", "docketctl backup", "git pull", "make install")),
        (back, ("systemctl stop", "git checkout", "make install", "docketctl restore-backup")),
    ):
        assert "/before.0a1b.db" in run(block, "")
        assert run(block, "").endswith("systemctl start docket\ndocketctl doctor\n")
        for step in steps:
            said = run(block, step)
            assert said.splitlines()[-1].startswith(step)
            assert "--force" not in said


def test_no_guide_has_root_read_settings_as_a_script():
    for page in (ROOT / "docs").rglob("*.md"):
        assert not re.search(r"^\s*(set -a|\. /etc|source )", page.read_text(), re.M), page


def token_addresses():
    """Return an address of each kind whose token Docket keeps out of its own log."""
    alternatives = flask_app._SEGMENT.pattern.removeprefix("^(").removesuffix(")([^/?]+)")
    plain = alternatives.replace("/+", "/").replace("[a-z]+", "confirm").split("|")
    addresses = [f"{start}a-token" for start in plain]
    assert all(flask_app._SEGMENT.sub(r"\1", one) != one for one in addresses)
    return addresses


def test_the_proxies_keep_tokens_out_of_their_logs():
    nginx = (DEPLOY / "nginx.conf").read_text()
    assert nginx.count("{") == nginx.count("}")
    # In the server that redirects to HTTPS, and in the HTTPS server.
    redirecting = nginx[nginx.index("listen 80;") : nginx.index("listen 443")]
    serving = nginx[nginx.index("listen 443") :]
    # A request that nginx refuses meets no location, only what the server says of its log.
    log = serving.index("access_log /var/log/nginx/access.log combined if=$docket_is_logged;")
    assert log < serving.index("location ")
    # A location decodes the address, the log's condition does not.
    assert serving.count("access_log ") == 2
    for place in (redirecting, serving[serving.index("location ~ ") :]):
        assert "access_log off;" in place
        assert "error_log /dev/null" in place
    (unlogged,) = re.findall(
        r'^map \$request \$docket_is_logged \{\s+default 1;\s+"~(.+)" 0;\s+\}', nginx, re.M
    )
    assert "X-Forwarded-For $proxy_add_x_forwarded_for" in nginx
    assert "X-Forwarded-Proto $scheme" in nginx
    caddy = (DEPLOY / "Caddyfile").read_text()
    assert caddy.count("{") == caddy.count("}")
    (location,) = re.findall(r"location ~ (\S+)", nginx)
    ((uri, replacement),) = re.findall(r"request>uri regexp (\S+) (\S+)", caddy)
    assert len(token_addresses()) == 4
    for address in token_addresses():
        assert re.match(location, address), address
        for target in (address, f"/{address}", f"https://tickets.example.org{address}"):
            assert re.search(unlogged, f"GET {target} HTTP/1.1"), target
        redacted = address.replace("a-token", "redacted")
        assert re.sub(uri, replacement.replace("$", "\\"), f"{address}/x") == f"{redacted}/x"
        assert f"`/{address.split('/')[1]}/`" in (ROOT / "docs" / "tls.md").read_text()
    # Caddy logs the headers of requests that it could not pass on, and hides only those it knows.
    assert "request>headers>X-Api-Key delete" in caddy
    for path in ("/", "/tickets/MAIL-1", "/wiki/mail/"):
        assert not re.search(unlogged, f"GET {path} HTTP/1.1")
    for text in (nginx, caddy):
        assert "TRUSTED_PROXIES=1" in text


def test_the_proxies_compress_no_page_and_repeat_no_policy():
    """Docket compresses its own pages, except those that show a secret."""
    nginx = (DEPLOY / "nginx.conf").read_text()
    # The main configuration of many distributions has "gzip on".
    assert re.findall(r"^ *(?:gzip|brotli|add_header)\b.*", nginx, re.M) == ["    gzip off;"]
    caddy = (DEPLOY / "Caddyfile").read_text()
    (compressed,) = re.findall(r"encode \{\s*gzip\s*match \{\s*(.*?)\s*\}\s*\}", caddy)
    assert compressed == "header Content-Type application/json*"
    assert "Strict-Transport-Security" not in nginx + caddy


def test_the_proxies_end_idle_connections_before_docket_does():
    """A request on a connection that Docket is ending would be lost."""
    for name, option in (("nginx.conf", "keepalive_timeout"), ("Caddyfile", "keepalive")):
        (seconds,) = re.findall(rf"^\s*{option} (\d+)s;?$", (DEPLOY / name).read_text(), re.M)
        assert int(seconds) <= HEAD_SECONDS - 5
    assert f"less than {HEAD_SECONDS} seconds" in (ROOT / "docs" / "tls.md").read_text()


@pytest.mark.parametrize("caddy", [one for one in [shutil.which("caddy")] if one] or ["true"])
def test_caddy_takes_its_file_where_there_is_one(tmp_path, caddy):
    ended = subprocess.run(
        [caddy, "validate", "--adapter", "caddyfile", "--config", DEPLOY / "Caddyfile"],
        env={"HOME": str(tmp_path), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
