"""A command by which a sans-IO layer waits for a coroutine.

mitmproxy's layers are generators that may pause only on commands which mitmproxy knows. A hook is such a command: the
layer pauses, the hook's handler runs as a task of the event loop, and the layer continues when the handler returns.
`BestbeforeWait` is such a hook, whose argument is the coroutine to run; the addon's handler runs it.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from mitmproxy.proxy import commands, layer


class AsyncCall[T]:
    """A coroutine function and, after it has run, its result or exception."""

    def __init__(self, start: Callable[[], Awaitable[T]]) -> None:
        self._start = start
        self._result: T | None = None
        self._error: BaseException | None = None

    async def run(self) -> None:
        """Run the coroutine, once, for the hook's handler. Never raises: mitmproxy would only log the exception."""
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
    """Run a coroutine before the layer that issued this command continues. The addon's method of its name runs it."""

    name = "bestbefore_wait"
    work: AsyncCall[Any]


def wait[T](start: Callable[[], Awaitable[T]]) -> layer.CommandGenerator[T]:
    """Run a coroutine function while the layer is paused; return its result, or raise its exception."""
    work = AsyncCall(start)
    yield BestbeforeWait(work)
    return work.outcome()
