"""What is held in process, and what leaves when there is no room."""

from bestbefore.addon.store.backend.interface import CopySet
from bestbefore.addon.store.cache.memory_cache import COPY_BYTES, MemoryCache

URL = "http://www.example.org/a"


def held(*copies, complete=True, bodies=True):
    found = {copy.body.digest: bytes(copy.body.size) for copy in copies} if bodies else {}
    return CopySet(copies, found, complete)


def test_what_is_put_is_held_with_its_bodies(copy_of):
    hot = MemoryCache(100_000)
    hot.put(URL, "", held(copy_of(URL)))
    assert hot.get((URL, "")) == held(copy_of(URL, stored_s=hot.get((URL, "")).copies[0].stored_s))
    assert hot.get((URL, "other")) is None


def test_those_not_asked_for_lately_leave(copy_of):
    hot = MemoryCache(10 * COPY_BYTES)
    for i in range(30):
        hot.put(f"{URL}/{i}", "", held(copy_of(f"{URL}/{i}", b"")))
        hot.get((f"{URL}/0", ""))
    assert hot.get((f"{URL}/0", "")) is not None
    assert hot.get((f"{URL}/1", "")) is None
    assert hot.get((f"{URL}/29", "")) is not None
    assert hot.size_bytes <= 10 * COPY_BYTES


def test_a_body_that_would_push_out_the_rest_stays_outside(copy_of):
    hot = MemoryCache(80_000)
    hot.put(URL, "", held(copy_of(URL, bytes(10_001))))
    assert (len(hot.get((URL, "")).copies), hot.get((URL, "")).bodies) == (1, {})


def test_bodies_that_no_copy_has_any_more_leave(copy_of):
    hot, one, two = MemoryCache(100_000), copy_of(URL, b"1"), copy_of(URL, b"2")
    both = {one.body.digest: b"1", two.body.digest: b"2"}
    hot.put(URL, "", CopySet((two,), both, complete=True))
    assert hot.get((URL, "")).bodies == {two.body.digest: b"2"}


def test_copies_too_many_for_all_the_room_are_not_held(copy_of):
    hot = MemoryCache(3 * COPY_BYTES)
    hot.put(URL, "", held(copy_of(URL)))
    hot.put(URL, "", held(*(copy_of(URL, selecting=(("a", str(i)),)) for i in range(4))))
    assert hot.get((URL, "")) is None


def test_the_dead_leave_in_every_partition_and_the_living_stay(copy_of):
    hot, other = MemoryCache(100_000), "http://b/"
    for url, partition in ((URL, ""), (URL, "p"), (other, "")):
        old, new = (copy_of(url, b"%d" % t, float(t), partition=partition, personal=str(t)) for t in (1, 2))
        hot.put(url, partition, held(new, old))
    hot.filter(lambda copy: copy.stored_s < 2, URL)
    assert [len(hot.get(name).copies) for name in ((URL, ""), (URL, "p"), (other, ""))] == [1, 1, 2]
    hot.filter(lambda copy: True)
    assert hot.get((other, "")) is None
    assert hot.size_bytes == 0
