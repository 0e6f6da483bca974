"""How the server's processes hear of signals, and of each other's end."""

import os
import signal
import threading
import time


def end_with(parent: int, grace: float) -> None:
    """Wait for the parent to end; then end this process, gracefully within ``grace`` seconds."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(grace)
    os._exit(1)


def deliver_signals() -> None:
    """See to it that a signal is acted on at once, whichever thread the kernel gave it to.

    Only the main thread runs Python's handlers, and the server library has it sleep on a lock that
    a signal to another thread does not interrupt: SIGTERM was lost that way. So it is woken often.
    """
    signal.signal(signal.SIGUSR1, lambda _number, _frame: None)
    main = threading.main_thread().ident
    assert main is not None  # noqa: S101 - for the type checker: a running thread has one

    def wake() -> None:
        while True:
            time.sleep(0.2)
            signal.pthread_kill(main, signal.SIGUSR1)

    threading.Thread(target=wake, daemon=True).start()
