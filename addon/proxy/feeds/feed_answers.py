"""Responses that are feeds: they may get an entity tag of the proxy's own, and be collected before they are sent."""

from collections.abc import AsyncGenerator
from dataclasses import replace

from bestbefore.addon.engine import feed_delta
from bestbefore.addon.engine.listing import Listing
from bestbefore.addon.engine.own_tag import tag_for
from bestbefore.addon.engine.response import Relay
from bestbefore.addon.feeds.document import Document
from bestbefore.addon.proxy.exchange.answer_builder import note_feed
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.proxy.feeds.feeds import begins_feed, is_sent_as_feed, may_be_feed
from bestbefore.addon.rfc9111.caching.storing import NoStore
from bestbefore.addon.rfc9111.conditional.validation import is_not_modified, not_modified
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import DomainRule


def teaches_as_feed(relay: Relay) -> bool:
    """Whether a response that is not stored may be a feed to learn from."""
    teaches = relay.draft is not None and relay.why_not_stored == NoStore.NEVER_USABLE
    return teaches and may_be_feed(relay.head)


def is_awaited(request: Request, relay: Relay, rule: DomainRule) -> bool:
    """Whether the content, if it is a feed, must be complete before the head is sent.

    It must if the head depends on the content: for an entity tag of the proxy's own, or a delta. Not if it is sent with
    another media type, such as HTML, whose head a client may wait for. (It is still learnt from if it is a feed.)
    """
    draft = relay.draft
    if draft is None or relay.why_not_stored not in ("", NoStore.NEVER_USABLE) or not is_sent_as_feed(relay.head):
        return False
    return _wants_tag(draft, rule) or (rule.feed_delta and feed_delta.is_asked_for(request))


def _wants_tag(copy: Copy, rule: DomainRule) -> bool:
    return rule.feed_etag and not copy.has_validator and not copy.cache_control.no_transform


def as_copy_of_feed(copy: Copy, document: Document, rule: DomainRule) -> Copy:
    """Return the copy marked as this feed, with an entity tag of the proxy's own if it needs one."""
    return replace(copy, is_feed=True, own_etag=tag_for(document) if _wants_tag(copy, rule) else "")


def listing_of(copy: Copy, document: Document) -> Listing:
    """Return the feed's items, with the entity tag that clients see."""
    return Listing.of(document, "" if copy.shown_etag is None else copy.shown_etag.opaque)


def as_feed[T: bytes | AsyncGenerator[bytes]](
    context: RequestContext, head: Head, content: T, size: int, copy: Copy | None
) -> tuple[Head, T | bytes]:
    """Return head and content of the answer; for a feed, with the copy's entity tag, or a 304 if the client has it.

    The client may have it although the origin sent a 200: the origin supports no validators, or got another one.
    """
    if copy is None or not copy.is_feed or context.request.method != "GET":
        return head, content
    if copy.own_etag:
        head = replace(head, fields=head.fields.replaced("ETag", str(copy.shown_etag)))
    has_it = is_not_modified(context.request, copy)
    head = not_modified(head) if has_it else head
    note_feed(context, head, size)
    return head, b"" if has_it else content


async def read_start(chunks: AsyncGenerator[bytes], head: Head) -> tuple[bytes, bool]:
    """Read the start of the content, as much as shows whether it is a feed; return the start and the result."""
    start = await anext(chunks, b"")
    is_feed = begins_feed(head, start)
    while is_feed is None and (more := await anext(chunks, b"")):
        start += more
        is_feed = begins_feed(head, start)
    return start, is_feed is True


async def resumed(first: bytes, chunks: AsyncGenerator[bytes]) -> AsyncGenerator[bytes]:
    """Yield a piece that was read before, and then the other pieces."""
    try:
        if first:
            yield first
        async for chunk in chunks:
            yield chunk
    finally:
        await chunks.aclose()
