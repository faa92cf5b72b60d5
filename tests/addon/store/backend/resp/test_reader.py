"""Replies are read whole, however the bytes are cut."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from redis.exceptions import InvalidResponse, ResponseError

from bestbefore.addon.store.backend.resp.reader import ReplyReader

REPLIES = st.recursive(
    st.none() | st.integers() | st.binary(max_size=40), lambda inner: st.lists(inner, max_size=5), max_leaves=12
)


def encoded(reply):
    match reply:
        case None:
            return b"$-1\r\n"
        case int():
            return b":%d\r\n" % reply
        case bytes():
            return b"$%d\r\n%b\r\n" % (len(reply), reply)
        case _:
            return b"*%d\r\n" % len(reply) + b"".join(map(encoded, reply))


@given(st.lists(REPLIES, max_size=5), st.lists(st.integers(1, 30), max_size=40))
def test_replies_in_pieces_are_the_replies(replies, sizes):
    data, reader, found = b"".join(map(encoded, replies)), ReplyReader(), []
    for size in sizes:
        found += reader.feed(data[:size])
        data = data[size:]
    assert found + reader.feed(data) == replies


def test_a_status_is_bytes_and_an_error_is_returned_without_its_general_code():
    status, general, named = ReplyReader().feed(b"+OK\r\n-ERR no such command\r\n-WRONGTYPE a list\r\n")
    assert status == b"OK"
    assert isinstance(general, ResponseError)
    assert [str(general), str(named)] == ["no such command", "WRONGTYPE a list"]


@pytest.mark.parametrize("data", [b"HTTP/1.1 200 OK\r\n", b"$x\r\n", b"*1\r\n:\r\n", b"\r\n"])
def test_what_is_no_reply_is_refused(data):
    with pytest.raises(InvalidResponse):
        ReplyReader().feed(data)


def test_a_large_string_is_not_parsed_again_with_each_piece():
    reader, size = ReplyReader(), 1 << 20
    assert reader.feed(b"*2\r\n:1\r\n$%d\r\n" % size) == []
    reader._reply = None  # would fail if it were called
    assert reader.feed(b"x" * (size - 1)) == []
    del reader._reply
    assert reader.feed(b"x\r\n") == [[1, b"x" * size]]
