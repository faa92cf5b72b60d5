"""The answer to a client."""

import math
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field
from typing import Protocol

from bestbefore.addon.rfc9111.message import Head


class Repeatable(Protocol):
    """An answer that may be sent again."""

    def begin(self) -> bool:
        """Whether the request, received again now, gets this answer; `finish` must follow then, before another."""

    def finish(self) -> None:
        """Count the request, and record that the answer was sent."""


@dataclass(slots=True)
class Answer:
    """A response to one client: its head, and its content whole or in pieces."""

    head: Head
    body: bytes = b""
    chunks: AsyncGenerator[bytes] | None = None
    """If set, yields the content (`body` is empty), as it arrives from the origin or a file."""
    sent: Callable[[int, bool], None] | None = None
    """Called once at the end with the bytes of content sent, and whether the content is complete."""
    is_refusal: bool = False
    """Whether it is an error of the proxy's own."""
    repeat: Repeatable | None = None
    """If set, whether the same request gets the same answer again, if the client sends it with nothing between."""
    release: list[Callable[[], object]] = field(default_factory=list)
    """Called at the end, after success or failure. Closing `chunks` is not enough: it may never have been read from."""

    def finish(self, sent_bytes: int, *, complete: bool) -> None:
        """Report how sending ended, and release the resources of the answer."""
        while self.release:
            self.release.pop()()
        if self.sent is not None:
            self.sent(sent_bytes, complete)
            self.sent = None

    async def read(self, most: float = math.inf) -> None:
        """Read to the end without a client, or stop after `most` bytes of content."""
        complete, size = self.chunks is None, 0
        try:
            if self.chunks is not None:
                async for chunk in self.chunks:
                    size += len(chunk)
                    if size > most:
                        break
                else:
                    complete = True
        finally:
            self.finish(0, complete=complete)


type Ready = Callable[[Answer], bool]
"""Called with a complete answer as soon as it may be sent: before its response is learnt from and stored.

Returns whether it was sent.
"""
