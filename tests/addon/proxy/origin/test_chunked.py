"""Chunks are read to the byte, however they are cut on their way."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.proxy.origin.chunked import LINE_LIMIT_BYTES, ChunkedReader
from bestbefore.addon.proxy.origin.framing import HEAD_LIMIT_BYTES, MalformedError


def read(data: bytes) -> tuple[bytes, bool, bytes]:
    reader = ChunkedReader()
    content = b"".join(reader.feed(data))
    return content, reader.done, reader.rest


@given(
    st.lists(st.tuples(st.binary(min_size=1, max_size=40), st.sampled_from([b"", b";a=b", b" ", b';q="x y"']))),
    st.lists(st.sampled_from([b"A: 1\r\n", b"Some: thing\r\n"]), max_size=3),
    st.binary(max_size=10),
    st.data(),
)
def test_content_comes_out_whole_wherever_it_was_cut(
    chunks: list[tuple[bytes, bytes]], trailers: list[bytes], rest: bytes, data: st.DataObject
) -> None:
    sent = b"".join(b"%x%b\r\n%b\r\n" % (len(c), ext, c) for c, ext in chunks) + b"0\r\n" + b"".join(trailers) + b"\r\n"
    whole = sent + rest
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    reader, content = ChunkedReader(), b""
    for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True):
        content += b"".join(reader.feed(whole[begin:end]))
    assert (content, reader.done, reader.rest) == (b"".join(c for c, _ in chunks), True, rest)


def test_an_end_that_has_not_come_is_awaited() -> None:
    for cut in range(1, len(b"3\r\nabc\r\n0\r\n\r\n")):
        assert not read(b"3\r\nabc\r\n0\r\n\r\n"[:-cut])[1]


@pytest.mark.parametrize(
    "data",
    [
        b"zz\r\n", b"-3\r\nabc\r\n", b"0x3\r\nabc\r\n", b"+3\r\nabc\r\n", b"\r\n", b" 3\r\nabc\r\n",
        b"3\nabc\r\n0\r\n\r\n",
        b"3\r\nabcd\r\n0\r\n\r\n", b"3\r\nabc\n\n0\r\n\r\n", b"3\r\nabc0\r\n\r\n", b"1" * 17 + b"\r\n",
        b"f" * 16 + b"\r\nabc",
        b"3;\x00\r\nabc\r\n",
        b"3\rX\r\nabc\r\n", b"0\r\nA: 1\nB: 2\r\n\r\n", b"1" + b";" * LINE_LIMIT_BYTES + b"\r\n",
        b"1" + b";" * (LINE_LIMIT_BYTES + 1), b"0\r\n" + b"A: 1\r\n" * (HEAD_LIMIT_BYTES // 6 + 1),
    ],
)  # fmt: skip
def test_what_is_no_chunk_is_refused(data: bytes) -> None:
    with pytest.raises(MalformedError):
        read(data)
