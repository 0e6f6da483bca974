"""A rolling deploy: the new release migrates while a server of the previous one runs.

The old code comes from the Git history, so this needs a clone that has one.
"""

import subprocess
import sys

import pytest

from app import create_app
from app.serving.parent import prepare_database
from tests.support import serving
from tests.support.postgres import unused_name
from tests.support.settings import settings_for
from tests.support.workspace import owner_of

pytestmark = pytest.mark.slow

NEWEST = sorted((serving.ROOT / "migrations" / "versions").glob("[0-9]*.py"))[-1]


def git(*arguments):
    """Return git's output; empty if there is no history."""
    asked = subprocess.run(
        ["git", "-C", serving.ROOT, *arguments], capture_output=True, check=False
    )
    return asked.stdout if asked.returncode == 0 else b""


def before_the_newest_revision():
    """Return the last commit without the newest schema revision."""
    added = git("log", "--diff-filter=A", "-1", "--format=%H", "--", NEWEST).decode().strip()
    return git("rev-parse", "--verify", "--quiet", f"{added}^").decode().strip() if added else ""


BEFORE = before_the_newest_revision()

if BEFORE:

    def test_the_code_before_serves_on_the_new_schema(cluster, tmp_path, monkeypatch):
        release = tmp_path / "release"
        release.mkdir()
        subprocess.run(["tar", "-x", "-C", release], input=git("archive", BEFORE), check=True)
        monkeypatch.setattr(serving, "ROOT", release)
        name = unused_name()
        url = cluster.create_database(name)
        settings = {"DATABASE_URL": url, "SECRET_KEY": "a secret key of the tests, long enough"}
        command = (sys.executable, "-m", "flask", "--app", "wsgi", "serve")
        served = serving.start(tmp_path / "instance", command=command, **settings)
        try:
            owner = owner_of(served)
            project = owner.call("POST", "/projects", {"key": "OPS", "name": "Operations"})["id"]
            ticket = owner.call("POST", f"/projects/{project}/tickets", {"title": "Before"})
            prepare_database(create_app(settings_for(url, tmp_path)))
            path = f"/tickets/{ticket['id']}"
            assert owner.call("GET", path)["title"] == "Before"
            after = owner.call("POST", f"/projects/{project}/tickets", {"title": "After"})
            states = owner.call("GET", f"/projects/{project}/workflow-states")["data"]
            owner.call("POST", f"{path}/transition", {"state_id": states[-1]["id"]})
            owner.call("POST", f"{path}/comments", {"body": "Words"})
            owner.call("DELETE", f"/tickets/{after['id']}")
            listed = owner.call("GET", f"/projects/{project}/tickets")["data"]
            assert [row["title"] for row in listed] == ["Before"]
            assert [hit["title"] for hit in owner.call("GET", "/search?q=before")["data"]]
            # A balancer may see the foreign schema here, and then sends it no new requests.
            assert served.request("GET", "/readyz").status in (200, 503)
            assert served.request("GET", "/healthz").status == 200
        finally:
            serving.end(served)
            cluster.drop_database(name)
