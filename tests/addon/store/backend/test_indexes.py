"""Copies are found by their groups, and by URLs with equivalent queries; what was evicted costs contacts only."""

from dataclasses import replace

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.rfc9111.caching.search_variance import SearchVariance
from bestbefore.addon.store.backend import indexes
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.indexes import SEARCHES_KEPT_S
from bestbefore.addon.store.backend.interface import Put, Tombstone
from bestbefore.addon.store.backend.redis import RedisBackend

URL = "http://www.example.org/a"
GROUPS = ['"a"@http://www.example.org', '"b"@http://www.example.org']


def grouped_key(group):
    return f"bb1:grouped:{{{group}}}"


@pytest.fixture
async def backend(valkey):
    made = RedisBackend(Connection(valkey.url), RealClock(), clock_mark="real", forget_after_s=1e7)
    await made.connect(lambda _: None, lambda _: None)
    yield made
    await made.close()


@pytest.fixture
def put(backend, copy_of):
    """Stores a copy with further fields."""

    async def store(url, *fields, ttl_s=60.0):
        copy = copy_of(url)
        copy = replace(copy, head=replace(copy.head, fields=copy.head.fields.added(*fields)))
        await backend.put([Put(copy, ttl_s, b"hello")])

    return store


@pytest.mark.parametrize("evicted", GROUPS)
async def test_a_copy_is_not_used_when_the_index_of_one_of_its_groups_was_evicted(backend, put, valkey, evicted):
    await put(URL, ("Cache-Groups", '"a", "b"'))
    await put(URL + "/alone")
    assert len(await backend.copies(URL)) == 1
    with valkey.client as client:
        client.delete(grouped_key(evicted))
    await put(URL + "/later", ("Cache-Groups", '"a", "b"'))
    stored = [len(await backend.copies(url)) for url in (URL, URL + "/alone", URL + "/later")]
    assert stored == [0, 1, 1]
    await put(URL, ("Cache-Groups", '"a", "b"'))
    assert len(await backend.copies(URL)) == 1


async def test_all_members_of_a_group_are_removed_with_it(backend, put, valkey, monkeypatch):
    monkeypatch.setattr(indexes, "MEMBERS_BATCH", 2)
    urls = [f"{URL}/{i}" for i in range(5)]
    for url in urls:
        await put(url, ("Cache-Groups", '"a"'))
    await backend.add_tombstones([Tombstone(2e9, GROUPS[0], exact=True)])
    with valkey.client as client:
        assert client.exists(grouped_key(GROUPS[0]), *(f"bb1:copies:{{{url}}}" for url in urls)) == 0


async def test_an_equivalent_url_is_found_for_as_long_as_its_copy_lives_and_at_most_a_week(backend, put, valkey):
    variance = SearchVariance.declared('params=("utm")')
    assert variance is not None
    await put(f"{URL}?id=1&utm=x", ("No-Vary-Search", 'params=("utm")'), ttl_s=50.0)
    assert await backend.equivalent(f"{URL}?utm=y&id=1") == f"{URL}?id=1&utm=x"
    assert [await backend.equivalent(url) for url in (f"{URL}?id=1&utm=x", f"{URL}?id=2", f"{URL}/?id=1")] == [None] * 3
    names = [f"bb1:variance:{{{URL}}}", f"bb1:equivalent:{{{URL}?{variance.digest('id=1')}}}"]
    with valkey.client as client:
        assert [0 < client.pttl(name) <= 50_000 for name in names] == [True, True]
        await put(f"{URL}?id=1&utm=z", ("No-Vary-Search", 'params=("utm")'), ttl_s=1e7)
        assert [9e6 < client.pttl(name) * 1e-3 * 1e7 / SEARCHES_KEPT_S <= 1e7 for name in names] == [True, True]
        assert await backend.equivalent(f"{URL}?id=1") == f"{URL}?id=1&utm=z"
        client.delete(names[0])
        assert await backend.equivalent(f"{URL}?id=1") is None


@pytest.mark.parametrize("declared", ["params=1", "x" * 9000, ""])
async def test_nothing_is_indexed_by_a_declaration_that_is_not_understood(backend, put, valkey, declared):
    await put(f"{URL}?id=1", ("No-Vary-Search", declared))
    with valkey.client as client:
        assert client.keys("bb1:variance:*") == client.keys("bb1:equivalent:*") == []


ALLOWED = ("Use-As-Dictionary", 'match="/a b/*"')
ORIGIN = "https://www.example.org:8443"


async def test_the_dictionaries_of_an_origin_are_found_for_as_long_as_one_of_them_lives(backend, put, valkey):
    await put(f"{ORIGIN}/1", ALLOWED, ttl_s=50.0)
    await put(f"{ORIGIN}/2", ("Use-As-Dictionary", "match"))
    await put("https://www.example.org/3", ALLOWED)
    (found,) = await backend.dictionaries(ORIGIN)
    assert (found.url, found.match, found.received_s > 0.0) == (f"{ORIGIN}/1", "/a b/*", True)
    with valkey.client as client:
        assert 0 < client.pttl(f"bb1:dictionaries:{{{ORIGIN}}}") <= 50_000
        client.hset(f"bb1:dictionaries:{{{ORIGIN}}}", mapping={"no url": "1.0 /*", f"{ORIGIN}/4": "x /*", "\xff": "1"})
    assert await backend.dictionaries(ORIGIN) == [found]


async def test_only_the_latest_dictionaries_of_an_origin_are_indexed(backend, put, valkey, monkeypatch):
    monkeypatch.setattr(indexes, "CANDIDATES_KEPT", 2)
    with valkey.client as client:
        client.hset(f"bb1:dictionaries:{{{ORIGIN}}}", mapping={f"{ORIGIN}/late": "9e9 /*", f"{ORIGIN}/early": "1.5 /*"})
    await put(f"{ORIGIN}/1", ALLOWED)
    assert {found.url for found in await backend.dictionaries(ORIGIN)} == {f"{ORIGIN}/late", f"{ORIGIN}/1"}
