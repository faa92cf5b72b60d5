"""Copies on their way to the backend."""

import time

import pytest

from bestbefore.addon.clock import FastClock, ManualClock
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.interface import FullError
from bestbefore.addon.store.cache.copies import LONGEST_S, Copies
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.tombstones import Tombstones
from tests.addon.store.memory_backend import NoReplacements

URL = "http://www.example.org/a"
DAY_S = 86_400.0


class Backend:
    """Takes what it is given, or says that it is full."""

    size_bytes = None
    replaced = NoReplacements()

    def __init__(self):
        self.full = False
        self.puts = []

    async def put(self, puts, applied=0):
        if self.full:
            raise FullError("no room")
        self.puts += puts


def made(clock=None, **known):
    clock, notices = clock or ManualClock(1e9), Notices()
    backend, faults = Backend(), Faults(time.monotonic)
    limits = {"hot_max": 10**6, "keep_s": 7 * DAY_S, "store_max": None} | known
    return Copies(Link(backend, clock, notices), clock, Tombstones(faults), notices, faults, **limits), backend


@pytest.mark.parametrize(
    ("expiry_s", "max_age", "ttl_s"),
    [
        (None, None, 7 * DAY_S),
        (1e9 + 600, None, 7 * DAY_S + 600),
        (1e9 + 600, 5000, 7 * DAY_S + 5000),
        (1e9 - 600, None, 7 * DAY_S),
        (None, 2**31, LONGEST_S),
        (float("inf"), None, LONGEST_S),
    ],
)
async def test_a_copy_is_kept_for_its_lifetime_and_a_week(copy_of, expiry_s, max_age, ttl_s):
    copies, backend = made()
    copy = copy_of(URL, stored_s=1e9, expiry_s=expiry_s)
    if max_age is not None:
        lines = [*copy.head.fields.raw, ("Cache-Control", f"max-age={max_age}")]
        copy = type(copy)(URL, Head(200, Fields(lines)), copy.body, 1e9, 1e9, 1e9, 1e9, expiry_s=expiry_s)
    copies.put(copy, b"hello")
    await copies.write(backend)
    assert [put.ttl_s for put in backend.puts] == [pytest.approx(ttl_s)]


async def test_under_a_fast_clock_for_as_much_shorter(copy_of):
    copies, backend = made(FastClock(1e9, 1000.0, lambda: 0.0))
    copies.put(copy_of(URL, stored_s=1e9), b"hello")
    await copies.write(backend)
    assert backend.puts[0].ttl_s == 7 * DAY_S / 1000


async def test_what_is_validated_before_it_was_written_is_written_once_with_its_body(copy_of):
    copies, backend = made()
    copy = copy_of(URL)
    copies.put(copy, b"hello")
    copies.put(copy.with_verdict(2e9, "ttl", ""), None)
    assert copies.waiting == 1
    await copies.write(backend)
    assert [(put.copy.expiry_s, put.body) for put in backend.puts] == [(2e9, b"hello")]
    assert (copies.waiting, copies.waiting_bytes) == (0, 0)


async def test_another_body_is_not_taken_for_the_one_that_waits(copy_of):
    copies, backend = made()
    copies.put(copy_of(URL, b"1"), b"1")
    copies.put(copy_of(URL, b"2"), None)
    await copies.write(backend)
    assert [put.body for put in backend.puts] == [None]


async def test_content_that_was_overtaken_by_newer_content_is_not_kept(copy_of):
    copies, backend = made(ManualClock(1e9))
    newer, older = copy_of(URL, b"new", 1e9 - 1), copy_of(URL, b"old", 1e9 - 60)
    other = copy_of(URL, b"else", 1e9 - 60, selecting=(("accept", "a"),))
    for copy, body in ((newer, b"new"), (older, b"old"), (other, b"else")):
        copies.put(copy, body)
    assert set(copies.hot(URL).copies) == {newer, other}
    await copies.write(backend)
    assert [put.body for put in backend.puts] == [b"new", b"else"]


async def test_a_copy_from_the_future_gives_way(copy_of):
    copies, _ = made(ManualClock(1e9))
    for stored_s in (1e9 + 3600, 1e9):
        copies.put(copy_of(URL, stored_s=stored_s), b"hello")
    assert [copy.stored_s for copy in copies.hot(URL).copies] == [1e9]


async def test_the_contents_that_hits_come_from_are_those_in_memory(copy_of):
    copies, _ = made()
    small, large = copy_of(URL, b"1"), copy_of(URL + "/large", bytes(10**6))
    copies.put(small, b"1")
    copies.put(large, bytes(10**6))
    assert copies.bodies_in_memory([URL, URL + "/large", URL + "/none"]) == [small.body]


async def test_a_batch_is_bounded_in_bytes(copy_of):
    copies, backend = made()
    for i in range(3):
        copies.put(copy_of(f"{URL}/{i}", bytes(3_000_000)), bytes(3_000_000))
    for left in (2, 1, 0):
        await copies.write(backend)
        assert copies.waiting == left


async def test_what_is_put_while_it_is_written_waits_on(copy_of):
    copies, backend = made()
    copies.put(copy_of(URL, b"1", 1000.0), b"1")

    async def put(puts, applied):
        copies.put(copy_of(URL, b"2", 2000.0), b"2")

    backend.put = put
    await copies.write(backend)
    assert copies.waiting == 1


async def test_a_full_backend_refuses_a_batch_and_logs_it_once_until_there_is_room(copy_of, logged):
    copies, backend = made()
    backend.full = True
    for i in range(2):
        copies.put(copy_of(f"{URL}/{i}"), b"hello")
        await copies.write(backend)
    assert (copies.refused, copies.waiting, copies.hot(f"{URL}/0") is not None) == (2, 0, True)
    backend.full = False
    copies.put(copy_of(URL), b"hello")
    await copies.write(backend)
    assert logged() == [
        "the store is full (no room): copies are not kept, histories are",
        "the store has room for copies again",
    ]


async def test_what_is_measured_and_written_since_is_bounded(copy_of):
    copies, backend = made(store_max=100_000)
    for i in range(5):
        copies.put(copy_of(f"{URL}/{i}", bytes(40_000)), bytes(40_000))
        await copies.write(backend)
    assert (len(backend.puts), copies.refused) == (3, 2)
    backend.size_bytes = 50_000  # measured again
    copies.put(copy_of(URL), b"hello")
    await copies.write(backend)
    assert len(backend.puts) == 4


async def test_content_that_waits_is_there_before_it_is_written_also_where_none_is_held_for_hits(copy_of):
    copies, _ = made(hot_max=0)
    copy = copy_of(URL, b"hello")
    copies.put(copy, b"hello")
    assert await copies.body(copy) == b"hello"


async def test_content_that_was_read_is_held_for_hits_while_its_copy_is(copy_of):
    copies, backend = made()
    copy, read = copy_of(URL, b"hello"), []

    async def body(asked):
        read.append(asked)
        return b"hello"

    backend.body = body
    copies._link.mark_up()
    copies.put(copy, None)
    await copies.write(backend)
    assert [await copies.body(copy) for _ in range(3)] == [b"hello"] * 3
    assert read == [copy]
    assert copies.hot(URL).bodies == {copy.body.digest: b"hello"}
    other = copy_of(URL, b"other", partition="p")
    assert [await copies.body(other) for _ in range(2)] == [b"hello"] * 2
    assert read == [copy, other, other], "no copy of it is in memory"
