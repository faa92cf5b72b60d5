"""Partial responses: Range and If-Range (RFC 9110 13.1.5, 14.1, 14.2, 15.3.7, 15.5.17).

Parts are taken from complete content, of a copy or of an arriving response, or from stored parts (`parts`).

A server may ignore any Range and send the whole content (RFC 9110 14.2). This is done for a unit other than bytes, a
malformed Range, more than `RANGES_AT_MOST` ranges, and many ranges so small that the whole content is shorter. Ranges
that overlap or touch are joined, so no byte is sent twice.
"""

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import NamedTuple

from bestbefore.addon.rfc9111.fields.dates import date_field, parse_http_date
from bestbefore.addon.rfc9111.fields.entity_tags import etag_field, parse_entity_tag
from bestbefore.addon.rfc9111.fields.syntax import list_members
from bestbefore.addon.rfc9111.message import Fields, Head, Request

RANGES_AT_MOST = 200
"""The most ranges in a request: the limit of Apache httpd, and enough for clients that fetch missing pieces of a
file."""
FEW_PARTS = 8
"""Up to this number, ranges are sent even if the whole content would be shorter, as a client with few ranges wants
these."""

_SPEC = re.compile(r"([0-9]*)-([0-9]*)")
_DIGITS_AT_MOST = 18
_BEYOND = 10**_DIGITS_AT_MOST
"""The value of any longer position: beyond the end of any content."""

_OF_THE_WHOLE = frozenset(("content-length", "content-range", "content-md5", "content-digest"))
"""Fields of a 200 that do not apply to a part. (Those of the representation, such as Repr-Digest, are kept.)"""
_OF_A_REFUSAL = frozenset(("date", "etag", "vary", "accept-ranges", "timing-allow-origin", "via", "cache-status"))
"""Fields that a 416 keeps, besides the Access-Control fields, which scripts in a browser need. None of them permits
storing: a range is not in the cache key."""


class Span(NamedTuple):
    """The bytes of the content from `start` up to, but not including, `end`."""

    start: int
    end: int


type Piece = Span | bytes
"""A piece of a multipart response: a span of the content, or the bytes between spans."""


@dataclass(frozen=True, slots=True)
class ByteRangePart:
    """The response to a range request."""

    head: Head
    """The head of a 206, or of a 416."""
    pieces: tuple[Piece, ...]
    """The content, in the order of sending; empty for a 416."""


def whole(request: Request) -> Request:
    """Return the request without its Range."""
    if "range" not in request.fields:
        return request
    return replace(request, fields=request.fields.without({"range", "if-range"}))


def part(request: Request, head: Head, *, arriving: bool = False) -> ByteRangePart | None:
    """Return the partial response to a request, given the head of the complete one; None: the complete one is sent.

    Only GET has ranges, and only a 200 has parts: so a 304 comes first (RFC 9110 13.2.2, 14.2). The size of the
    content is its Content-Length; without one the whole is sent. Empty content is sent whole too, as RFC 9110 14.2
    allows: to some clients a Range is only a limit.

    `arriving`: the content can be read only once and from its start, since it is on its way. Then ranges out of
    their order, and those that lie beyond its end, get the whole.

    A 206 bears all fields of the 200, also those that RFC 9110 15.3.7 would have left out for a client whose If-Range
    shows that it has them: they do no harm, and media players look for Content-Type in each answer.
    """
    asked = request.fields.get("range")
    if asked is None or head.status != 200 or request.method != "GET":
        return None
    size = _size(head.fields)
    condition = request.fields.get("if-range")
    if not size or (condition is not None and not _holds(condition, head.fields)):
        return None
    spans = satisfiable(asked, size)
    if spans is None or (arriving and (not spans or list(spans) != sorted(spans))):
        return None
    if not spans:
        return _unsatisfiable(head, size)
    return _single(head, spans[0], size) if len(spans) == 1 else _multiple(head, spans, size)


def satisfiable(range_field: str, size: int) -> tuple[Span, ...] | None:
    """Return the spans that a Range requests, of content of `size` bytes (1 or more), in the order of the Range.

    Spans that overlap or touch are one, in the place of the first of them. Empty: none lies within the content. None:
    the field is to be ignored, since it is of another unit, invalid (RFC 9110 14.1.1), or too long.

    >>> satisfiable("bytes=500-600, 601-999, -1", 10_000)
    (Span(start=500, end=1000), Span(start=9999, end=10000))
    """
    unit, _, listed = range_field.partition("=")
    if unit.lower() != "bytes":
        return None
    specs = list_members(listed)
    if not 1 <= len(specs) <= RANGES_AT_MOST:
        return None
    spans = [_span(spec, size) for spec in specs]
    if None in spans:
        return None
    return _coalesced([span for span in spans if span is not None and span.start < span.end])


def _span(spec: str, size: int) -> Span | None:
    """Return the part of the content that a range names, empty if beyond the end; None if invalid (RFC 9110 14.1.2)."""
    match = _SPEC.fullmatch(spec)
    if match is None or spec == "-":
        return None
    first, last = map(_position, match.groups())
    if first is None:
        return Span(max(0, size - (last or 0)), size)
    if last is None:
        return Span(first, size)
    return Span(first, min(last + 1, size)) if first <= last else None


def _position(digits: str) -> int | None:
    if not digits:
        return None
    significant = digits.lstrip("0")
    # Check the number of digits first: Python refuses to convert thousands of digits.
    return _BEYOND if len(significant) > _DIGITS_AT_MOST else int(significant or "0")


def _coalesced(spans: Sequence[Span]) -> tuple[Span, ...]:
    merged: list[tuple[int, Span]] = []  # ascending, each with its place in the client's list
    for span, place in sorted((span, place) for place, span in enumerate(spans)):
        if merged and span.start <= merged[-1][1].end:
            first, before = merged[-1]
            merged[-1] = min(first, place), Span(before.start, max(before.end, span.end))
        else:
            merged.append((place, span))
    return tuple(span for _, span in sorted(merged))


def _size(fields: Fields) -> int | None:
    length = fields.get("content-length") or ""
    return int(length) if length.isascii() and length.isdigit() and len(length) <= _DIGITS_AT_MOST else None


def _holds(if_range: str, fields: Fields) -> bool:
    """Whether the client certainly has a part of this response already (RFC 9110 13.1.5).

    An entity tag must be equal by the strong comparison. A date must be that of Last-Modified, and Last-Modified a
    strong validator: a second or more before Date (RFC 9110 8.8.2.2).
    """
    tag = parse_entity_tag(if_range)
    if tag is not None:
        own = etag_field(fields)
        return own is not None and own.strongly_equals(tag)
    date_s = date_field(fields, "date", 0.0)
    if date_s is None:
        return False
    modified_s = date_field(fields, "last-modified", date_s)
    return modified_s is not None and modified_s + 1 <= date_s and parse_http_date(if_range, date_s) == modified_s


def _unsatisfiable(head: Head, size: int) -> ByteRangePart:
    """Return a 416 (RFC 9110 15.5.17)."""
    kept = Fields(
        (name, value)
        for name, value in head.fields.raw
        if name.lower() in _OF_A_REFUSAL or name.lower().startswith("access-control-")
    )
    fields = kept.added(("Content-Range", f"bytes */{size}"), ("Content-Length", "0"), ("Cache-Control", "no-store"))
    return ByteRangePart(Head(416, fields, HTTPStatus(416).phrase), ())


def _single(head: Head, span: Span, size: int) -> ByteRangePart:
    """Return a 206 with a single part (RFC 9110 15.3.7.1)."""
    fields = head.fields.without(_OF_THE_WHOLE).added(
        ("Content-Range", _content_range(span, size)), ("Content-Length", str(span.end - span.start))
    )
    return ByteRangePart(_partial(fields), (span,))


def _multiple(head: Head, spans: tuple[Span, ...], size: int) -> ByteRangePart | None:
    """Return a 206 with several parts (RFC 9110 15.3.7.2); None if the complete response to many ranges is shorter."""
    # A digest, since this module is deterministic. An origin that includes it in its content affects only the clients
    # of that content.
    boundary = hashlib.blake2b(repr((head.fields.raw, spans)).encode(), digest_size=16).hexdigest()
    content_type = head.fields.first("content-type")
    type_line = "" if content_type is None else f"Content-Type: {content_type}\r\n"
    pieces: list[Piece] = []
    for span in spans:
        before = "\r\n" if pieces else ""
        lines = f"{before}--{boundary}\r\n{type_line}Content-Range: {_content_range(span, size)}\r\n\r\n"
        pieces += lines.encode("latin-1", "replace"), span
    pieces.append(f"\r\n--{boundary}--\r\n".encode())
    length = sum(piece.end - piece.start if isinstance(piece, Span) else len(piece) for piece in pieces)
    if length >= size and len(spans) > FEW_PARTS:
        return None
    fields = head.fields.without(_OF_THE_WHOLE | {"content-type"}).added(
        ("Content-Type", f"multipart/byteranges; boundary={boundary}"), ("Content-Length", str(length))
    )
    return ByteRangePart(_partial(fields), tuple(pieces))


def _content_range(span: Span, size: int) -> str:
    """Return the value of Content-Range (RFC 9110 14.4)."""
    return f"bytes {span.start}-{span.end - 1}/{size}"


def _partial(fields: Fields) -> Head:
    return Head(206, fields, HTTPStatus(206).phrase)
