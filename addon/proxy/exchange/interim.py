"""Interim (1xx) responses of an origin, such as 103 Early Hints, on their way to a client before the answer."""

import asyncio
from collections.abc import Awaitable, Callable

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.rfc9111.message import Head

PASSED_ON_AT_MOST = 8
"""Of one request: an origin can send them without end."""

type Interim = Callable[[Head], object]
"""Told of the head of each interim response."""


def no_interim(_head: Head) -> None:
    """Discard an interim response that no client waits for."""


def is_passed_on(status: int) -> bool:
    """Whether it is an interim response for the client.

    100 answers an expectation that we never have, and 101 ends the exchange.
    """
    return 102 <= status < 200


class Asking:
    """A request that is being answered: what comes for the client, one after the other."""

    def __init__(self, answer: Callable[[Interim], Awaitable[Answer]]) -> None:
        """`answer` begins when `next` is first awaited."""
        self._answer = answer
        self._heads: asyncio.Queue[Head | None] = asyncio.Queue()
        self._left = PASSED_ON_AT_MOST
        self._work: asyncio.Future[Answer] | None = None

    async def next(self) -> Head | Answer:
        """The head of an interim response or, at last, the answer. Raises what answering raises."""
        if self._work is None:
            self._work = asyncio.ensure_future(self._answer(self._came))
            self._work.add_done_callback(lambda _: self._heads.put_nowait(None))
        try:
            head = await self._heads.get()
        except asyncio.CancelledError:
            self._work.cancel()
            raise
        return await self._work if head is None else head

    def _came(self, head: Head) -> None:
        if self._left:
            self._left -= 1
            self._heads.put_nowait(head)
