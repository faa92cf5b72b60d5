"""The stored parts of contents: read for answers, combined with what arrives, and merged when they are stored."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from weakref import WeakValueDictionary

from bestbefore.addon.engine.partial.decision import combined
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import Collected, Content, for_store
from bestbefore.addon.proxy.exchange.pieces import Stored, cut_parts
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.conditional.parts import (
    Rest,
    as_complete,
    merged,
    number_for,
    place,
    span_of,
    to_merge,
)
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.bodies import new_digest
from bestbefore.addon.store.store import Store

type Source = tuple[Span, Stored]
"""Where a part lies, and its content."""
type Further = Callable[[Span], Awaitable[Fetched]]
"""Fetches a further missing span. Raises OriginError, also if its content is not of the same version."""


@dataclass(frozen=True, slots=True)
class StoredParts:
    """Reads, combines and stores parts."""

    store: Store
    stored: StoredContent
    budget: Budget
    _locks: WeakValueDictionary[str, asyncio.Lock] = field(default_factory=WeakValueDictionary)
    """By URL. Held while a part is merged and numbered: of two that arrive at once none takes the other's place."""

    async def sources(self, parts: Sequence[Copy]) -> list[Source] | None:
        """Return the contents of parts; None if one is gone."""
        found: list[Source] = []
        for part in parts:
            body = await self.stored.of(part)
            if body is None:
                return None
            found.append((span_of(part), body))
        return found

    async def combined(self, rest: Rest, request: Request, fetched: Fetched, further: Further) -> Fetched | None:
        """Return the response that the stored parts and those of the origin make together; None if a part is gone.

        `fetched` is the response for the first missing span.
        """
        sources = await self.sources(rest.parts)
        if sources is None:
            return None
        chunks = _joined(rest, sources, fetched, further)
        length = rest.wanted.end - rest.wanted.start
        return replace(
            fetched,
            head=combined(rest, request, fetched.head),
            chunks=chunks,
            length=length,
            stored_bytes=length - sum(gap.end - gap.start for gap in rest.gaps),
            local=fetched.local or any(part.local for part in rest.parts),
            range=fetched.range or next((part.range for part in rest.parts if part.range), ""),
        )

    async def put(self, copy: Copy, content: Collected, limit: int) -> Copy:
        """Store a part, merged with others of at most `limit` bytes in all; return the copy that is stored.

        The complete content becomes an ordinary copy.
        """
        async with self._locks.setdefault(copy.url, asyncio.Lock()):
            return await self._put(copy, content, limit)

    async def _put(self, copy: Copy, content: Collected, limit: int) -> Copy:
        parts = (await self.store.copies(copy.url, copy.partition)).copies
        copy, content = await self._merged(copy, content, to_merge(parts, copy), limit) or (copy, content)
        where = place(copy.head)
        assert where is not None
        if where.span == Span(0, where.size):
            copy = as_complete(copy, where.size)
        else:
            copy = replace(copy, part_number=number_for(parts, copy))
        self.store.put(copy, await for_store(content))
        return copy

    async def _merged(
        self, copy: Copy, content: Collected, others: Sequence[Copy], limit: int
    ) -> tuple[Copy, Collected] | None:
        spans = [span_of(copy), *map(span_of, others)]
        union = Span(min(span.start for span in spans), max(span.end for span in spans))
        if not others or union.end - union.start > limit:
            return None
        sources = await self.sources(others)
        if sources is None:
            return None
        content_of_all, digest = Content(self.budget), new_digest()
        try:
            async for chunk in cut_parts([(spans[0], content), *sources], (union,)):
                digest.update(chunk)
                if not await content_of_all.add(chunk):
                    return None
        except ConnectionError:  # one of them was removed meanwhile
            return None
        where = place(copy.head)
        assert where is not None
        body = BodyRef(digest.hexdigest(), content_of_all.size)
        return merged([copy, *others], union, where.size, body), content_of_all.body()


async def _joined(rest: Rest, sources: Sequence[Source], first: Fetched, further: Further) -> AsyncGenerator[bytes]:
    """Yield the wanted content: from the parts, and what they miss as it arrives. Raises OriginError if truncated."""
    at = rest.wanted.start

    async def instead(span: Span) -> AsyncGenerator[bytes]:
        async for chunk in _arriving(span, await further(span)):
            yield chunk

    try:
        async with aclosing(first.chunks):
            for gap in rest.gaps:
                async for chunk in cut_parts(sources, (Span(at, gap.start),), instead):
                    yield chunk
                async for chunk in _arriving(gap, first if gap is rest.gaps[0] else await further(gap)):
                    yield chunk
                at = gap.end
        async for chunk in cut_parts(sources, (Span(at, rest.wanted.end),), instead):
            yield chunk
    except OriginError:
        raise
    except ConnectionError as error:
        raise OriginError(Failure.RESET, str(error)) from error


async def _arriving(gap: Span, fetched: Fetched) -> AsyncGenerator[bytes]:
    """Yield the content of the origin's response for a missing span. Raises OriginError if it has another length."""
    size = 0
    try:
        async with aclosing(fetched.chunks):
            async for chunk in fetched.chunks:
                size += len(chunk)
                if size > gap.end - gap.start:
                    break
                yield chunk
        if size != gap.end - gap.start:
            raise OriginError(Failure.RESET, "the answer has not the announced length")
    finally:
        fetched.close()
