"""Interim (1xx) responses of an origin, such as 103 Early Hints, which are forwarded before the answer."""

import asyncio
from collections.abc import Awaitable, Callable

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.rfc9111.message import Head

MAX_FORWARDED = 8
"""How many are forwarded for one request: an origin could send them without end."""

type Interim = Callable[[Head], object]
"""Called with the head of each interim response."""


def no_interim(_head: Head) -> None:
    """Discard an interim response that no client waits for."""


def is_forwarded(status: int) -> bool:
    """Whether a status is that of an interim response for the client.

    100 answers an expectation, which the proxy never sends, and 101 ends the exchange.
    """
    return 102 <= status < 200


class AnswerSequence:
    """The interim responses to a request and then its answer, one after the other."""

    def __init__(self, answer: Callable[[Interim], Awaitable[Answer]]) -> None:
        """`answer` is called when `next` is first awaited."""
        self._answer = answer
        self._heads: asyncio.Queue[Head | None] = asyncio.Queue()
        self._remaining = MAX_FORWARDED
        self._task: asyncio.Future[Answer] | None = None

    async def next(self) -> Head | Answer:
        """Return the head of the next interim response or, at the end, the answer. Raises the errors of `answer`."""
        if self._task is None:
            self._task = asyncio.ensure_future(self._answer(self._add_interim))
            self._task.add_done_callback(lambda _: self._heads.put_nowait(None))
        try:
            head = await self._heads.get()
        except asyncio.CancelledError:
            self._task.cancel()
            raise
        return await self._task if head is None else head

    def _add_interim(self, head: Head) -> None:
        if self._remaining:
            self._remaining -= 1
            self._heads.put_nowait(head)
