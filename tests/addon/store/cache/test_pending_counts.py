"""Requests are added up in process, and nothing counted is lost by a write that fails."""

import time

import pytest

from bestbefore.addon.store.backend.interface import UnavailableError
from bestbefore.addon.store.cache import pending_counts
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.cache.pending_counts import PendingCounts


class Backend:
    """Takes what is counted, or not."""

    def __init__(self):
        self.away = False
        self.taken = []

    async def tally(self, requests):
        if self.away:
            raise UnavailableError("gone")
        self.taken.append(dict(requests))


def pending():
    return PendingCounts(Faults(time.monotonic), "requests", "requests of", str, lambda to, counts: to.tally(counts))


async def test_what_is_counted_is_written_once():
    counted, backend = pending(), Backend()
    for url in ("http://a.example.org/", "http://a.example.org/", "http://b.example.org/"):
        counted.count(url)
    await counted.write(backend)
    assert counted.waiting == 0
    assert backend.taken == [{"http://a.example.org/": 2, "http://b.example.org/": 1}]


async def test_what_could_not_be_written_is_added_to_what_comes():
    counted, backend = pending(), Backend()
    counted.count("http://a.org/")
    backend.away = True
    with pytest.raises(UnavailableError):
        await counted.write(backend)
    counted.count("http://a.org/")
    backend.away = False
    await counted.write(backend)
    assert backend.taken == [{"http://a.org/": 2}]


def test_only_so_many_objects_wait(monkeypatch):
    monkeypatch.setattr(pending_counts, "MAX_PENDING", 2)
    counted = pending()
    for url in ("http://a/", "http://b/", "http://c/", "http://a/"):
        counted.count(url)
    assert dict(counted.counts) == {"http://a/": 2, "http://b/": 1}
