"""Builds the answers to clients; each is recorded once it has been sent."""

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads
from bestbefore.addon.engine.error_page import error_content
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.partial.decision import ServeParts
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.proxy.exchange.pieces import Instead, Stored, cut, cut_parts
from bestbefore.addon.proxy.exchange.sharing.spool import Arriving
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.rfc9111.conditional import ranges
from bestbefore.addon.rfc9111.conditional.parts import as_complete, span_of
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.rules import Rules
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.backend.unlinked import UnlinkedFile


@dataclass(slots=True)
class ActiveConfig:
    """The configuration in force, shared by all parts that depend on it."""

    rules: Rules
    site: Site


def note_feed(context: RequestContext, head: Head, size: int) -> None:
    """Record in the context how a feed whose content has `size` bytes is answered."""
    if context.request.method == "GET":
        not_modified = head.status == 304
        context.record.feed = "not-modified" if not_modified else "full"
        context.record.spared_bytes = size if not_modified else 0


class AnswerBuilder:
    """Builds answers from decisions."""

    def __init__(self, clock: Clock, active: ActiveConfig, on_answered: Callable[[Answered], None]) -> None:
        self._clock = clock
        self._active = active
        self._on_answered = on_answered

    def answer(
        self,
        context: RequestContext,
        head: Head,
        content: bytes | AsyncGenerator[bytes] = b"",
        *,
        is_refusal: bool = False,
    ) -> Answer:
        """Return an answer with this head and content."""
        context.record.status = head.status

        def sent(size: int, complete: bool) -> None:
            self._on_answered(context.answered(self._clock.monotonic(), size, complete=complete))

        body, chunks = (content, None) if isinstance(content, bytes) else (b"", content)
        return Answer(head, body, chunks, sent, is_refusal)

    def from_copy(self, context: RequestContext, copy: Copy, body: Body | Arriving, status_member: str) -> Answer:
        """Return a copy, or the requested range of it, as the answer. Its content may still be arriving."""
        context.record.encoding = copy.head.fields.get("content-encoding") or ""
        head = heads.from_copy(context.request, copy, self._clock.now(), status_member, self._active.site)
        if copy.is_feed:
            note_feed(context, head, copy.body.size)
        if context.request.method == "HEAD" or head.status == 304:
            return self.answer(context, head)
        if isinstance(body, Arriving):
            spool, reader = body.spool, body.spool.join()
            answer = self.from_origin(context, head, spool.read(reader, body.rest))
            answer.release.append(lambda: spool.leave(reader))
            return answer
        part = ranges.part(context.request, head)
        if part is not None:
            return self.answer(context, part.head, cut(body, part.pieces))
        whole = cut(body, (Span(0, copy.body.size),)) if isinstance(body, (Path, UnlinkedFile)) else body
        return self.answer(context, head, whole)

    def from_parts(
        self,
        context: RequestContext,
        serve: ServeParts,
        sources: Sequence[tuple[Span, Stored]],
        status_member: str,
        instead: Instead | None = None,
    ) -> Answer:
        """Return what the stored parts have of the content, as the answer; what is gone meanwhile is from `instead`."""
        leading = serve.parts[0]
        copy = leading if serve.as_stored else as_complete(leading, serve.size)
        context.record.encoding = copy.head.fields.get("content-encoding") or ""
        head = heads.from_copy(context.request, copy, self._clock.now(), status_member, self._active.site)
        if context.request.method == "HEAD":
            return self.answer(context, head)
        part = ranges.part(context.request, head)
        if part is not None:
            return self.answer(context, part.head, cut_parts(sources, part.pieces, instead))
        span = span_of(leading) if serve.as_stored else Span(0, serve.size)
        return self.answer(context, head, cut_parts(sources, (span,), instead))

    def from_origin(self, context: RequestContext, head: Head, content: bytes | AsyncGenerator[bytes]) -> Answer:
        """Return the origin's response, or the requested range of it, as the answer while it is being stored."""
        part = ranges.part(context.request, head, arriving=True)
        if part is not None:
            return self.answer(context, part.head, cut(content, part.pieces))
        return self.answer(context, head, content)

    def refused(
        self, context: RequestContext, status: int, detail: str, message: str = "", advice: str = ""
    ) -> Answer:
        """Return an error response of the proxy's own; `message` and `advice` as for `error_content`."""
        context.record.outcome, context.record.reason, context.record.ttl_s = Outcome.REFUSED, detail, None
        request, member = context.request, f"{cache_status.NAME}; detail={detail}"
        media_type, body = error_content(request.fields, request.target.url, status, detail, message, advice)
        head = heads.generated(status, context.record.time_s, member, len(body), media_type=media_type)
        return self.answer(context, head, b"" if request.method == "HEAD" else body, is_refusal=True)

    def failed(self, context: RequestContext, error: OriginError) -> Answer:
        """Return the error response after a failure of the origin."""
        return self.refused(context, error.failure.status, error.failure, str(error), error.advice)
