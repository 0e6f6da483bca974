"""The time of ``flask import github`` for many issues, with a local server in place of GitHub.

    python -m tests.bench.moving [--issues 100000] [--database-url URL]

Each issue has a label and a comment, every tenth a history. It prints seconds, processor seconds
and tickets.
"""

import argparse
import json
import multiprocessing
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.importing.tracker_server import Asked, Reply, TrackerServer

PAGE = 100
BODY = "The lamp on desk {number} flickers when the switch is used. " * 8


def issue(number: int) -> dict[str, Any]:
    return {
        "number": number,
        "html_url": f"https://github.com/octo/lamp/issues/{number}",
        "title": f"Lamp {number} flickers on floor {number % 97}",
        "body": BODY.format(number=number),
        "user": {"login": "octocat"},
        "labels": [{"name": f"area {number % 20}"}],
        "assignees": [],
        "state": "closed" if number % 3 else "open",
        "created_at": "2024-03-01T10:00:00Z",
        "updated_at": "2024-03-02T10:00:00Z",
        "comments": 1,
    }


def comment(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "issue_url": f"https://api.github.com/repos/octo/lamp/issues/{number}",
        "user": {"login": "hubot"},
        "created_at": "2024-03-01T12:00:00Z",
        "body": f"I saw this on floor {number % 97} too, with version {number % 7}.",
    }


def event(number: int) -> dict[str, Any]:
    return {
        "id": number,
        "event": "labeled",
        "label": {"name": "flickers"},
        "actor": {"login": "octocat"},
        "created_at": "2024-03-01T11:00:00Z",
        "issue": {"number": number * 10},
    }


def serve(most: int, ready: Any) -> None:
    kinds = {"issues": (issue, most), "comments": (comment, most), "events": (event, most // 10)}

    def answer(server: TrackerServer, asked: Asked) -> Reply:
        server.asked.clear()
        make, count = kinds[asked.path.rpartition("/")[2]]
        page = int(asked.query.get("page", 1))
        last = min(page * PAGE, count)
        headers = {}
        if last < count:
            headers["Link"] = f'<{server.url}{asked.path}?page={page + 1}>; rel="next"'
        rows = [make(number) for number in range((page - 1) * PAGE + 1, last + 1)]
        return Reply(rows, headers=headers)

    ready.put(TrackerServer(answer).url)
    time.sleep(3_600)


def flask(environment: dict[str, str], *arguments: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "flask", "--app", "wsgi", *arguments],
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    ).stdout


def processor_seconds() -> float:
    """Return the processor seconds of finished commands."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def measured(options: argparse.Namespace) -> Iterator[tuple[str, Any]]:
    ready: Any = multiprocessing.Queue()
    server = multiprocessing.Process(target=serve, args=(options.issues, ready), daemon=True)
    server.start()
    with tempfile.TemporaryDirectory() as directory:
        environment = {**os.environ, "INSTANCE_DIR": str(Path(directory)), "GITHUB_TOKEN": "bench"}
        if options.database_url:
            environment["DATABASE_URL"] = options.database_url
            environment["SECRET_KEY"] = "for the time of a measurement only"
        flask(environment, "setup-admin", "--username", "ada", "--password", "correct lamp 77")
        flask(environment, "projects", "create", "LAMP", "Lamps")
        command = ["import", "github", "octo/lamp", "--url", ready.get(), "--project", "LAMP"]
        for name, more in (("preview", ["--dry-run"]), ("import", []), ("again", [])):
            started, used = time.monotonic(), processor_seconds()
            report = json.loads(flask(environment, *command, *more, "--json"))
            seconds = round(time.monotonic() - started)
            took = {"seconds": seconds, "processor": round(processor_seconds() - used)}
            yield name, {**took, **report["made"]}
    server.terminate()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--issues", type=int, default=100_000)
    parser.add_argument("--database-url")
    for name, values in measured(parser.parse_args()):
        print(f"{name}: {json.dumps(values)}", flush=True)


if __name__ == "__main__":
    main()
