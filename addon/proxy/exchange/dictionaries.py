"""Dictionaries offered to origins: content that is coded with a stored copy is decoded as it arrives (RFC 9842)."""

import asyncio
import zlib
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from weakref import WeakSet

import zstandard
from cachetools import LRUCache

from bestbefore.addon.engine.request import Ask
from bestbefore.addon.feeds import coding
from bestbefore.addon.proxy.access.reach import LOOPBACK, Reach
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.caching import dictionaries
from bestbefore.addon.rfc9111.caching.vary import accepted_encodings
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import Body
from bestbefore.addon.store.store import Store

DICTIONARY_BYTES = 8 * 1024 * 1024
"""The largest dictionary."""
MAX_CONCURRENT = 8
"""How many dictionaries are in use at the same time; further contacts offer none."""
MAX_TRIED = 8
"""How many URLs are tried for a copy that may be offered: some may be gone."""
DIGESTS_KEPT = 1024
"""Of how much content the digest as a dictionary is remembered."""
GROWTH = 8
"""How many times as long as the limit of a dictionary decoded content may be: a few bytes may stand for gigabytes."""
GZIP_LEVEL = 4
"""13 ms of processor time for a megabyte of text, a third of level 6, for 6 percent more bytes."""
THREAD_FROM_BYTES = 256 * 1024
"""More content than this is coded in a thread."""
_MAGIC = b"\x5e\x2a\x4d\x18\x20\x00\x00\x00"
_HEADER_BYTES = len(_MAGIC) + 32
_SLICE_BYTES = 512
"""How much is decoded in one step: a block of 4 bytes may stand for 128 KiB, so at most 16 MiB come at once."""


class Dictionary:
    """The decoded content of a copy, and its digest."""

    __slots__ = ("content", "digest")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.digest = dictionaries.digest_of(content)


@dataclass(frozen=True, slots=True)
class Offer:
    """A request to the origin that offers a copy as the dictionary."""

    request: Request
    copy: Copy
    digest: bytes
    """Of the decoded content."""


class Dictionaries:
    """Offers stored copies as dictionaries to their origins, and decodes what is coded with them."""

    def __init__(self, store: Store, stored: StoredContent) -> None:
        self._store = store
        self._stored = stored
        self._digests: LRUCache[tuple[str, str], bytes] = LRUCache(DIGESTS_KEPT)
        """By the digest of the stored content, and its content coding."""
        self._decoding: WeakSet[AsyncGenerator[bytes]] = WeakSet()
        """The contents that are being decoded, each with its dictionary."""

    async def offer(self, ask: Ask, reach: Reach, now_s: float) -> Offer | None:
        """Return the request with the most specific dictionary that it may offer; None without one.

        Its content is read once for its digest, and again only when a response is coded with it.
        """
        if ask.bypass or not dictionaries.may_offer(ask.request, ask.sent) or len(self._decoding) >= MAX_CONCURRENT:
            return None
        for url in islice(await self._store.dictionaries(ask.request.target), MAX_TRIED):
            for copy in (await self._store.copies(url, ask.request.partition)).copies:
                use = dictionaries.as_dictionary(ask.request, copy, now_s) if _is_usable(copy, reach) else None
                digest = None if use is None else await self._digest(copy)
                if use is not None and digest is not None:
                    return Offer(dictionaries.offering(ask.sent, digest, use), copy, digest)
        return None

    async def decoded(self, offer: Offer, fetched: Fetched) -> Fetched | None:
        """Return the response with decoded content; None if its dictionary is another one, or no longer stored.

        A response that is not coded with a dictionary is returned as it is. If the dictionary is stored with a content
        coding, the content would probably have one too: it is coded with gzip where the client accepts that. Raises
        OriginError.
        """
        if not dictionaries.is_coded(fetched.head):
            return fetched
        start = b""
        async for chunk in fetched.chunks:
            start += chunk
            if len(start) >= _HEADER_BYTES:
                break
        is_offered = start[:_HEADER_BYTES] == _MAGIC + offer.digest and len(self._decoding) < MAX_CONCURRENT
        dictionary = await self._read(offer.copy) if is_offered else None
        if dictionary is None or dictionary.digest != offer.digest:
            self._digests.pop(_key(offer.copy), None)
            await fetched.chunks.aclose()
            fetched.close()
            return None
        decoded = replace(fetched, head=dictionaries.decoded_head(fetched.head), length=None)
        decoded.chunks = _decoded(start[_HEADER_BYTES:], fetched.chunks, dictionary, decoded)
        self._decoding.add(decoded.chunks)
        if _key(offer.copy)[1] and accepted_encodings(offer.request.fields) is not None:
            decoded.head, decoded.chunks = dictionaries.recoded_head(decoded.head), _gzipped(decoded.chunks, decoded)
        return decoded

    async def _digest(self, copy: Copy) -> bytes | None:
        key = _key(copy)
        if key not in self._digests:
            dictionary = await self._read(copy)
            if dictionary is None:
                return None
            self._digests[key] = dictionary.digest
        return self._digests[key]

    async def _read(self, copy: Copy) -> Dictionary | None:
        body = await self._stored.of(copy)
        return None if body is None else await asyncio.to_thread(_dictionary, body, _key(copy)[1])


def _is_usable(copy: Copy, reach: Reach) -> bool:
    """Whether a copy has the size of a dictionary, and comes from where the client may reach."""
    is_reachable = (not copy.local or LOOPBACK in reach.ranges) and (not copy.range or copy.range in reach.ranges)
    return is_reachable and 0 < copy.body.size <= DICTIONARY_BYTES


def _key(copy: Copy) -> tuple[str, str]:
    return copy.body.digest, copy.head.fields.get("content-encoding") or ""


def _dictionary(body: Body, encoding: str) -> Dictionary | None:
    """Return the dictionary; None if the content cannot be read or decoded, or is too large. Blocks."""
    try:
        content = body if isinstance(body, bytes) else body.read_bytes() if isinstance(body, Path) else body.read_all()
    except OSError:
        return None
    decoded = coding.decoded(content, encoding, DICTIONARY_BYTES)
    return Dictionary(decoded) if decoded else None


async def _decoded(
    start: bytes, chunks: AsyncGenerator[bytes], dictionary: Dictionary, fetched: Fetched
) -> AsyncGenerator[bytes]:
    """Yield the decoded content. Raises OriginError if it is malformed, truncated or too long."""
    # RFC 9842 5: the window is 8 MiB, or 1.25 times the dictionary if that is more.
    window_bytes = max(8 * 1024 * 1024, len(dictionary.content) * 5 // 4)
    raw = zstandard.ZstdCompressionDict(dictionary.content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)
    decoder = zstandard.ZstdDecompressor(dict_data=raw, max_window_size=window_bytes).decompressobj()
    size_bytes, coded_bytes = 0, _HEADER_BYTES
    try:
        chunk = start
        while True:
            coded_bytes += len(chunk)
            for piece in _pieces(decoder, chunk):
                size_bytes += len(piece)
                if size_bytes > GROWTH * DICTIONARY_BYTES:
                    raise OriginError(Failure.MALFORMED, "the content coded with a dictionary is too long")
                fetched.spared_bytes = size_bytes - coded_bytes
                yield piece
            try:
                chunk = await anext(chunks)
            except StopAsyncIteration:
                break
        if not decoder.eof or decoder.unused_data:
            raise OriginError(Failure.RESET, "the content coded with a dictionary does not end where it should")
    finally:
        await chunks.aclose()


async def _gzipped(chunks: AsyncGenerator[bytes], fetched: Fetched) -> AsyncGenerator[bytes]:
    """Yield the content coded with gzip. Raises OriginError as its source does."""
    compressor = zlib.compressobj(GZIP_LEVEL, wbits=31)
    plain_bytes, sent_bytes = 0, 0
    try:
        async for piece in chunks:
            if len(piece) < THREAD_FROM_BYTES:
                coded = compressor.compress(piece)
            else:
                coded = await asyncio.to_thread(compressor.compress, piece)
            plain_bytes, sent_bytes = plain_bytes + len(piece), sent_bytes + len(coded)
            fetched.spared_bytes -= plain_bytes - sent_bytes
            if coded:
                yield coded
        rest = compressor.flush()
        fetched.spared_bytes += len(rest)
        yield rest
    finally:
        await chunks.aclose()


def _pieces(decoder: "zstandard.ZstdDecompressionObj", coded: bytes) -> Iterator[bytes]:
    for at in range(0, len(coded), _SLICE_BYTES):
        try:
            piece = b"" if decoder.eof else decoder.decompress(coded[at : at + _SLICE_BYTES])
        except zstandard.ZstdError as error:
            raise OriginError(Failure.MALFORMED, f"the content cannot be decoded: {error}") from None
        if piece:
            yield piece
