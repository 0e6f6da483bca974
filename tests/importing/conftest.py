import io
import json
from typing import Any

import pytest
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from app.core.actor import Actor, ActorKind
from app.database.session import run_write
from app.importing.planning import plan
from app.importing.report import ImportReport
from app.importing.running import Importer
from app.importing.trackers import client, download_file
from tests.support.story import walk

PAGE = {"Accept": "text/html"}


@pytest.fixture
def run(app, cast, tmp_path):
    """Import files into OPEN as ada; return the report, or the output if there is no report."""

    def importing(*contents: str | bytes, options=(), code=0, text=None) -> Any:
        names = []
        for number, content in enumerate(contents):
            path = tmp_path / f"file-{number}"
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
            names.append(str(path))
        args = ["import-issues", *names, "--project", "OPEN", "--as", "ada", *options]
        json_wanted = code == 0 and "--dry-run" not in options
        result = app.test_cli_runner().invoke(
            args=[*args, *(["--json"] if json_wanted else [])], input=text
        )
        assert result.exit_code == code, (result.output, result.exception)
        return json.loads(result.stdout) if json_wanted else result.output

    return importing


@pytest.fixture
def imported(app, cast):
    """Import issues into OPEN as ada; return the report."""

    def importing(*issues, write=run_write, supply=None):
        actor = Actor(kind=ActorKind.HUMAN, user_id=cast.ada.user_id, username="ada")
        report = ImportReport()
        with app.app_context():
            importer = Importer(actor, cast.open_project, report, {}, write=write, supply=supply)
            importer.run(plan(list(issues), report), lambda _: None)
        return report

    return importing


@pytest.fixture
def tickets(cast):
    """Return all tickets of OPEN, by title."""

    def listed():
        rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
        return {row["title"]: row for row in rows}

    return listed


@pytest.fixture
def send(cast):
    """Submit the import form, by default as ada; return the response."""

    def sent(*files, htmx=False, by=None, status=200, path="/import", **form):
        given = {"project": "OPEN", "do": "try", "webhooks": "on", **form}
        data = {name: value for name, value in given.items() if value is not None}
        data["files"] = [
            FileStorage(
                io.BytesIO(content if isinstance(content, bytes) else content.encode()), name
            )
            for name, content in files
        ]
        headers = PAGE | ({"HX-Request": "true"} if htmx else {})
        boundary, body = encode_multipart(data)
        answer = (by or cast.ada).client.post(
            path,
            data=body,
            headers=headers,
            content_type=f"multipart/form-data; boundary={boundary}",
        )
        statuses = status if isinstance(status, tuple) else (status,)
        assert answer.status_code in statuses, (answer.status_code, answer.text)
        return answer.text

    return sent


@pytest.fixture
def waits(monkeypatch):
    """Record the seconds that imports would sleep, without sleeping."""
    slept: list[float] = []
    monkeypatch.setattr(client.Waits, "sleep", staticmethod(slept.append))
    return slept


@pytest.fixture
def move(app, cast, monkeypatch, tmp_path, waits):
    """Import from a tracker into OPEN as ada; return the report, or the output if it must fail.

    Downloads go to the test's own folder ``imports``.
    """
    monkeypatch.setattr(download_file, "FOLDER", str(tmp_path / "imports"))
    for name in ("GITHUB_TOKEN", "GITLAB_TOKEN", "JIRA_TOKEN", "LINEAR_API_KEY"):
        monkeypatch.setenv(name, "")

    def moving(*args: str, code=0, text=None, as_json=True) -> Any:
        given = ["import", *args, "--project", "OPEN", "--as", "ada"]
        wants = code == 0 and as_json
        result = app.test_cli_runner().invoke(
            args=[*given, *(["--json"] if wants else [])], input=text
        )
        assert result.exit_code == code, (result.output, result.exception)
        return json.loads(result.stdout) if wants else result.output

    return moving
