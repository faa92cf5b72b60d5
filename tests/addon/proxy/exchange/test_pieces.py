"""The same pieces from memory, from a file and from a stream."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.proxy.exchange.pieces import FILE_CHUNK_BYTES, Stored, cut, cut_parts
from bestbefore.addon.rfc9111.conditional.ranges import Piece, Span
from bestbefore.addon.store.backend.unlinked import UnlinkedFile

CONTENT = bytes(range(250))


class Stream:
    """Content in chunks, that knows how far it was read and whether it was closed."""

    def __init__(self, *chunks: bytes) -> None:
        self.chunks = chunks
        self.taken = 0
        self.closed = False

    async def read(self) -> AsyncGenerator[bytes]:
        try:
            for chunk in self.chunks:
                self.taken += 1
                yield chunk
        finally:
            self.closed = True


async def collected(content: Path | UnlinkedFile | AsyncGenerator[bytes], pieces: list[Piece]) -> bytes:
    chunks = cut(content, pieces)
    assert not isinstance(chunks, bytes)
    return b"".join([chunk async for chunk in chunks])


def in_chunks(content: bytes, sizes: list[int]) -> Stream:
    chunks, at = [], 0
    for size in sizes:
        chunks.append(content[at : at + size])
        at += size
    return Stream(*chunks, content[at:])


@given(
    st.lists(st.integers(0, 250), max_size=8, unique=True).map(sorted),
    st.lists(st.integers(0, 60), max_size=20),
)
@settings(max_examples=200, deadline=None, derandomize=True)
def test_spans_are_the_same_however_the_content_comes(bounds: list[int], sizes: list[int]) -> None:
    pieces: list[Piece] = []
    for start, end in zip(bounds[::2], bounds[1::2], strict=False):
        pieces += [b"<", Span(start, end), b">"]
    expected = cut(CONTENT, pieces)
    assert expected == b"".join(b"<%b>" % CONTENT[a:b] for a, b in zip(bounds[::2], bounds[1::2], strict=False))
    assert asyncio.run(collected(in_chunks(CONTENT, sizes).read(), pieces)) == expected


async def test_a_file_gives_its_spans_in_any_order(tmp_path: Path) -> None:
    large = CONTENT * 3000
    file = tmp_path / "body"
    file.write_bytes(large)
    ends_s = Span(len(large) - 5, len(large))
    long = Span(7, 7 + FILE_CHUNK_BYTES + 1)
    assert await collected(file, [ends_s, b"|", long]) == large[-5:] + b"|" + large[7 : long.end]
    assert await collected(file, []) == b""


async def test_a_file_that_became_shorter_is_an_error_and_no_short_answer(tmp_path: Path) -> None:
    file = tmp_path / "body"
    file.write_bytes(b"abc")
    with pytest.raises(ConnectionError):
        await collected(file, [Span(1, 5)])


async def test_a_file_that_is_gone_is_an_error_of_the_same_kind(tmp_path: Path) -> None:
    with pytest.raises(ConnectionError, match="cannot be read"):
        await collected(tmp_path / "body", [Span(0, 5)])


async def test_a_file_without_a_name_gives_its_spans_too(tmp_path: Path) -> None:
    file = UnlinkedFile(tmp_path)
    file.add(CONTENT * 1000)
    pieces = [Span(240, 260), b"--", Span(0, 3 * FILE_CHUNK_BYTES)]
    whole = CONTENT * 1000
    assert await collected(file, pieces) == whole[240:260] + b"--" + whole[: 3 * FILE_CHUNK_BYTES]
    with pytest.raises(ConnectionError, match="shorter"):
        await collected(file, [Span(0, len(whole) + 1)])


async def test_a_stream_is_read_as_far_as_needed_and_closed() -> None:
    stream = Stream(b"abc", b"def", b"ghi", b"jkl")
    assert await collected(stream.read(), [Span(2, 5)]) == b"cde"
    assert (stream.taken, stream.closed) == (2, True)


async def test_a_stream_that_ends_early_is_an_error_and_no_short_answer() -> None:
    with pytest.raises(ConnectionError):
        await collected(Stream(b"abc").read(), [Span(1, 5)])


async def test_what_is_gone_of_stored_parts_comes_from_elsewhere(tmp_path: Path) -> None:
    content = bytes(range(100))
    first, second = tmp_path / "first", tmp_path / "second"
    first.write_bytes(content[:30])
    sources: list[tuple[Span, Stored]] = [(Span(0, 40), first), (Span(60, 90), second), (Span(90, 100), content[90:])]
    asked: list[Span] = []

    async def instead(span: Span) -> AsyncGenerator[bytes]:
        asked.append(span)
        yield content[span.start : span.end]

    pieces = Span(10, 50), b"--", Span(65, 95), Span(92, 99)
    found = b"".join([chunk async for chunk in cut_parts(sources, pieces, instead)])
    assert found == content[10:50] + b"--" + content[65:95] + content[92:99]
    assert asked == [Span(30, 50), Span(65, 95)]
    with pytest.raises(ConnectionError):
        [chunk async for chunk in cut_parts(sources, pieces)]
