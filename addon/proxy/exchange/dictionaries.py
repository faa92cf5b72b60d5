"""Dictionaries offered to origins: content that is coded with a stored copy is decoded as it arrives (RFC 9842)."""

import asyncio
from collections.abc import AsyncGenerator, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from weakref import WeakSet

import zstandard

from bestbefore.addon.engine.request import Ask
from bestbefore.addon.feeds import coding
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.origin.contact import Failure, Fetched, OriginError
from bestbefore.addon.rfc9111.caching import dictionaries
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.store.backend.interface import Body

DICTIONARY_BYTES = 8 * 1024 * 1024
"""The largest dictionary."""
MAX_CONCURRENT = 8
"""How many dictionaries are in use at the same time; further contacts offer none."""
GROWTH = 8
"""How many times as long as the limit of a dictionary decoded content may be: a few bytes may stand for gigabytes."""
_MAGIC = b"\x5e\x2a\x4d\x18\x20\x00\x00\x00"
_HEADER_BYTES = len(_MAGIC) + 32
_SLICE_BYTES = 512
"""How much is decoded in one step: a block of 4 bytes may stand for 128 KiB, so at most 16 MiB come at once."""


class Dictionary:
    """The decoded content of a copy, and its digest."""

    __slots__ = ("__weakref__", "content", "digest")

    def __init__(self, content: bytes) -> None:
        self.content = content
        self.digest = dictionaries.digest_of(content)


@dataclass(frozen=True, slots=True)
class Offer:
    """A request to the origin that offers a dictionary."""

    request: Request
    dictionary: Dictionary

    async def decoded(self, fetched: Fetched) -> Fetched | None:
        """Return the response with decoded content; None if it was coded with another dictionary.

        A response that is not coded with a dictionary is returned as it is. Raises OriginError.
        """
        if not dictionaries.is_coded(fetched.head):
            return fetched
        start = b""
        async for chunk in fetched.chunks:
            start += chunk
            if len(start) >= _HEADER_BYTES:
                break
        if start[:_HEADER_BYTES] != _MAGIC + self.dictionary.digest:
            await fetched.chunks.aclose()
            fetched.close()
            return None
        decoded = replace(fetched, head=dictionaries.decoded_head(fetched.head), length=None)
        decoded.chunks = _decoded(start[_HEADER_BYTES:], fetched.chunks, self.dictionary, decoded)
        return decoded


class Dictionaries:
    """Offers stored copies as dictionaries for their own next versions."""

    def __init__(self, stored: StoredContent) -> None:
        self._stored = stored
        self._in_use: WeakSet[Dictionary] = WeakSet()

    async def offer(self, ask: Ask, now_s: float) -> Offer | None:
        """Return the request with the copy that it validates as the dictionary; None if that may not be one."""
        copy = ask.chosen
        if ask.bypass or copy is None or not 0 < copy.body.size <= DICTIONARY_BYTES:
            return None
        use = dictionaries.as_dictionary(ask.request, ask.sent, copy, now_s)
        if use is None or len(self._in_use) >= MAX_CONCURRENT:
            return None
        body = await self._stored.of(copy)
        encoding = copy.head.fields.get("content-encoding") or ""
        dictionary = None if body is None else await asyncio.to_thread(_dictionary, body, encoding)
        if dictionary is None:
            return None
        self._in_use.add(dictionary)
        return Offer(dictionaries.offering(ask.sent, dictionary.digest, use), dictionary)


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


def _pieces(decoder: "zstandard.ZstdDecompressionObj", coded: bytes) -> Iterator[bytes]:
    for at in range(0, len(coded), _SLICE_BYTES):
        try:
            piece = b"" if decoder.eof else decoder.decompress(coded[at : at + _SLICE_BYTES])
        except zstandard.ZstdError as error:
            raise OriginError(Failure.MALFORMED, f"the content cannot be decoded: {error}") from None
        if piece:
            yield piece
