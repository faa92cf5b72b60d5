"""What is written is read again; what is something else is said to be unreadable."""


import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.engine.learning import Record
from bestbefore.addon.engine.listing import Feed, RememberedItem
from bestbefore.addon.engine.observation import Fingerprint, VariantState
from bestbefore.addon.engine.update import Update
from bestbefore.addon.feeds.document import Hints
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.codec import (
    UnreadableError,
    decode_copy,
    decode_record,
    decode_tombstone,
    encode_copy,
    encode_record,
    encode_tombstone,
)
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since

URL = "http://www.example.org/\u00e9"
TIMES = st.floats(0, 4e9)
SEEN = st.builds(Fingerprint, st.text(max_size=5), st.text(max_size=5), st.none() | TIMES, st.booleans())
UPDATES = st.lists(st.builds(Update, TIMES, TIMES), max_size=4).map(tuple)
HOURS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(1, 99)), max_size=3).map(tuple)
NUMBERS = st.integers(0, 2**63 - 1)
ITEMS = st.dictionaries(NUMBERS, st.builds(RememberedItem, NUMBERS, NUMBERS), max_size=3)
HINTS = st.builds(Hints, TIMES, st.lists(st.integers(0, 23), max_size=2).map(tuple))
RECORDS = st.builds(
    Record,
    st.just(URL),
    TIMES,
    TIMES,
    st.integers(1, 2**40),
    st.integers(0, 9),
    UPDATES,
    HOURS,
    st.none() | TIMES,
    st.dictionaries(st.text(max_size=3), st.builds(VariantState, TIMES, SEEN), max_size=3),
    st.booleans(),
    st.none()
    | st.builds(
        Feed, TIMES, ITEMS, ITEMS, HINTS,
        st.integers(0, 99),
        st.lists(st.tuples(st.text(max_size=3), NUMBERS)).map(tuple),
    ),
    memory=st.none() | st.builds(UpdateMemory, *([TIMES] * len(UpdateMemory._fields))),
    interval_micronats=st.none() | NUMBERS,
)


@settings(max_examples=100, derandomize=True)
@given(RECORDS)
def test_records_come_back(record):
    assert decode_record(encode_record(record)) == record


def test_a_copy_comes_back_with_its_fields_as_they_came_and_what_follows_from_them():
    fields = Fields([("Cache-Control", "max-age=60"), ("X", "\xff\x80"), ("x", ""), ("Last-Modified", "broken")])
    head, selecting = Head(203, fields, "Odd"), (("a", None), ("b", "c"))
    copy = Copy(URL, head, BodyRef("d", 5), 1.0, 2.5, 1.5, 2.0, selecting, "p", "me", expiry_s=9.0)
    again = decode_copy(encode_copy(copy)).copy
    assert again == copy
    assert again.head.fields.raw == fields.raw
    assert (again.lifetime, again.cache_control) == (copy.lifetime, copy.cache_control)


def test_a_tombstone_comes_back():
    tombstone = Tombstone(1.5, "*.example.org", exact=False, histories=True)
    assert decode_tombstone(encode_tombstone(tombstone)) == tombstone


def test_an_exact_update_takes_nine_bytes():
    updates = tuple(Update(float(i), float(i)) for i in range(1000))
    long, short = (len(encode_record(Record(URL, 0.0, 1.0, updates=u))) for u in (updates, ()))
    assert long - short <= 9 * 1000 + 4


def test_what_an_earlier_version_left_out_has_its_default():
    before = msgspec.msgpack.encode({"url": URL, "since_s": 1.0, "last_contact_s": 2.0})
    assert decode_record(before) == Record(URL, 1.0, 2.0)


def test_a_memory_of_another_version_is_left_out():
    record = Record(URL, 1.0, 2.0, memory=memory_since(1.0))
    written = msgspec.msgpack.decode(encode_record(record))
    assert decode_record(msgspec.msgpack.encode(written)) == record
    for memory in ([1.0] * 11, [], None):
        encoded = msgspec.msgpack.encode(written | {"memory": memory})
        assert decode_record(encoded) == Record(URL, 1.0, 2.0)


def test_what_a_later_version_added_is_ignored():
    later = msgspec.msgpack.encode({"url": URL, "since_s": 1.0, "last_contact_s": 2.0, "colour": "blue"})
    assert decode_record(later) == Record(URL, 1.0, 2.0)


NESTED = b"\x81\xa4more" + b"\x91" * 100_000 + b"\xc0"


@pytest.mark.parametrize(
    "encoded", [b"", b"\xc1", b"\x80", b"\x93\x01\x02\x03", b"text", b"\x81\xa3url\xa1\xff", NESTED]
)
@pytest.mark.parametrize("decode", [decode_record, decode_copy, decode_tombstone])
def test_what_is_something_else_is_unreadable(decode, encoded):
    with pytest.raises(UnreadableError, match="cannot be read"):
        decode(encoded)


@settings(max_examples=200, derandomize=True)
@given(st.data())
def test_no_damage_does_worse_than_be_unreadable(data):
    whole = encode_copy(Copy(URL, Head(200, Fields([("A", "b")])), BodyRef("d", 5), 1.0, 2.0, 1.5, 2.0, (("a", None),)))
    at = data.draw(st.integers(0, len(whole) - 1))
    damaged = whole[:at] + data.draw(st.binary(max_size=3)) + whole[at + data.draw(st.integers(0, 3)) :]
    try:
        decode_copy(damaged)
    except UnreadableError as e:
        assert "\n" not in str(e)  # noqa: PT017  # most are unreadable, and some say something else
