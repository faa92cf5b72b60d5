"""Copies with another content are announced once they are written."""

import time
from dataclasses import replace
from hashlib import sha256

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.rfc9111.copy import BodyRef
from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.cache.copies import Copies
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.link import Link
from bestbefore.addon.store.cache.notices import Notices
from bestbefore.addon.store.cache.replacements import Replaced, Replacements
from bestbefore.addon.store.cache.tombstones import Tombstones
from tests.addon.store.memory_backend import NoReplacements

URL = "http://www.example.org/a"


class Backend:
    """Takes what it is given, or is down."""

    size_bytes = None
    down = False
    replaced = NoReplacements()

    async def put(self, puts, applied=0):
        if self.down:
            raise UnavailableError("down")


class Worker:
    """The copies of one process, and what it has announced."""

    def __init__(self):
        clock, notices, faults = ManualClock(1e9), Notices(), Faults(time.monotonic)
        self.backend, self.replacements, self.announced = Backend(), Replacements(), []
        self.replacements.pass_on = self.announced.append
        self.copies = Copies(
            Link(self.backend, clock, notices), clock, Tombstones(faults), notices, faults, hot_max=10**6, keep_s=60.0,
            store_max=None, has_peers=True, replacements=self.replacements,
        )  # fmt: skip

    async def write(self):
        await self.copies.write(self.backend)
        announced, self.announced[:] = list(self.announced), []
        return announced


@pytest.fixture
def worker():
    return Worker()


def with_body(copy, body):
    return replace(copy, body=BodyRef(sha256(body).hexdigest(), len(body)))


async def test_only_a_copy_with_another_content_is_announced(worker, copy_of):
    first = copy_of(URL, stored_s=1e9)
    worker.copies.put(first, b"one")
    assert await worker.write() == [], "it is new"
    worker.copies.put(first.with_verdict(2e9, "indttl", "rule"), None)
    assert await worker.write() == [], "it was validated"
    other = with_body(first, b"two")
    worker.copies.put(other, b"two")
    worker.copies.put(other.with_verdict(2e9, "indttl", "rule"), None)
    assert await worker.write() == [Replaced((URL,))]
    worker.copies.put(other.with_verdict(3e9, "indttl", "rule"), None)
    assert await worker.write() == []
    assert URL not in worker.replacements


async def test_it_is_announced_once_the_store_has_it(worker, copy_of):
    first = copy_of(URL, stored_s=1e9)
    worker.copies.put(first, b"one")
    await worker.write()
    worker.copies.put(with_body(first, b"two"), b"two")
    worker.backend.down = True
    with pytest.raises(UnavailableError):
        await worker.write()
    assert worker.announced == []
    worker.backend.down = False
    assert await worker.write() == [Replaced((URL,))]


async def test_what_was_removed_before_it_was_written_is_not_announced(worker, copy_of):
    first = copy_of(URL, stored_s=1e9)
    worker.copies.put(first, b"one")
    await worker.write()
    worker.copies.put(with_body(first, b"two"), b"two")
    worker.copies.remove(lambda _: True)
    assert URL not in worker.replacements
    assert await worker.write() == []


async def test_what_another_worker_has_replaced_leaves_memory(worker, copy_of):
    worker.copies.put(copy_of(URL, stored_s=1e9), b"one")
    worker.copies.take_replaced([URL])
    assert worker.copies.hot(URL) is None
