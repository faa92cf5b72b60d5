"""The ending of a process that has a server and files of its own."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any


def run_tidily[R](work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine in the main thread, as `asyncio.run` does.

    SIGTERM ends the process, after the work has cleaned up.

    (Ctrl-C does so by itself. A process of a sweep is ended by SIGTERM.)
    """

    async def until_stopped() -> R:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(until_stopped())
    except asyncio.CancelledError:
        os.kill(os.getpid(), signal.SIGTERM)  # the loop has closed, and its handler is gone
        raise
