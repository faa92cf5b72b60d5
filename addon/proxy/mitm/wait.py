"""The waiting of a sans-IO layer for a coroutine.

mitmproxy's layers are generators that may pause only on commands it knows. A hook is such a command: the layer pauses,
the hook's handler runs as a task of the event loop, and the layer goes on when it returns. `Wait` is a hook of ours
whose argument is the work to do; the addon's handler runs it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mitmproxy.proxy import commands


class AsyncCall[T]:
    """A coroutine function and, after it has run, its outcome."""

    def __init__(self, start: Callable[[], Awaitable[T]]) -> None:
        self._start = start
        self._result: T | None = None
        self._error: BaseException | None = None

    async def run(self) -> None:
        """Called once, by the hook's handler. Never raises: an exception in a hook would be logged and lost."""
        try:
            self._result = await self._start()
        except BaseException as error:
            self._error = error

    def outcome(self) -> T:
        """Return the result of the coroutine, or raise its exception."""
        if self._error is not None:
            raise self._error
        return self._result  # type: ignore[return-value]


@dataclass
class BestbeforeWait(commands.StartHook):
    """Run this work; the layer that sent it goes on afterwards. Its handler in the addon is `bestbefore_wait`."""

    name = "bestbefore_wait"
    work: AsyncCall[Any]
