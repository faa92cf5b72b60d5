"""The rest of content for a client that was left behind, or whose stored parts are gone: from a contact of its own."""

from collections.abc import AsyncGenerator
from dataclasses import dataclass

from bestbefore.addon.engine.partial.rest_request import before_rest, for_rest
from bestbefore.addon.proxy.exchange.context import Contact
from bestbefore.addon.proxy.exchange.pieces import cut_stream
from bestbefore.addon.proxy.origin.contact import Source
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.message import Head


@dataclass(frozen=True, slots=True)
class RestReader:
    """Requests the rest of the content of a response, as far as it is of the same version."""

    origin: Source
    contact: Contact
    head: Head
    """That of the response."""

    def read_span(self, span: Span) -> AsyncGenerator[bytes]:
        """Yield a span of the content. Raises ConnectionError if it cannot be had."""
        return cut_stream(self.read(span.start), (Span(0, span.end - span.start),))

    async def read(self, at: int) -> AsyncGenerator[bytes]:
        """Yield the content from an offset on. Raises ConnectionError if it cannot be had."""
        context = self.contact.context
        request = for_rest(self.contact.ask.sent, self.head, at)
        if request is None:
            raise ConnectionError("the content was read too slowly to be shared")
        context.record.contact = True
        fetched = await self.origin.fetch(request, reach=context.reach)
        try:
            before = before_rest(fetched.head, self.head, at)
            if before is None:
                raise ConnectionError("the content has changed while it was read")
            async for chunk in fetched.chunks:
                context.record.received_bytes += len(chunk)
                if before < len(chunk):
                    yield chunk[before:]
                before = max(0, before - len(chunk))
        finally:
            await fetched.chunks.aclose()
            fetched.close()
