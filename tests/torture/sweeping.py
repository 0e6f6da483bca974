"""``python -m tests.torture.sweeping``: sweep file contents, and die during the deletion."""

import os
import signal
from collections.abc import Sequence

from app import create_app
from app.files.store import FolderStore
from app.jobs.sweeping import sweep


def main() -> None:
    """Run like ``flask sweep file-contents``, up to the middle of the first batch."""
    discard = FolderStore.discard

    def die(store: FolderStore, contents: Sequence[str]) -> None:
        discard(store, contents[: len(contents) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    FolderStore.discard = die  # type: ignore[method-assign]
    app = create_app()
    with app.app_context():
        sweep("file-contents", app.config["SETTINGS"], now=True)


if __name__ == "__main__":
    main()
