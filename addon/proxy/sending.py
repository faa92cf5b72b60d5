"""Makes the answers for clients, and tells of each once it has been sent."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.admin.event import Answered, Outcome
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.answer import Answer
from bestbefore.addon.proxy.tale import Tale
from bestbefore.addon.rfc9111 import cache_status
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.interface import Body

FILE_CHUNK_BYTES = 256 * 1024


@dataclass(slots=True)
class Present:
    """The configuration in force, shared by all that depends on it."""

    rules: Rules
    site: Site


class Sending:
    """From a decision to an answer."""

    def __init__(self, clock: Clock, present: Present, tell: Callable[[Answered], None]) -> None:
        self._clock = clock
        self._present = present
        self._tell = tell

    def answer(
        self, tale: Tale, head: Head, body: bytes = b"", chunks: AsyncGenerator[bytes] | None = None
    ) -> Answer:
        """An answer with this head and content."""
        tale.status = head.status

        def sent(size: int, complete: bool) -> None:
            self._tell(tale.told(self._clock.monotonic(), size, complete=complete))

        return Answer(head, body, chunks, sent)

    def from_copy(self, tale: Tale, copy: Copy, body: Body | AsyncGenerator[bytes], status_member: str) -> Answer:
        """A copy as the answer; its content is in memory, in a file, or on its way."""
        tale.encoding = copy.head.fields.get("content-encoding") or ""
        head = heads.from_copy(tale.request, copy, self._clock.now(), status_member, self._present.site)
        if tale.request.method == "HEAD" or head.status == 304:
            return self.answer(tale, head)
        if isinstance(body, bytes):
            return self.answer(tale, head, body)
        return self.answer(tale, head, chunks=_file_chunks(body) if isinstance(body, Path) else body)

    def refused(self, tale: Tale, status: int, detail: str, message: str = "") -> Answer:
        """An error of our own."""
        tale.outcome, tale.reason, tale.ttl_s = Outcome.REFUSED, detail, None
        body = f"bestbefore: {message or detail}\n".encode()
        head = heads.of_our_own(status, tale.time_s, f"{cache_status.NAME}; detail={detail}", len(body))
        return self.answer(tale, head, body if tale.request.method == "GET" else b"")


async def _file_chunks(path: Path) -> AsyncGenerator[bytes]:
    """The content of a file that may be unlinked while it is read."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, FILE_CHUNK_BYTES):
            yield chunk
    finally:
        file.close()
