"""An answer is read to its end and no further."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.proxy.origin.framing import HEAD_LIMIT_BYTES, MalformedError
from bestbefore.addon.proxy.origin.reader import MAX_INTERIM, End, Final, Interim, ResponseEvent, ResponseReader

ANSWERS = {
    b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello": b"hello",
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3\r\nllo\r\n0\r\nX: 1\r\n\r\n": b"hello",
    b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n": b"",
    b"HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n": b"",
    b"HTTP/1.1 204 No Content\r\n\r\n": b"",
}


def content_of(events: list[ResponseEvent]) -> bytes:
    return b"".join(event for event in events if isinstance(event, bytes))


def end_of(events: list[ResponseEvent]) -> End | None:
    return next((event for event in events if isinstance(event, End)), None)


@given(st.sampled_from(sorted(ANSWERS)), st.data())
def test_it_does_not_matter_where_an_answer_is_cut(answer: bytes, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(1, len(answer) - 1), max_size=8, unique=True)))
    reader, events = ResponseReader("GET"), list[ResponseEvent]()
    for begin, end in zip([0, *cuts], [*cuts, len(answer)], strict=True):
        assert not reader.ended
        events += reader.feed(answer[begin:end])
    assert content_of(events) == ANSWERS[answer]
    assert end_of(events) == End(reusable=True, unexpected_data=False)


@pytest.mark.parametrize("answer", ANSWERS)
def test_more_than_the_answer_is_surplus_and_not_content(answer: bytes) -> None:
    for rest, displaced in ((b"HTTP/1.1 200 OK\r\n", True), (b"HT", True), (b"more", False)):
        events = ResponseReader("GET").feed(answer + rest)
        assert content_of(events) == ANSWERS[answer]
        assert end_of(events) == End(reusable=False, unexpected_data=True, displaced=displaced)


def test_a_head_has_no_content_whatever_it_says() -> None:
    events = ResponseReader("HEAD").feed(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n")
    assert end_of(events) == End(reusable=True, unexpected_data=False)


def test_content_of_unknown_length_ends_with_the_connection() -> None:
    reader = ResponseReader("GET")
    assert content_of(reader.feed(b"HTTP/1.1 200 OK\r\n\r\nhel")) == b"hel"
    assert content_of(reader.feed(b"lo")) == b"lo"
    assert reader.feed_eof() == [End(reusable=False, unexpected_data=False)]


@pytest.mark.parametrize(
    "begun", [b"", b"HTTP/1.1 200", *(answer[:-1] for answer in ANSWERS), b"HTTP/1.1 103 x\r\n\r\n"]
)
def test_an_answer_that_breaks_off_is_none(begun: bytes) -> None:
    reader = ResponseReader("GET")
    reader.feed(begun)
    with pytest.raises(MalformedError):
        reader.feed_eof()


@pytest.mark.parametrize(
    "fields",
    [b"Connection: Content-Length\r\n", b"Connection: vary\r\n", b"Connection: transfer-encoding\r\n", b"A : 1\r\n"],
)
def test_an_answer_that_breaks_a_rule_is_the_last_of_its_connection(fields: bytes) -> None:
    events = ResponseReader("GET").feed(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + fields + b"\r\n")
    assert end_of(events) == End(reusable=False, unexpected_data=False)


def test_interim_responses_are_distinguished_and_bounded() -> None:
    interim = b"HTTP/1.1 103 Early Hints\r\n\r\n"
    events = ResponseReader("GET").feed(interim * MAX_INTERIM + b"HTTP/1.1 204 x\r\n\r\n")
    assert [type(event) for event in events] == [Interim] * MAX_INTERIM + [Final, End]
    with pytest.raises(MalformedError):
        ResponseReader("GET").feed(interim * (MAX_INTERIM + 1))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
        b"HTTP/1.1 000 x\r\n\r\n",
        b"<html>\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * HEAD_LIMIT_BYTES,
        b"HTTP/1.1 200 OK\r\nA: " + b"x" * HEAD_LIMIT_BYTES + b"\r\n\r\n",
    ],
)
def test_what_is_no_answer_is_refused(answer: bytes) -> None:
    with pytest.raises(MalformedError):
        ResponseReader("GET").feed(answer)


@given(st.lists(st.sampled_from(sorted([*ANSWERS, b"\r\n", b"HTTP/1.1 ", b"\x00", b"0\r\n\r\n", b": ", b"200 OK"]))))
def test_no_bytes_make_it_fail_otherwise(pieces: list[bytes]) -> None:
    reader = ResponseReader("GET")
    try:
        for piece in pieces:
            if reader.ended:
                break
            reader.feed(piece)
    except MalformedError:
        pass


@pytest.mark.parametrize("answer", ANSWERS)
def test_at_the_end_of_an_answer_the_reader_has_ended(answer: bytes) -> None:
    reader = ResponseReader("GET")
    reader.feed(answer[:-1])
    assert not reader.ended
    reader.feed(answer[-1:])
    assert reader.ended


def test_it_is_in_a_head_from_its_first_byte_to_its_last() -> None:
    reader, seen = ResponseReader("GET"), []
    for part in (b"", b"H", b"TTP/1.1 200 OK\r\nContent-Length: 2\r\n", b"\r\n", b"a", b"b"):
        reader.feed(part)
        seen.append(reader.in_head)
    assert seen == [False, True, True, False, False, False]
