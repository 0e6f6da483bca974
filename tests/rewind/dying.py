"""The application, made to die by SIGKILL after the first commit of an event.

Run by ``flask --app tests.rewind.dying``.
"""

import os
import signal

from app import create_app
from app.audit.service import Recorded, on_record
from app.database.session import after_commit


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _note(_: Recorded) -> None:
    after_commit(_die)


app = create_app()
on_record(_note)
