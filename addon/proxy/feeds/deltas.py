"""Reduces an answer to the items that a feed reader has not seen, if it requests that (`engine.feed_delta`)."""

import gzip
from functools import partial

from bestbefore.addon.engine import feed_delta
from bestbefore.addon.engine.feed_delta import Base
from bestbefore.addon.engine.listing import Feed
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.proxy.feeds.feeds import FeedReader, begins_feed
from bestbefore.addon.rfc9111.caching.vary import accepted_encodings
from bestbefore.addon.rfc9111.message import Head
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.store import Store


class Deltas:
    """Turns complete answers into deltas."""

    def __init__(self, store: Store, feeds: FeedReader) -> None:
        self._store = store
        self._feeds = feeds

    async def shorten(self, answer: Answer, context: RequestContext, rule: DomainRule) -> None:
        """Turn the answer into a delta, if the request asks for one, it is possible, and it is shorter.

        Raises OriginError if the rest of the content does not arrive.
        """
        request = context.request
        if not (rule.feed_delta and feed_delta.is_asked_for(request) and feed_delta.may_replace(answer.head)):
            return
        record = await self._store.record(request.target.url)
        if record is None or record.feed is None:
            return
        base = feed_delta.base_of(request, record.feed)
        if base is None or not await _is_whole(answer):
            return
        delta = await self._cut(answer.head, answer.body, record.feed, base)
        if delta is None:
            return
        coding = "" if accepted_encodings(request.fields) is None else "gzip"
        delta = gzip.compress(delta) if coding else delta
        if len(delta) >= len(answer.body):
            return
        context.record.status, context.record.encoding, context.record.feed = 226, coding, "delta"
        context.record.spared_bytes = len(answer.body) - len(delta)
        answer.head, answer.body = feed_delta.head_of(answer.head, base, len(delta), coding), delta

    async def _cut(self, head: Head, content: bytes, feed: Feed, base: Base) -> bytes | None:
        if begins_feed(head, content) is not True:
            return None
        return await self._feeds.without_items(head, content, partial(feed_delta.has_seen, feed=feed, base=base))


async def _is_whole(answer: Answer) -> bool:
    """Whether the content is complete, after waiting for it if it is not too long."""
    if answer.chunks is None:
        return True
    length = answer.head.fields.first("content-length") or ""
    if not length.isdigit() or len(length) > len(str(DOCUMENT_BYTES)) or int(length) > DOCUMENT_BYTES:
        return False
    answer.body = b"".join([chunk async for chunk in answer.chunks])
    answer.chunks = None
    return True
