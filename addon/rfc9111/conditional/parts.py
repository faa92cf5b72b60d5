"""Partial responses as stored: single parts of a content, and what they cover together (RFC 9111 3.3, 3.4).

Each part is a copy with the status 206 and its own Content-Range, in a partition of its own (`partition_of`): nothing
that looks for a complete copy finds it. An object has at most `PARTS_AT_MOST` parts for each variant, numbered by
`Copy.part_number`.

Parts are combined only if they have the same strong validator, the same complete length and the same selecting fields.
A part without a strong validator answers only for itself.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from itertools import pairwise
from typing import NamedTuple

from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import date_field
from bestbefore.addon.rfc9111.fields.entity_tags import etag_field
from bestbefore.addon.rfc9111.message import Fields, Head, Request

PARTS_AT_MOST = 16
"""How many parts of a variant are stored; a further one replaces the one received first."""
NEAR_BYTES = 64 * 1024
"""Missing spans with less than this between them are fetched as one: another contact would cost more."""
CONTACTS_AT_MOST = 8
"""How many contacts complete the parts for one request."""
_CONTENT_RANGE = re.compile(r"bytes ([0-9]{1,18})-([0-9]{1,18})/([0-9]{1,18})")
_SUFFIX = "#parts"
_OF_A_PART = frozenset(("content-length", "content-range", "content-md5", "content-digest"))


class Place(NamedTuple):
    """Where a part lies."""

    span: Span
    size: int
    """The size of the complete content, bytes."""


@dataclass(frozen=True, slots=True)
class Rest:
    """What completes stored parts to the answer of a request."""

    wanted: Span
    """What the answer has of the content."""
    size: int
    """The size of the complete content, bytes."""
    parts: tuple[Copy, ...]
    """The parts to combine, the one received last first."""
    gaps: tuple[Span, ...]
    """What the origin is asked for, by one contact each; empty: only whether the parts are current."""
    otherwise: Request
    """The request to send if the response does not complete them."""


def partition_of(partition: str) -> str:
    """Return the partition that has the parts of the objects of a partition."""
    return partition + _SUFFIX


def place(head: Head) -> Place | None:
    """Return where the content of a 206 lies; None if it is not one part of a content of known size."""
    lines = head.fields.values("content-range")
    match = _CONTENT_RANGE.fullmatch(lines[0].strip(" \t")) if head.status == 206 and len(lines) == 1 else None
    if match is None:
        return None
    first, last, size = map(int, match.groups())
    return Place(Span(first, last + 1), size) if first <= last < size else None


def strong_validator(fields: Fields) -> tuple[str, str] | None:
    """Return the request field for If-Range: the strong validator of a response, None if it has none.

    Last-Modified is one if it is a second or more before Date (RFC 9110 8.8.2.2), and there is no entity tag.
    """
    tag = etag_field(fields)
    if tag is not None:
        return None if tag.weak else ("If-Range", str(tag))
    date_s = date_field(fields, "date", 0.0)
    modified_s = None if date_s is None else date_field(fields, "last-modified", date_s)
    if date_s is None or modified_s is None or modified_s + 1 > date_s:
        return None
    return "If-Range", fields.first("last-modified") or ""


def are_of_one_version(one: Head, other: Head) -> bool:
    """Whether two parts may be combined (RFC 9111 3.4)."""
    here, there = place(one), place(other)
    if here is None or there is None or here.size != there.size:
        return False
    if one.fields.get("content-encoding") != other.fields.get("content-encoding"):
        return False
    validator = strong_validator(one.fields)
    return validator is not None and validator == strong_validator(other.fields)


def combinable(parts: Sequence[Copy], leading: Copy) -> tuple[Copy, ...]:
    """Return the parts that may be combined with one of them, which comes first, then the others from the latest on."""
    others = [
        part
        for part in parts
        if part is not leading
        and _circumstances(part) == _circumstances(leading)
        and are_of_one_version(part.head, leading.head)
    ]
    return leading, *sorted(others, key=lambda part: -part.response_time_s)


def _circumstances(part: Copy) -> tuple[object, ...]:
    """Return on what it depends, besides its head, for whom and for how long a part may be used."""
    fetched_with = part.fetched_with_cookie, part.fetched_with_authorization
    return *_variant(part), part.local, part.range, fetched_with


def _variant(part: Copy) -> tuple[object, ...]:
    return part.selecting, part.personal, part.client


def span_of(part: Copy) -> Span:
    """Return what a stored part has of the content."""
    found = place(part.head)
    assert found is not None, part.url
    return found.span


def missing(parts: Sequence[Copy], wanted: Span) -> tuple[Span, ...]:
    """Return the spans of the wanted bytes that no part has, in order.

    >>> missing((), Span(0, 10))
    (Span(start=0, end=10),)
    """
    found: list[Span] = []
    start, end = wanted
    for span in sorted(map(span_of, parts)):
        if start < min(span.start, end):
            found.append(Span(start, min(span.start, end)))
        start = max(start, span.end)
    return (*found, Span(start, end)) if start < end else tuple(found)


def to_fetch(gaps: Sequence[Span]) -> tuple[Span, ...]:
    """Return the spans by which the origin is asked for gaps, in order: near gaps are one, and few contacts are made.

    >>> to_fetch((Span(0, 10), Span(20, 30), Span(1_000_000, 2_000_000)))
    (Span(start=0, end=30), Span(start=1000000, end=2000000))
    """
    spans = list(gaps)
    while len(spans) > 1:
        distance, at = min((after.start - before.end, at) for at, (before, after) in enumerate(pairwise(spans)))
        if distance >= NEAR_BYTES and len(spans) <= CONTACTS_AT_MOST:
            break
        spans[at : at + 2] = [Span(spans[at].start, spans[at + 1].end)]
    return tuple(spans)


def as_received(part: Copy, size: int) -> Copy | None:
    """Return a part whose content has `size` bytes; None if its place is not known then.

    Content that is shorter than its Content-Range is taken as the first bytes of the range, as its own client takes it.
    Only without a strong validator: such a part (with `asked_range`) is not combined with any other.
    """
    found = place(part.head)
    assert found is not None, part.url
    if size == _length(found.span):
        return replace(part, asked_range="")
    if not part.asked_range or not 0 < size < _length(found.span):
        return None
    return replace(part, head=as_part(part.head, Span(found.span.start, found.span.start + size), found.size))


def as_complete(part: Copy, size: int) -> Copy:
    """Return a part's copy with the head that the complete response would have. Its content is not that of `body`."""
    fields = part.head.fields.without(_OF_A_PART).added(("Content-Length", str(size)))
    partition = part.partition.removesuffix(_SUFFIX)
    return replace(part, head=Head(200, fields, HTTPStatus(200).phrase), partition=partition, part_number=0)


def as_part(head: Head, span: Span, size: int) -> Head:
    """Return the head of a 206 with another part of the same content."""
    range_line = ("Content-Range", f"bytes {span.start}-{span.end - 1}/{size}")
    fields = head.fields.without(_OF_A_PART).added(range_line, ("Content-Length", str(span.end - span.start)))
    return Head(206, fields, HTTPStatus(206).phrase)


def range_of(span: Span, size: int) -> str:
    """Return the value of the Range that asks for a span."""
    return f"bytes={span.start}-" if span.end >= size else f"bytes={span.start}-{span.end - 1}"


def to_merge(parts: Sequence[Copy], new: Copy) -> tuple[Copy, ...]:
    """Return the stored parts with which a new part is stored as one, in order of their place; empty if none.

    Those that overlap it or touch it, directly or by one another; but none that is more than twice as long as the rest
    together, unless the union is the complete content. So a byte of a content that comes in many parts is written again
    a number of times that is the logarithm of their number.
    """
    found = place(new.head)
    assert found is not None
    touching, union = _touching(combinable(parts, new)[1:], found.span, limited=False)
    if union == Span(0, found.size):
        return touching
    return _touching(combinable(parts, new)[1:], found.span, limited=True)[0]


def merged(parts: Sequence[Copy], span: Span, size: int, body: BodyRef) -> Copy:
    """Return the part that parts make together: with the head received last, and dead with the first that dies."""
    latest = max(parts, key=lambda part: part.response_time_s)
    stored_s = min(part.stored_s for part in parts)
    return replace(latest, head=as_part(latest.head, span, size), body=body, stored_s=stored_s)


def _touching(parts: Sequence[Copy], union: Span, *, limited: bool) -> tuple[tuple[Copy, ...], Span]:
    chosen: list[Copy] = []
    left = list(parts)
    while left:
        reach = union
        near = [p for p in left if span_of(p).start <= reach.end and reach.start <= span_of(p).end]
        near = [p for p in near if not limited or _length(span_of(p)) <= 2 * _length(reach)]
        if not near:
            break
        chosen.append(near[0])
        left = [p for p in left if p is not near[0]]
        span = span_of(near[0])
        union = Span(min(union.start, span.start), max(union.end, span.end))
    return tuple(sorted(chosen, key=span_of)), union


def _length(span: Span) -> int:
    return span.end - span.start


def number_for(parts: Sequence[Copy], new: Copy) -> int:
    """Return the number of the part in whose place a new part is stored, from 1 on.

    That of a part which the new one makes useless: of another version, or within it; else a free one; else that of the
    part which was received first. A part that was received later is not replaced (`Copy.was_received_after`).
    """
    own = [p for p in parts if _variant(p) == _variant(new)]
    span = span_of(new)
    useless = [
        p
        for p in own
        if p.response_time_s <= new.response_time_s
        if not are_of_one_version(p.head, new.head) or (span.start <= span_of(p).start and span_of(p).end <= span.end)
    ]
    free = set(range(1, PARTS_AT_MOST + 1)) - {p.part_number for p in own}
    if useless:
        return min(p.part_number for p in useless)
    return min(free) if free else min(own, key=lambda p: p.response_time_s).part_number
