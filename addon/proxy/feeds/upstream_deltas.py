"""Deltas of feeds that origins send to the proxy, joined with its copies (`A-IM: feed`, RFC 3229)."""

import asyncio
import gzip
import math
from collections.abc import AsyncGenerator
from dataclasses import dataclass, replace
from pathlib import Path

from cachetools import LRUCache

from bestbefore.addon.engine.feed_delta import A_IM, MANIPULATION
from bestbefore.addon.engine.request import Ask
from bestbefore.addon.feeds.coding import decoded
from bestbefore.addon.feeds.extract import DOCUMENT_BYTES
from bestbefore.addon.feeds.join import joined
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.origin.contact import Fetched
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.entity_tags import EntityTag, etag_field, parse_entity_tags
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.backend.interface import Body
from bestbefore.policies.units import DAY_S

MOST_DELTAS = 24
"""After so many deltas the whole feed is fetched: an item that was removed is in no delta."""
FEEDS_KEPT = 4096
"""For how many feeds it is known whether their origins send deltas."""
_OF_THE_DELTA = frozenset((
    "im", "delta-base", "content-length", "content-encoding", "content-md5", "content-digest", "repr-digest", "etag",
    "cache-control", "accept-ranges",
))  # fmt: skip


@dataclass(frozen=True, slots=True)
class DeltaOffer:
    """A request that accepts a delta, and the copy that is its base."""

    request: Request
    copy: Copy


@dataclass(slots=True)
class _Known:
    """What is known of a feed."""

    asked_s: float
    """When a delta was last asked for."""
    sends: bool = False
    """Whether its origin has sent one."""
    deltas: int = 0
    """How many since the last whole document."""
    broken: bool = False
    """Whether one could not be joined."""


class UpstreamDeltas:
    """Asks for deltas of stored feeds, and joins them."""

    def __init__(self, stored: StoredContent) -> None:
        self._stored = stored
        self._known: LRUCache[str, _Known] = LRUCache(FEEDS_KEPT)
        """By URL."""

    def offer(self, ask: Ask, rule: DomainRule, now_s: float) -> DeltaOffer | None:
        """Return the request that accepts a delta; None if none is wanted.

        One is asked for where the origin has sent one, or says that it does (`Vary: A-IM`); else, and after one that
        could not be joined, once a day.
        """
        copy = ask.chosen
        if copy is None or not rule.feed_delta or not _may_be_base(ask, copy):
            return None
        known = self._known.get(copy.url) or _Known(-math.inf)
        if known.deltas >= MOST_DELTAS:
            known.deltas = 0
            return None
        serves = (known.sends or _advertises(copy)) and not known.broken
        if not serves and 0.0 <= now_s - known.asked_s < DAY_S:
            return None
        known.asked_s, known.broken = now_s, False
        self._known[copy.url] = known
        return DeltaOffer(replace(ask.sent, fields=ask.sent.fields.added(("A-IM", MANIPULATION))), copy)

    async def taken(self, offer: DeltaOffer, fetched: Fetched) -> Fetched | None:
        """Return the response, whole if it is a delta; None if the delta cannot be joined: ask without offering then.

        Raises OriginError if the delta is truncated.
        """
        if fetched.head.status != 226:
            return fetched
        known = self._known.setdefault(offer.copy.url, _Known(fetched.request_time_s))
        known.sends = True
        whole = await self._whole(offer, fetched)
        fetched.close()
        if whole is None:
            known.broken = True
            return None
        known.deltas += 1
        return whole

    async def _whole(self, offer: DeltaOffer, fetched: Fetched) -> Fetched | None:
        tag = _tag_of_whole(offer.copy, fetched.head)
        if tag is None:
            return None
        content = b""
        async for chunk in fetched.chunks:
            content += chunk
            if len(content) > DOCUMENT_BYTES:
                await fetched.chunks.aclose()
                return None
        base = await self._stored.of(offer.copy)
        if base is None:
            return None
        base_coding = offer.copy.head.fields.get("content-encoding") or ""
        coding = fetched.head.fields.get("content-encoding") or ""
        whole = await asyncio.to_thread(_joined, base, base_coding, content, coding)
        if whole is None:
            return None
        head = _head_of_whole(fetched.head, tag, len(whole), base_coding if _is_gzip(base_coding) else "")
        return replace(
            fetched, head=head, chunks=_one(whole), length=len(whole), spared_bytes=max(0, len(whole) - len(content))
        )


def _advertises(copy: Copy) -> bool:
    return any(name.lower() == A_IM for line in copy.head.fields.values("vary") for name in list_members(line))


def _may_be_base(ask: Ask, copy: Copy) -> bool:
    """Whether a copy is the only document that the request names, and any client may have it."""
    sent = ask.sent.fields
    return (
        not ask.bypass
        and ask.request.method == "GET"
        and copy.is_feed
        and not (copy.client or copy.personal or copy.own_etag)
        and not copy.cache_control.no_transform
        and copy.body.size <= DOCUMENT_BYTES
        and "range" not in sent
        and copy.etag is not None
        and sent.get("if-none-match") == str(copy.etag)
    )


def _tag_of_whole(base: Copy, head: Head) -> EntityTag | None:
    """Return the entity tag of the document that a delta leads to; None if the delta is not one of this base.

    It is weak: the joined document has the items of the origin's, and not its bytes.
    """
    manipulations = [member.partition(";")[0].strip().lower() for member in list_members(head.fields.get("im") or "")]
    named = parse_entity_tags(head.fields.get("delta-base") or "")
    tag = etag_field(head.fields)
    if manipulations != [MANIPULATION] or tag is None or base.etag is None or tag.weakly_equals(base.etag):
        return None
    if "delta-base" in head.fields and not any(one.weakly_equals(base.etag) for one in named):
        return None
    return tag._replace(weak=True)


def _head_of_whole(head: Head, tag: EntityTag, size: int, coding: str) -> Head:
    """Return the head of the 200 that a 226 stands for. With `im`, `no-store` is meant for other caches (RFC 3229)."""
    directives = list_members(head.fields.get("cache-control") or "")
    if any(directive.lower() == "im" for directive in directives):
        directives = [directive for directive in directives if directive.lower() not in ("im", "no-store")]
    lines = [("ETag", str(tag)), ("Content-Length", str(size))]
    if directives:
        lines.append(("Cache-Control", ", ".join(directives)))
    if coding:
        lines.append(("Content-Encoding", coding))
    return Head(200, Fields(head.fields.without(_OF_THE_DELTA).raw).added(*lines), "OK")


def _is_gzip(coding: str) -> bool:
    return coding.strip().lower() in ("gzip", "x-gzip")


def _joined(base: Body, base_coding: str, delta: bytes, coding: str) -> bytes | None:
    """Return the whole document in the coding of the base; None if it cannot be made. Blocks."""
    try:
        content = base if isinstance(base, bytes) else base.read_bytes() if isinstance(base, Path) else base.read_all()
    except OSError:
        return None
    old, new = decoded(content, base_coding, DOCUMENT_BYTES), decoded(delta, coding, DOCUMENT_BYTES)
    whole = None if old is None or new is None else joined(old, new)
    return gzip.compress(whole, mtime=0) if whole is not None and _is_gzip(base_coding) else whole


async def _one(content: bytes) -> AsyncGenerator[bytes]:
    yield content
