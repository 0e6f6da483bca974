"""``python -m tests.torture.dying N COMMAND...``: a flask command that dies at statement N."""

import itertools
import os
import signal
import subprocess
import sys

import sqlalchemy as sa
from flask.cli import main as flask

from tests.support.serving import ROOT, environment
from tests.torture.stage import Stage


def die_at(last: int) -> None:
    """Kill this process at statement ``last``."""
    numbers = itertools.count(1)

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def die(*_: object) -> None:
        if next(numbers) == last:
            os.kill(os.getpid(), signal.SIGKILL)


def run(
    stage: Stage, last: int, *command: str, beside: str = "instance", **settings: str
) -> subprocess.CompletedProcess[str]:
    """Run a command that is killed at statement ``last``; with fewer statements it completes."""
    given = environment(stage.directory / beside, stage.port, **(stage.settings | settings))
    asked = (sys.executable, "-m", "tests.torture.dying", str(last), *command)
    return subprocess.run(asked, env=given, cwd=ROOT, check=False, capture_output=True, text=True)


if __name__ == "__main__":
    die_at(int(sys.argv[1]))
    sys.argv = ["flask", "--app", "wsgi", *sys.argv[2:]]
    flask()
