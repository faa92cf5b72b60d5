"""Pending sums: none is lost while batches are written, and none is counted beside what the store has of it."""

import asyncio
import operator

import pytest

from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.counts.pending_sums import WRITTEN_EVERY_S, PendingSums


class Clock:
    now_s = 0.0

    def __call__(self):
        return self.now_s


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def sums(clock):
    return PendingSums[str, int](clock, 2, operator.add)


def failed(key, error):
    pytest.fail(f"{key}: {error}")


async def test_what_is_added_while_a_batch_fails_is_joined_with_it(sums):
    sums.by_key = {"a": 1, "b": 2}

    async def gone(batch):
        sums.by_key |= {"b": 10, "c": 20}
        raise UnavailableError("gone")

    with pytest.raises(UnavailableError):
        await sums.write(gone, failed)
    assert sums.by_key == {"a": 1, "b": 12, "c": 20}


async def test_a_key_that_cannot_be_written_alone_is_dropped_and_reported(sums):
    written, dropped = {}, []

    async def send(batch):
        if "b" in batch:
            raise ValueError("bad")
        written.update(batch)

    sums.by_key = {"a": 1, "b": 2}
    await sums.write(send, lambda key, error: dropped.append((key, str(error))))
    assert (written, dropped, sums.by_key) == ({"a": 1}, [("b", "bad")], {})


async def test_a_batch_is_due_every_few_seconds_or_at_once_after_a_snapshot(sums, clock):
    written = []

    async def send(batch):
        written.append(batch)

    for passed_s in (0.0, 1.0, WRITTEN_EVERY_S):
        clock.now_s += passed_s
        sums.by_key["a"] = sums.by_key.get("a", 0) + 1
        await sums.write(send, failed)
    assert written == [{"a": 1}, {"a": 2}]
    sums.by_key["a"] = 5
    waits = sums.snapshot()
    assert waits()
    await sums.write(send, failed)
    assert not waits()
    assert written[2:] == [{"a": 5}]


async def test_a_read_during_which_a_batch_is_written_is_repeated(sums):
    stored, reads, writing = 0, [], []

    async def send(batch):
        nonlocal stored
        await asyncio.sleep(0)
        stored += batch["a"]

    async def read():
        reads.append(stored)
        if len(reads) == 1:
            writing.append(asyncio.create_task(sums.write(send, failed)))
            await asyncio.sleep(0)
        return stored

    sums.by_key = {"a": 3}
    assert await sums.beside(read) == 3
    assert reads == [0, 3]
    await writing[0]


def test_beyond_the_bound_only_present_keys_have_room(sums):
    sums.by_key = {"a": 1, "b": 1}
    assert [sums.has_room(key) for key in "abc"] == [True, True, False]
