"""Spans of content, from memory, from a file, or from a stream that is still arriving."""

import asyncio
import os
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from bestbefore.addon.rfc9111.conditional.ranges import Piece, Span
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

type Stored = bytes | Path | UnlinkedFile
"""Content that can be read at any place."""

type Instead = Callable[[Span], AsyncGenerator[bytes]]
"""Yields a span of content that cannot be read."""

FILE_CHUNK_BYTES = 64 * 1024
"""The size of a read from a file. Each slow client holds so much in memory."""


def cut(
    content: bytes | Path | UnlinkedFile | AsyncGenerator[bytes], pieces: Sequence[Piece]
) -> bytes | AsyncGenerator[bytes]:
    """Return these pieces of content. If the content is a stream, the spans must ascend.

    If the content is shorter than the spans, or the file cannot be read, reading raises ConnectionError: the client
    must not take the answer for complete.
    """
    if isinstance(content, bytes):
        return b"".join([content[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in pieces])
    if isinstance(content, Path):
        return _from_file(content, pieces)
    if isinstance(content, UnlinkedFile):
        return _from_reads(content.read, pieces, "a temporary file")
    return cut_stream(content, pieces)


async def cut_parts(
    sources: Sequence[tuple[Span, Stored]], pieces: Sequence[Piece], instead: Instead | None = None
) -> AsyncGenerator[bytes]:
    """Yield these pieces of content that is stored in parts, given where each part lies.

    If a byte is in no part, or a file cannot be read, the rest of its piece is from `instead`; without that, reading
    raises ConnectionError.
    """
    for piece in pieces:
        if not isinstance(piece, Span):
            yield piece
            continue
        at = piece.start
        try:
            async for chunk in _from_parts(sources, piece):
                at += len(chunk)
                yield chunk
        except ConnectionError:
            if instead is None:
                raise
            async with aclosing(instead(Span(at, piece.end))) as chunks:
                async for chunk in chunks:
                    yield chunk


async def _from_parts(sources: Sequence[tuple[Span, Stored]], piece: Span) -> AsyncGenerator[bytes]:
    at = piece.start
    while at < piece.end:
        reaching = [source for source in sources if source[0].start <= at < source[0].end]
        if not reaching:
            raise ConnectionError("a part of the content is missing")
        span, content = max(reaching, key=lambda source: source[0].end)
        end = min(piece.end, span.end)
        found = cut(content, (Span(at - span.start, end - span.start),))
        if isinstance(found, bytes):
            yield found
        else:
            async for chunk in found:
                yield chunk
        at = end


async def _from_file(path: Path, pieces: Sequence[Piece]) -> AsyncGenerator[bytes]:
    """Read only these pieces. The file is opened at once, as it may be unlinked later."""
    try:
        file = await asyncio.to_thread(path.open, "rb", buffering=0)
    except OSError as error:
        raise ConnectionError(f"{path} cannot be read: {error.strerror}") from error
    with file:
        async for chunk in _from_reads(lambda at, size: os.pread(file.fileno(), size, at), pieces, str(path)):
            yield chunk


async def _from_reads(read: Callable[[int, int], bytes], pieces: Sequence[Piece], name: str) -> AsyncGenerator[bytes]:
    """Yield the pieces of a file. `read` takes an offset and a size; `name` is the file's in errors."""
    for piece in pieces:
        if not isinstance(piece, Span):
            yield piece
            continue
        at = piece.start
        while at < piece.end:
            try:
                chunk = await asyncio.to_thread(read, at, min(piece.end - at, FILE_CHUNK_BYTES))
            except OSError as error:
                raise ConnectionError(f"{name} cannot be read: {error.strerror}") from error
            if not chunk:
                raise ConnectionError(f"{name} is shorter than it was")
            at += len(chunk)
            yield chunk


async def cut_stream(chunks: AsyncGenerator[bytes], pieces: Sequence[Piece]) -> AsyncGenerator[bytes]:
    """Yield the pieces of a stream, and close it after the last one."""
    async with aclosing(chunks):
        chunk, begins = b"", 0  # `begins`: the offset of the chunk in the content
        for piece in pieces:
            if not isinstance(piece, Span):
                yield piece
                continue
            at = piece.start
            while at < piece.end:
                ends = begins + len(chunk)
                if ends <= at:
                    begins, next_chunk = ends, await anext(chunks, None)
                    if next_chunk is None:
                        raise ConnectionError("the content is shorter than announced")
                    chunk = next_chunk
                    continue
                until = min(piece.end, ends)
                yield chunk[at - begins : until - begins]
                at = until
