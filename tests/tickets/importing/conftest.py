import json
from typing import Any

import pytest

from tests.support.story import walk


@pytest.fixture
def run(app, cast, tmp_path):
    """Import files into OPEN as ada; the report, or the whole result for another exit code."""

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
def tickets(cast):
    """All tickets of OPEN by title."""

    def listed():
        rows = walk(cast.ada, f"/projects/{cast.open_project}/tickets", 200)
        return {row["title"]: row for row in rows}

    return listed
