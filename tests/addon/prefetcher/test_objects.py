"""Objects by slot and by URL."""

import random

from bestbefore.addon.prefetcher import objects as module
from bestbefore.addon.prefetcher.objects import Objects
from bestbefore.addon.store.backend.keeper import digest_of, shard_of


def url(i: int) -> str:
    return f"https://www.example.org/feeds/{i}/\u00e4.xml"


def test_objects_come_and_go_as_in_a_dict(monkeypatch) -> None:
    monkeypatch.setattr(module, "LEAST_PLACES", 8)
    monkeypatch.setattr(module, "WASTE", 100)
    rng, objects, slots = random.Random(1), Objects(), dict[str, int]()
    for _ in range(3000):
        one = url(rng.randrange(200))
        if rng.random() < 0.5:
            slot = objects.add(one)
            assert slots.setdefault(one, slot) == slot
        elif one in slots:
            objects.remove(slots.pop(one))
        other = url(rng.randrange(200))
        assert objects.slot_of(other) == slots.get(other)
    assert len(objects) == len(slots) == len(set(slots.values()))
    assert {objects.url(slot): slot for slot in objects} == slots
    assert len(objects._texts) < 2 * sum(len(one.encode()) for one in slots) + 200


def test_demand_is_that_of_the_object_and_not_of_the_one_before_in_its_slot() -> None:
    objects = Objects()
    slot = objects.add(url(1))
    objects.set_demand(slot, 7, ("loopback",))
    assert (objects.requests(slot), objects.asked_from(slot)) == (7, ("loopback",))
    objects.set_demand(slot, 10**12, ())
    assert (objects.requests(slot), objects.asked_from(slot)) == (2**32 - 1, ())
    objects.remove(slot)
    assert objects.add(url(2)) == slot
    assert (objects.requests(slot), objects.asked_from(slot)) == (0, ())


def test_objects_are_found_by_shard() -> None:
    objects = Objects()
    slots = [objects.add(url(i)) for i in range(500)]
    objects.remove(slots[3])
    shards = frozenset(range(100))
    expected = [slot for i, slot in enumerate(slots) if i != 3 and shard_of(digest_of(url(i))) in shards]
    assert objects.in_shards(shards) == expected
    assert 100 < len(expected) < 300


def test_an_object_costs_little_more_than_its_url() -> None:
    objects = Objects()
    for i in range(20_000):
        objects.add(url(i))
    length = sum(len(url(i).encode()) for i in range(20_000))
    assert objects.nbytes < length + 20_000 * 50
