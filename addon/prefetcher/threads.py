"""Long computations beside the event loop."""

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress


async def in_thread(compute: Callable[[], None]) -> None:
    """Run a long computation in a thread, for which a stop of the proxy does not wait."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def deliver(error: Exception | None) -> None:
        if done.cancelled():
            return
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(None)

    def run() -> None:
        failure = None
        try:
            compute()
        except Exception as error:
            failure = error
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(deliver, failure)

    threading.Thread(target=run, name="prefetching", daemon=True).start()
    await done
