"""``python -m tests.torture.dying N``: bring the schema up to date; die at statement N."""

import itertools
import os
import signal
import sys

import sqlalchemy as sa

from app import create_app
from app.database import schema


def main(last: int) -> None:
    """As ``flask db upgrade`` does it, up to there."""
    numbers = itertools.count(1)

    @sa.event.listens_for(sa.Engine, "before_cursor_execute")
    def die(*_: object) -> None:
        if next(numbers) == last:
            os.kill(os.getpid(), signal.SIGKILL)

    with create_app().app_context():
        schema.upgrade()


if __name__ == "__main__":
    main(int(sys.argv[1]))
