"""Which parts may be combined, what they cover, and how many are stored."""

from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.conditional.parts import (
    CONTACTS_AT_MOST,
    NEAR_BYTES,
    PARTS_AT_MOST,
    Place,
    are_of_one_version,
    as_complete,
    as_part,
    as_received,
    combinable,
    merged,
    missing,
    number_for,
    partition_of,
    place,
    range_of,
    span_of,
    strong_validator,
    to_fetch,
    to_merge,
)
from bestbefore.addon.rfc9111.conditional.ranges import Span
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

DATE = ("Date", "Fri, 26 Jan 2024 20:26:40 GMT")
SIZE = 1000


def head(span: Span, *fields: tuple[str, str], size: int = SIZE) -> Head:
    """The head of a 206."""
    return as_part(Head(206, Fields((DATE, *fields))), span, size)


def part(start: int, end: int, tag: str = '"1"', *, at_s: float = 0.0, number: int = 0, size: int = SIZE) -> Copy:
    """A stored part."""
    request = Request("GET", Target.parse("http://example.org/film"), partition=partition_of(""))
    made: Any = copy_of(
        request, head(Span(start, end), ("ETag", tag), size=size), BodyRef("d", end - start),
        request_time_s=at_s, response_time_s=at_s, salt=b"",
    )  # fmt: skip
    object.__setattr__(made, "part_number", number)
    return made


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("bytes 0-4/10", Place(Span(0, 5), 10)),
        ("bytes 9-9/10", Place(Span(9, 10), 10)),
        ("bytes 4-10/10", None),
        ("bytes 5-4/10", None),
        ("bytes 0-4/*", None),
        ("bytes */10", None),
        ("items 0-4/10", None),
        ("bytes 0-4/" + "9" * 30, None),
    ],
)
def test_a_part_lies_where_its_content_range_says(value: str, expected: Place | None) -> None:
    assert place(Head(206, Fields((("Content-Range", value),)))) == expected
    assert place(Head(200, Fields((("Content-Range", value),)))) is None
    assert place(Head(206, Fields((("Content-Range", value),) * 2))) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ((("ETag", '"1"'),), ("If-Range", '"1"')),
        ((("ETag", 'W/"1"'), ("Last-Modified", "Fri, 26 Jan 2024 20:00:00 GMT")), None),
        ((("Last-Modified", "Fri, 26 Jan 2024 20:26:39 GMT"),), ("If-Range", "Fri, 26 Jan 2024 20:26:39 GMT")),
        ((("Last-Modified", "Fri, 26 Jan 2024 20:26:40 GMT"),), None),
        ((("Last-Modified", "yesterday"),), None),
        ((), None),
    ],
)
def test_only_a_strong_validator_is_sent_with_if_range(
    fields: tuple[tuple[str, str], ...], expected: tuple[str, str] | None
) -> None:
    assert strong_validator(Fields((DATE, *fields))) == expected
    one, other = head(Span(0, 5), *fields), head(Span(5, 10), *fields)
    assert are_of_one_version(one, other) is (expected is not None)


def test_parts_of_different_versions_sizes_or_codings_are_not_combined() -> None:
    tag = ("ETag", '"1"')
    one = head(Span(0, 5), tag)
    assert not are_of_one_version(one, head(Span(5, 10), ("ETag", '"2"')))
    assert not are_of_one_version(one, head(Span(5, 10), tag, size=SIZE + 1))
    assert not are_of_one_version(one, head(Span(5, 10), tag, ("Content-Encoding", "gzip")))
    assert not are_of_one_version(one, Head(206, Fields((tag,))))
    leading = part(0, 5, at_s=1)
    others = [part(5, 9, at_s=2), part(5, 9, '"2"', at_s=3), part(20, 30, at_s=4)]
    assert combinable([leading, *others], leading) == (leading, others[2], others[0])


@pytest.mark.parametrize(
    "circumstance",
    [{"local": True}, {"range": "10.0.0.0/8"}, {"fetched_with_cookie": True}, {"fetched_with_authorization": True},
     {"client": "c"}, {"personal": "p"}, {"selecting": (("accept", "a"),)}],
)  # fmt: skip
def test_parts_that_are_not_for_the_same_clients_are_not_combined(circumstance: dict[str, Any]) -> None:
    leading, other = part(0, 5), replace(part(5, 9), **circumstance)
    assert combinable([leading, other], leading) == (leading,)


def test_a_merged_part_has_the_latest_head_and_the_earliest_time_of_storing() -> None:
    early, late = replace(part(0, 5, at_s=1.0), expiry_s=5.0), replace(part(5, 9, at_s=3.0), stored_s=2.0)
    made = merged([early, late], Span(0, 9), SIZE, BodyRef("m", 9))
    assert (place(made.head), made.body) == (Place(Span(0, 9), SIZE), BodyRef("m", 9))
    assert (made.response_time_s, made.stored_s, made.expiry_s) == (3.0, 1.0, None)


spans = st.lists(st.tuples(st.integers(0, 30), st.integers(1, 10)).map(lambda p: (p[0], p[0] + p[1])), max_size=6)


@given(spans, st.integers(0, 39), st.integers(1, 10))
def test_what_is_missing_has_exactly_the_bytes_that_no_part_has(
    held: list[tuple[int, int]], start: int, length: int
) -> None:
    wanted = Span(start, start + length)
    found = missing([part(*span, size=100) for span in held], wanted)
    lacking = [at for at in range(*wanted) if not any(first <= at < end for first, end in held)]
    assert [at for span in found for at in range(*span)] == lacking
    assert all(before.end < after.start for before, after in pairwise(found))


@given(st.lists(st.integers(1, 3 * NEAR_BYTES), min_size=2, max_size=40))
def test_gaps_are_fetched_by_few_contacts_and_near_ones_by_one(steps: list[int]) -> None:
    edges = list(accumulate(steps))
    gaps = [Span(start, end) for start, end in zip(edges[::2], edges[1::2], strict=False)]
    found = to_fetch(gaps)
    assert len(found) <= CONTACTS_AT_MOST
    assert all(any(span.start <= gap.start and gap.end <= span.end for span in found) for gap in gaps)
    assert {span.start for span in found} <= {gap.start for gap in gaps}
    distances = [after.start - before.end for before, after in pairwise(found)]
    assert all(distance >= NEAR_BYTES for distance in distances)
    if len(gaps) <= CONTACTS_AT_MOST:
        far = [1 for before, after in pairwise(gaps) if after.start - before.end >= NEAR_BYTES]
        assert len(found) == len(far) + 1


def test_content_has_the_length_of_its_range_or_is_the_start_of_it() -> None:
    draft = replace(part(10, 20), asked_range="bytes=10-19")
    assert as_received(draft, 10) == part(10, 20)
    shorter = as_received(draft, 4)
    assert shorter is not None
    assert (place(shorter.head), shorter.asked_range) == (Place(Span(10, 14), SIZE), "bytes=10-19")
    assert [as_received(draft, size) for size in (0, 11)] == [None, None]
    assert as_received(part(10, 20), 4) is None


def test_a_complete_response_and_other_parts_are_made_of_a_part() -> None:
    made = as_complete(part(10, 20, number=3), SIZE)
    assert (made.head.status, made.head.fields.get("content-length")) == (200, "1000")
    assert (made.partition, made.part_number) == ("", 0)
    assert "content-range" not in made.head.fields
    other = as_part(part(10, 20).head, Span(0, 50), SIZE)
    assert (other.status, place(other), other.fields.get("content-length")) == (206, Place(Span(0, 50), SIZE), "50")
    assert (range_of(Span(5, 9), 10), range_of(Span(5, 10), 10)) == ("bytes=5-8", "bytes=5-")


def test_parts_that_touch_are_merged_unless_they_are_much_longer() -> None:
    stored = [part(0, 10), part(20, 30), part(200, 900), part(18, 20, '"2"')]
    assert to_merge(stored, part(10, 20)) == (stored[0], stored[1])
    assert to_merge(stored, part(40, 50)) == ()
    assert to_merge(stored, part(190, 200)) == ()
    assert to_merge([part(10, SIZE)], part(0, 10)) == (part(10, SIZE),), "the union is complete"


def test_a_content_that_comes_in_many_parts_is_written_again_a_logarithmic_number_of_times() -> None:
    held: list[Copy] = []
    written = 0
    for at in range(1024):
        new = part(at, at + 1, size=2048)
        merged = to_merge(held, new)
        start = min(span_of(one).start for one in (new, *merged))
        held = [one for one in held if one not in merged] + [part(start, at + 1, size=2048)]
        written += at + 1 - start
    assert written <= 1024 * 11
    assert len(held) <= PARTS_AT_MOST


def test_a_part_takes_a_free_number_or_that_of_a_useless_part_or_that_of_the_first_received() -> None:
    stored = [part(10 * n, 10 * n + 5, at_s=100.0 - n, number=n) for n in range(1, PARTS_AT_MOST)]
    assert number_for([], part(0, 5)) == 1
    assert number_for(stored, part(500, 505)) == PARTS_AT_MOST
    assert number_for(stored, part(28, 40, at_s=97.0)) == 3
    assert number_for(stored, part(28, 40, at_s=96.0)) == PARTS_AT_MOST, "the one within it was received later"
    full = [*stored, part(0, 5, at_s=200.0, number=PARTS_AT_MOST)]
    assert number_for(full, part(500, 505, at_s=300.0)) == PARTS_AT_MOST - 1
    assert number_for(full, part(500, 505, '"2"', at_s=300.0)) == 1
