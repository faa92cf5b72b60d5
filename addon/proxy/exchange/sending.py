"""Makes the answers for clients, and tells of each once it has been sent."""

from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.admin.event import Answered, Outcome
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.flight import Spool
from bestbefore.addon.proxy.exchange.pieces import cut
from bestbefore.addon.proxy.exchange.tale import Tale
from bestbefore.addon.rfc9111 import cache_status, ranges
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.rfc9111.ranges import Span
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.backend.unlinked import UnlinkedFile


@dataclass(slots=True)
class Present:
    """The configuration in force, shared by all that depends on it."""

    rules: Rules
    site: Site


def tale_of_feed(tale: Tale, head: Head, size: int) -> None:
    """Note what the client gets of a feed with so much content."""
    if tale.request.method == "GET":
        not_modified = head.status == 304
        tale.feed = "not-modified" if not_modified else "full"
        tale.spared_bytes = size if not_modified else 0


class Sending:
    """From a decision to an answer."""

    def __init__(self, clock: Clock, present: Present, tell: Callable[[Answered], None]) -> None:
        self._clock = clock
        self._present = present
        self._tell = tell

    def answer(self, tale: Tale, head: Head, content: bytes | AsyncGenerator[bytes] = b"") -> Answer:
        """An answer with this head and content."""
        tale.status = head.status

        def sent(size: int, complete: bool) -> None:
            self._tell(tale.told(self._clock.monotonic(), size, complete=complete))

        return Answer(head, content, None, sent) if isinstance(content, bytes) else Answer(head, b"", content, sent)

    def from_copy(self, tale: Tale, copy: Copy, body: Body | Spool, status_member: str) -> Answer:
        """A copy, or the part of it that is asked for, as the answer; its content is there, or on its way."""
        tale.encoding = copy.head.fields.get("content-encoding") or ""
        head = heads.from_copy(tale.request, copy, self._clock.now(), status_member, self._present.site)
        if copy.is_feed:
            tale_of_feed(tale, head, copy.body.size)
        if tale.request.method == "HEAD" or head.status == 304:
            return self.answer(tale, head)
        if isinstance(body, Spool):
            reader = body.join()
            answer = self.arriving(tale, head, body.read(reader))
            answer.release.append(lambda: body.leave(reader))
            return answer
        part = ranges.part(tale.request, head)
        if part is not None:
            return self.answer(tale, part.head, cut(body, part.pieces))
        whole = cut(body, (Span(0, copy.body.size),)) if isinstance(body, (Path, UnlinkedFile)) else body
        return self.answer(tale, head, whole)

    def arriving(self, tale: Tale, head: Head, content: bytes | AsyncGenerator[bytes]) -> Answer:
        """The origin's answer, while it is stored, or the part of it that the client asks for."""
        part = ranges.part(tale.request, head, arriving=True)
        if part is not None:
            return self.answer(tale, part.head, cut(content, part.pieces))
        return self.answer(tale, head, content)

    def refused(self, tale: Tale, status: int, detail: str, message: str = "") -> Answer:
        """An error of our own."""
        tale.outcome, tale.reason, tale.ttl_s = Outcome.REFUSED, detail, None
        body = f"bestbefore: {message or detail}\n".encode()
        head = heads.of_our_own(status, tale.time_s, f"{cache_status.NAME}; detail={detail}", len(body))
        return self.answer(tale, head, b"" if tale.request.method == "HEAD" else body)
