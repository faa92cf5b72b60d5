"""Messages: what is sent is what arrives, or nothing."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.hub.wire.message import (
    PIECE_BYTES,
    Assembly,
    Beat,
    MalformedMessageError,
    Message,
    Object,
    Piece,
    batches,
    decode,
    encode,
    pieces,
)

BEAT = Message("hub", "all", 5, 7, (5, 6), 1000.0, Beat(999.0, (b"12345678",)))


def test_a_message_returns_as_it_was() -> None:
    assert decode(encode(BEAT)) == BEAT


@given(end=st.integers(0, len(encode(BEAT)) - 1))
def test_a_truncated_message_is_malformed(end: int) -> None:
    with pytest.raises(MalformedMessageError):
        decode(encode(BEAT)[:end])


def test_another_version_is_named() -> None:
    with pytest.raises(MalformedMessageError, match="02"):
        decode(b"\x02" + encode(BEAT)[1:])


@given(body=st.binary(max_size=100) | st.none(), size=st.sampled_from([0, 1, PIECE_BYTES, 2 * PIECE_BYTES + 5]))
def test_an_object_is_put_together(body: bytes | None, size: int) -> None:
    carried = Object(b"copy", None if body is None else body + b"x" * size, (1.0, 2.0), 0.5)
    assembly = Assembly(1 << 20)
    results = [assembly.add(piece) for piece in pieces(carried)]
    assert results[-1] == carried
    assert results[:-1] == [None] * (len(results) - 1)
    assert not assembly.is_open


def test_a_new_object_ends_one_that_is_incomplete() -> None:
    first, second = (pieces(Object(name, b"x" * 2 * PIECE_BYTES, (), None)) for name in (b"a", b"b"))
    assembly = Assembly(1 << 20)
    assert assembly.add(first[0]) is None
    assert [assembly.add(piece) for piece in second][-1] is not None


@pytest.mark.parametrize("wrong", ["order", "too-large", "other"])
def test_pieces_that_do_not_fit_are_refused(wrong: str) -> None:
    found = pieces(Object(b"a", b"x" * 3 * PIECE_BYTES, (), None))
    assembly = Assembly(1000 if wrong == "too-large" else 1 << 20)
    second = found[2] if wrong == "order" else Piece(b"other", 1, len(found), b"x") if wrong == "other" else found[1]
    with pytest.raises(MalformedMessageError):
        [assembly.add(piece) for piece in (found[0], second)]
    assert not assembly.is_open


def test_urls_are_batched_by_size() -> None:
    assert list(batches(["aaa", "bbb", "c"], 6)) == [("aaa", "bbb"), ("c",)]
    assert list(batches(["a" * 10], 6)) == [("a" * 10,)]
    assert list(batches([])) == []
