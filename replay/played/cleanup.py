"""Termination by SIGTERM with clean-up, for a process with an embedded server and temporary files."""

import asyncio
import os
import signal
from collections.abc import Coroutine
from typing import Any


def run_with_cleanup[R](work: Coroutine[Any, Any, R]) -> R:
    """Run a coroutine in the main thread as `asyncio.run` does; on SIGTERM cancel it before the process ends.

    asyncio handles Ctrl-C in the same way. The worker processes of a sweep are ended by SIGTERM.
    """

    async def until_stopped() -> R:
        task = asyncio.current_task()
        assert task is not None
        asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
        return await work

    try:
        return asyncio.run(until_stopped())
    except asyncio.CancelledError:
        os.kill(os.getpid(), signal.SIGTERM)  # the handler was removed with the loop
        raise
