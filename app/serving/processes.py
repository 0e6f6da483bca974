"""How a worker hears of the end of its parent."""

import os
import signal
import time


def end_with(parent: int, grace: float) -> None:
    """Wait for the parent to end; then end this process, gracefully within ``grace`` seconds."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)
