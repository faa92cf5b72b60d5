"""Objects by slot and by URL."""

import random

import pytest

from bestbefore.addon.prefetcher import objects as module
from bestbefore.addon.prefetcher.objects import Objects
from bestbefore.addon.store.backend.keeper import digest_of, shard_of
from bestbefore.addon.store.candidate import Candidate, CandidateTable


def url(i: int) -> str:
    return f"https://www.example.org/feeds/{i}/\u00e4.xml"


def add(objects: Objects, *urls: str, requests: int = 2, asked_from: tuple[str, ...] = ()) -> list[int]:
    candidate = Candidate(0.1, 0.0, requests, bytes([10] * 24), 0.25, asked_from)
    slots: list[int] = objects.add_all(CandidateTable.of(dict.fromkeys(urls, candidate))).tolist()
    return slots


@pytest.mark.parametrize("digests", [2**64, 5])
def test_objects_come_and_go_as_in_a_dict(monkeypatch: pytest.MonkeyPatch, digests: int) -> None:
    """With few digests, too, so that different objects have the same one."""
    monkeypatch.setattr(module, "LEAST_PLACES", 8)
    monkeypatch.setattr(module, "WASTE", 100)
    monkeypatch.setattr(module, "digest_of", lambda one: digest_of(one) % digests)
    rng, objects, slots = random.Random(1), Objects(), dict[str, int]()
    for _ in range(1500):
        one = url(rng.randrange(200))
        if rng.random() < 0.4:
            some = list({url(rng.randrange(200)) for _ in range(rng.randrange(6))})
            for new, slot in zip(some, add(objects, *some), strict=True):
                assert slots.setdefault(new, slot) == slot
        elif one in slots:
            objects.remove(slots.pop(one))
        other = url(rng.randrange(200))
        assert objects.slot_of(other) == slots.get(other)
    assert len(objects) == len(slots) == len(set(slots.values()))
    assert {objects.url(slot): slot for slot in objects} == slots
    assert len(objects._texts) < 2 * sum(len(one.encode()) for one in slots) + 200


def test_demand_is_that_of_the_object_and_not_of_the_one_before_in_its_slot() -> None:
    objects = Objects()
    (slot,) = add(objects, url(1), requests=7, asked_from=("loopback",))
    assert (objects.requests(slot), objects.asked_from(slot)) == (7, ("loopback",))
    assert add(objects, url(1), requests=10**12) == [slot]
    assert (objects.requests(slot), objects.asked_from(slot)) == (2**32 - 1, ())
    objects.remove(slot)
    assert add(objects, url(2)) == [slot]
    assert (objects.requests(slot), objects.asked_from(slot)) == (2, ())


def test_objects_are_found_by_shard() -> None:
    objects = Objects()
    slots = add(objects, *map(url, range(500)))
    objects.remove(slots[3])
    shards = frozenset(range(100))
    expected = [slot for i, slot in enumerate(slots) if i != 3 and shard_of(digest_of(url(i))) in shards]
    assert objects.in_shards(shards) == expected
    assert 100 < len(expected) < 300


def test_an_object_costs_little_more_than_its_url() -> None:
    objects = Objects()
    for first in range(0, 20_000, 500):
        add(objects, *map(url, range(first, first + 500)))
    length = sum(len(url(i).encode()) for i in range(20_000))
    assert objects.nbytes < length + 20_000 * 50
