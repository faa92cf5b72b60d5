from collections.abc import Callable
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.conditional.ranges import (
    FEW_PARTS,
    RANGES_AT_MOST,
    ByteRangePart,
    Span,
    part,
    satisfiable,
    whole,
)
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

type MakeRequest = Callable[..., Request]
type MakeHead = Callable[..., Head]

CONTENT = bytes(range(256)) * 40
SIZE = len(CONTENT)
LENGTH = f"Content-Length: {SIZE}"


def sent(of: ByteRangePart, content: bytes = CONTENT) -> bytes:
    return b"".join(content[piece.start : piece.end] if isinstance(piece, Span) else piece for piece in of.pieces)


def parts_of(of: ByteRangePart, content: bytes = CONTENT) -> list[tuple[str, bytes]]:
    """Content-Range and content of each part of a 206, read as a client reads them."""
    body = sent(of, content)
    assert of.head.fields.values("content-length") == (str(len(body)),)
    alone = of.head.fields.get("content-range")
    if alone is not None:
        return [(alone, body)]
    kind, _, boundary = (of.head.fields.first("content-type") or "").partition("; boundary=")
    assert kind == "multipart/byteranges"
    first, *parts, last = (b"\r\n" + body).split(b"\r\n--" + boundary.encode())
    assert (first, last) == (b"", b"--\r\n")
    read = []
    for each in parts:
        lines, _, data = each.partition(b"\r\n\r\n")
        fields = dict(line.split(": ", 1) for line in lines.decode("latin-1").split("\r\n")[1:])
        read.append((fields["Content-Range"], data))
    return read


# What a Range asks for


@pytest.mark.parametrize(
    ("value", "spans"),
    [  # RFC 9110 14.1.2, of 10000 bytes
        ("bytes=0-499", [(0, 500)]),
        ("bytes=500-999", [(500, 1000)]),
        ("bytes=-500", [(9500, 10_000)]),
        ("bytes=9500-", [(9500, 10_000)]),
        ("bytes=0-0,-1", [(0, 1), (9999, 10_000)]),
        ("bytes= 0-999, 4500-5499, -1000", [(0, 1000), (4500, 5500), (9000, 10_000)]),
        ("bytes=500-600,601-999", [(500, 1000)]),
        ("bytes=500-700,601-999", [(500, 1000)]),
        # what exceeds the content is cut to it
        ("bytes=9000-20000", [(9000, 10_000)]),
        ("bytes=-20000", [(0, 10_000)]),
        ("bytes=0-" + "9" * 5000, [(0, 10_000)]),
        ("bytes=-" + "9" * 5000, [(0, 10_000)]),
        ("bytes=000000000000000000005-0000000000000000000000006", [(5, 7)]),
        # what lies beyond it is left out
        ("bytes=10000-", []),
        ("bytes=10000-10001, 20000-", []),
        ("bytes=-0", []),
        ("bytes=" + "9" * 5000 + "-", []),
        ("bytes=10000-, 0-1, -0", [(0, 2)]),
        # how it may be written
        ("BYTES=1-2", [(1, 3)]),
        ("bytes=1-2 ,\t,4-5,", [(1, 3), (4, 6)]),
        # in the order of the list, and each byte once
        ("bytes=-10,0-9", [(9990, 10_000), (0, 10)]),
        ("bytes=5-6,1-2,0-9,20-30", [(0, 10), (20, 31)]),
        ("bytes=50-60,0-9,55-70,8-12", [(50, 71), (0, 13)]),
        ("bytes=8-12,20-30,0-9", [(0, 13), (20, 31)]),
        ("bytes=" + ",".join(["0-"] * RANGES_AT_MOST), [(0, 10_000)]),
    ],
)
def test_ranges_are_read_and_those_that_overlap_or_touch_are_one(value: str, spans: list[tuple[int, int]]) -> None:
    assert satisfiable(value, 10_000) == tuple(spans)


@pytest.mark.parametrize(
    "value",
    [
        "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=a-b", "bytes=1", "bytes=1-2-3", "bytes=+1-2", "bytes=1- 2",
        "bytes=2-1", "bytes=0-1,2-1", "bytes=0-1,x", "bytes=0x1-2", "bytes=١-٢", "bytes=0-1;q=1", "bytes =0-1",
        "bytes=0-1, bytes=2-3", 'bytes="0-1"', "items=0-1", "seconds=1-", "=0-1", "0-1", "none",
        "bytes=" + ",".join(f"{n}-{n}" for n in range(0, 2 * RANGES_AT_MOST + 2, 2)),
    ],
)
def test_other_units_and_what_cannot_be_read_and_too_many_are_ignored(value: str) -> None:
    assert satisfiable(value, 10_000) is None


number = st.one_of(st.integers(0, 70).map(str), st.just(""))
range_set = st.lists(st.tuples(number, number).map("-".join), min_size=1, max_size=12)


@given(range_set, st.integers(1, 60))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_the_spans_hold_each_byte_that_is_asked_for_once_and_no_other(specs: list[str], size: int) -> None:
    spans = satisfiable("bytes=" + ",".join(specs), size)
    asked: set[int] = set()
    for spec in specs:
        first, last = spec.split("-")
        if (not first and not last) or (first and last and int(last) < int(first)):
            assert spans is None
            return
        if not first:
            asked.update(range(max(0, size - int(last)), size))
        else:
            asked.update(range(int(first), min(size, int(last) + 1 if last else size)))
    assert spans is not None
    assert sorted(n for span in spans for n in range(*span)) == sorted(asked)
    ascending = sorted(spans)
    assert all(one.end < other.start for one, other in pairwise(ascending))


@given(st.text(max_size=60), st.text(max_size=30), st.integers(1, 10**12))
@settings(max_examples=400, deadline=None, derandomize=True)
def test_no_field_raises(value: str, condition: str, size: int) -> None:
    satisfiable("bytes=" + value, size)
    request = Request("GET", Target.parse("http://e.org/"), Fields([("Range", value), ("If-Range", condition)]))
    part(request, Head(200, Fields([("Content-Length", value), ("Content-Type", condition), ("ETag", condition)])))


# What is sent


def test_one_range_is_sent_with_the_fields_of_the_whole(request_to: MakeRequest, response: MakeHead) -> None:
    lines = ("Cache-Control: max-age=60", 'ETag: "a"', "Content-Type: video/mp4", "Vary: Accept", "A: 1", "Age: 3")
    digests = ("Content-MD5: x", "Content-Digest: x", "Repr-Digest: y")
    got = part(request_to("Range: bytes=21010-47021"), response(*lines, *digests, "Content-Length: 47022"))
    assert got is not None
    assert (got.head.status, got.head.reason, got.pieces) == (206, "Partial Content", (Span(21010, 47022),))
    assert got.head.fields == response(
        *lines, "Repr-Digest: y", "Content-Range: bytes 21010-47021/47022", "Content-Length: 26012"
    ).fields


def test_several_ranges_are_the_parts_of_one_message(request_to: MakeRequest, response: MakeHead) -> None:
    head = response("Content-Type: text/plain; charset=utf-8", LENGTH, "Content-Encoding: gzip")
    got = part(request_to("Range: bytes=-2, 0-1, 8-9, 100000-"), head)
    assert got is not None
    boundary = (got.head.fields.first("content-type") or "").removeprefix("multipart/byteranges; boundary=")
    lines = f"--{boundary}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Range: bytes "
    assert sent(got) == (
        f"{lines}10238-10239/10240\r\n\r\n".encode() + b"\xfe\xff"
        + f"\r\n{lines}0-1/10240\r\n\r\n".encode() + b"\x00\x01"
        + f"\r\n{lines}8-9/10240\r\n\r\n".encode() + b"\x08\x09" + f"\r\n--{boundary}--\r\n".encode()
    )
    assert got.head.status == 206
    assert "content-range" not in got.head.fields
    assert got.head.fields.get("content-encoding") == "gzip", "the parts are parts of the encoded content"
    assert got.head.fields.values("content-type") == (f"multipart/byteranges; boundary={boundary}",)


def test_the_parts_of_content_without_a_type_have_none(request_to: MakeRequest, response: MakeHead) -> None:
    got = part(request_to("Range: bytes=0-1,5-6"), response(LENGTH))
    assert got is not None
    assert b"Content-Type" not in sent(got)


def test_a_part_alone_is_no_multipart_whatever_was_listed(request_to: MakeRequest, response: MakeHead) -> None:
    for asked in ("0-1,2-3", "0-1,90000-", "0-3,1-2"):
        got = part(request_to(f"Range: bytes={asked}"), response(LENGTH))
        assert got is not None
        assert len(got.pieces) == 1
        assert "content-range" in got.head.fields


def test_a_range_beyond_the_content_is_refused_with_a_response_that_is_not_stored(
    request_to: MakeRequest, response: MakeHead
) -> None:
    head = response(
        LENGTH, "Cache-Control: max-age=60", "CDN-Cache-Control: max-age=60", "Expires: 0", 'ETag: "a"', "Vary: Origin",
        "Content-Type: a/b", "Content-Encoding: br", "Access-Control-Allow-Origin: *", "Age: 3", "Set-Cookie: a=b",
    )
    got = part(request_to("Range: bytes=10240-"), head)
    assert got is not None
    assert (got.head.status, got.head.reason, got.pieces) == (416, "Range Not Satisfiable", ())
    assert got.head.fields == response(
        'ETag: "a"', "Vary: Origin", "Access-Control-Allow-Origin: *",
        "Content-Range: bytes */10240", "Content-Length: 0", "Cache-Control: no-store",
    ).fields


@given(range_set, st.integers(1, 60).flatmap(lambda n: st.binary(min_size=n, max_size=n)), st.booleans())
@settings(max_examples=400, deadline=None, derandomize=True)
def test_whatever_is_served_reassembles_to_the_content(specs: list[str], content: bytes, arriving: bool) -> None:
    fields = Fields([("Content-Length", str(len(content))), ("Content-Type", "text/plain")])
    request = Request("GET", Target.parse("http://e.org/"), Fields([("Range", "bytes=" + ",".join(specs))]))
    got = part(request, Head(200, fields), arriving=arriving)
    if got is None:
        return
    if got.head.status == 416:
        assert not arriving
        assert not got.pieces
        return
    assert got.head.status == 206
    for content_range, data in parts_of(got, content):
        positions, size = content_range.removeprefix("bytes ").split("/")
        first, last = map(int, positions.split("-"))
        assert int(size) == len(content)
        assert data == content[first : last + 1] != b""
    spans = [piece for piece in got.pieces if isinstance(piece, Span)]
    if arriving:
        assert spans == sorted(spans)


# When the whole is sent


@pytest.mark.parametrize(
    "line", ["Range: items=0-1", "Range: bytes=2-1", "Range: bytes=0-1,x", "Accept: */*", "If-Range: \"a\""]
)
def test_a_range_that_is_ignored_gets_the_whole(request_to: MakeRequest, response: MakeHead, line: str) -> None:
    assert part(request_to(line), response(LENGTH, 'ETag: "a"')) is None


def test_only_get_has_ranges(request_to: MakeRequest, response: MakeHead) -> None:
    for method in ("HEAD", "POST", "QUERY"):
        assert part(request_to("Range: bytes=0-1", method=method), response(LENGTH)) is None


@pytest.mark.parametrize("status", [203, 204, 206, 304, 404])
def test_only_a_200_has_parts(request_to: MakeRequest, response: MakeHead, status: int) -> None:
    assert part(request_to("Range: bytes=0-1"), response(LENGTH, status=status)) is None


@pytest.mark.parametrize("lines", [[], ["Content-Length: x"], ["Content-Length: 5", "Content-Length: 5"],
                                   ["Content-Length: " + "9" * 30], ["Content-Length: -5"], ["Content-Length: 0"]])
def test_content_that_is_empty_or_of_unknown_size_is_sent_whole(
    request_to: MakeRequest, response: MakeHead, lines: list[str]
) -> None:
    for asked in ("0-", "-5", "7-"):
        assert part(request_to(f"Range: bytes={asked}"), response(*lines)) is None


def test_a_few_parts_are_sent_even_if_longer_than_the_whole_and_many_are_not(
    request_to: MakeRequest, response: MakeHead
) -> None:
    def listing(parts: int) -> Request:
        return request_to("Range: bytes=" + ",".join(f"{2 * n}-{2 * n}" for n in range(parts)))

    short = response("Content-Length: 100")
    assert part(listing(FEW_PARTS), short) is not None
    assert part(listing(FEW_PARTS + 1), short) is None
    assert part(listing(FEW_PARTS + 1), response(LENGTH)) is not None, "here the whole is the longer answer"


def test_what_is_on_its_way_is_cut_only_in_its_own_order(request_to: MakeRequest, response: MakeHead) -> None:
    def cut(asked: str) -> ByteRangePart | None:
        return part(request_to(f"Range: bytes={asked}"), response(LENGTH), arriving=True)

    assert cut("0-1,5-6") is not None
    assert cut("-1") is not None
    assert cut("5-6,0-1") is None
    assert cut("10240-") is None


# If-Range

DATE = "Date: Tue, 26 May 2026 20:26:40 GMT"
BEFORE = "Tue, 26 May 2026 20:26:39 GMT"


@pytest.mark.parametrize(
    ("condition", "lines", "holds"),
    [
        ('"a"', ['ETag: "a"'], True),
        ('"a"', ['ETag: "b"'], False),
        ('"a"', [], False),
        ('W/"a"', ['ETag: "a"'], False),
        ('"a"', ['ETag: W/"a"'], False),
        ('W/"a"', ['ETag: W/"a"'], False),
        ('"a"', ['ETag: "a"', 'ETag: "a"'], False),
        ('"b", "a"', ['ETag: "a"'], False),
        ("*", ['ETag: "a"'], False),
        ("a", ['ETag: "a"'], False),
        ("", ['ETag: "a"'], False),
        (BEFORE, [f"Last-Modified: {BEFORE}"], True),
        ("Tuesday, 26-May-26 20:26:39 GMT", [f"Last-Modified: {BEFORE}"], True),
        ("Tue, 26 May 2026 20:26:38 GMT", [f"Last-Modified: {BEFORE}"], False),
        (DATE[6:], [f"Last-Modified: {BEFORE}"], False),
        (BEFORE, [], False),
        (BEFORE, ['ETag: "a"'], False),
        # In the second of Date it may have changed again: a weak validator (RFC 9110 8.8.2.2).
        (DATE[6:], [f"Last-Modified: {DATE[6:]}"], False),
        ("yesterday", [f"Last-Modified: {BEFORE}"], False),
        (f"{BEFORE}, {BEFORE}", [f"Last-Modified: {BEFORE}"], False),
    ],
)
def test_a_part_is_sent_only_if_the_client_has_the_rest_of_the_same(
    request_to: MakeRequest, response: MakeHead, condition: str, lines: list[str], holds: bool
) -> None:
    got = part(request_to("Range: bytes=0-1", f"If-Range: {condition}"), response(LENGTH, *lines))
    assert (got is not None) is holds


def test_a_date_without_a_date_of_the_response_proves_nothing(request_to: MakeRequest, response: MakeHead) -> None:
    head = response(LENGTH, f"Last-Modified: {BEFORE}", "Date: ")
    assert part(request_to("Range: bytes=0-1", f"If-Range: {BEFORE}"), head) is None


def test_an_unmet_condition_precedes_an_unsatisfiable_range(request_to: MakeRequest, response: MakeHead) -> None:
    """Who resumes a download of what has become shorter gets the new content."""
    assert part(request_to("Range: bytes=20000-", 'If-Range: "old"'), response(LENGTH, 'ETag: "new"')) is None


def test_the_request_for_the_whole_has_neither_range_nor_its_condition(request_to: MakeRequest) -> None:
    assert whole(request_to("Range: bytes=0-1", 'If-Range: "a"', "Accept: */*")) == request_to("Accept: */*")
    assert whole(request_to("Accept: */*")) == request_to("Accept: */*")
