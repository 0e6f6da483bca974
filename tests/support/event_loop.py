"""An event loop for a test."""

import asyncio
from collections.abc import Coroutine
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import Any


def run_async(work: Coroutine[Any, Any, Any]) -> Any:
    """Run the coroutine in its own thread; return its result or raise its exception.

    After a browser has been started, Playwright's loop runs in the thread of the tests.
    """
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(copy_context().run, asyncio.run, work).result()
