"""A key of a wrong type, or one that holds garbage, costs what it held, and nothing else."""

import time
from dataclasses import replace

import pytest

from bestbefore.addon.engine.observation import Fingerprint, Observation, SiteContact
from bestbefore.addon.rfc9111.caching.search_variance import SearchVariance
from bestbefore.addon.rfc9111.message import Fields
from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import CommandError
from bestbefore.addon.store.backend.keeper import digest_of, shard_of
from bestbefore.addon.store.backend.keys import _TYPES, OBJECT_KINDS, PART_KINDS, host_of, type_of
from bestbefore.addon.store.backend.repair import RepairingCommands
from bestbefore.addon.store.cache.faults import Faults
from bestbefore.addon.store.candidate import Candidate
from bestbefore.addon.store.trouble import Trouble
from bestbefore.policies.validation.machinery.control import CopyControl

URL, GONE, OTHER = "http://www.example.org/a", "http://www.example.org/gone", "http://b.example.com/"
DICTIONARY = "https://www.example.org/dictionary"
GROUPED, GROUP = "http://www.example.org/grouped", '"a"@http://www.example.org'
CANDIDATE = Candidate(0.25, 1.7e9, 7, bytes(range(24)), 0.2)
GARBAGE = b"\xff\x00\xfe|garbage\x81"
OF_A_TYPE = {
    "string": lambda client, key: client.set(key, GARBAGE),
    "number": lambda client, key: client.set(key, "1e400"),
    "list": lambda client, key: client.rpush(key, GARBAGE, "1"),
    "set": lambda client, key: client.sadd(key, GARBAGE, "1"),
    "hash": lambda client, key: client.hset(key, mapping={GARBAGE: GARBAGE, "1": "1.5", "b": GARBAGE, "t": GARBAGE}),
    "zset": lambda client, key: client.zadd(key, {GARBAGE: 1.5, "http://www.example.org/z": float("inf")}),
    "stream": lambda client, key: client.xadd(key, {"a": GARBAGE}),
}
FAST = ("string", "hash")
"""What is put in the place of each key, in the fast tests one in turn. The slow ones put both, a number, and garbage of
the right type."""
READ_AT_START = {"store", "tombstones", "last"}
KEYS = {
    "store": "bb:store",
    "domains": "bb1:domains",
    "tombstones": "bb1:tombstones",
    "last": "bb1:last:{bb1:tombstones}",
    "sweep": "bb1:sweep",
    "shards": "bb1:shards",
    "announced": "bb1:announced",
    "spent": "bb1:spent",
    "received": "bb1:received",
    "troubles": "bb1:troubles",
    "positions": "bb1:positions",
    "requests": "bb1:{example.org}:requests",
    "siblings": "bb1:{example.org}:siblings",
    "changes": "bb1:{example.org}:changes",
    "pace": "bb1:{example.org}:pace",
    "wanted": "bb1:{example.org}:wanted",
    "fetch": f"bb1:{{example.org}}:fetch:{URL}",
    **dict(zip(PART_KINDS, keys.of_record(URL, host_of(URL)), strict=True)),
    **{kind: f"bb1:{kind}:{{{URL}}}" for kind in sorted(OBJECT_KINDS)},
    "grouped": f"bb1:grouped:{{{GROUP}}}",
    "dictionaries": "bb1:dictionaries:{https://www.example.org}",
    "variance": f"bb1:variance:{{{GROUPED}}}",
    "equivalent": f"bb1:equivalent:{{{GROUPED}?{SearchVariance.declared('params').digest('')}}}",
}


async def live(store, copy_of, at_s, *, puts=True):
    """All that a proxy does with its store, once."""
    day = int(time.time() // 86_400)
    for url in (URL, OTHER):
        for i in range(3):
            await store.learn(Observation(url, at_s + 4000 * i, "", Fingerprint(body=f"{at_s} {i}")))
        if puts:
            store.put(copy_of(url, b"hello"), b"hello")
        store.requested(url)
        store.demand.count(copy_of(url, b"hello").controlled(CopyControl(1e-5, 0), url), at_s)
        store.sites.contact(copy_of(url), SiteContact(at_s, at_s + 1.0))
        store.planning.want(url, "")
        assert (await store.planning.take(url, "me", 60.0, 0.001)) is not None
        await store.planning.finish(url, "me")
        await store.planning.pause("www.example.org", 0.01)
    if puts:
        assert {one.url for one in await store._link.backend.dictionaries("https://www.example.org")} <= {DICTIONARY}
        offering = replace(copy_of(DICTIONARY).head, fields=Fields([("Use-As-Dictionary", 'match="/*"')]))
        store.put(replace(copy_of(DICTIONARY), head=offering), b"hello")
        assert await store._link.backend.equivalent(f"{GROUPED}?x") in (GROUPED, None)
        copy = copy_of(GROUPED)
        fields = copy.head.fields.added(("Cache-Groups", '"a"'), ("No-Vary-Search", "params"))
        store.put(replace(copy, head=replace(copy.head, fields=fields)), b"hello")
    await store.positions.put("a channel", b"a position")
    assert await store.positions.get("a channel") == b"a position"
    assert (await store.planning.hold("me", 60.0)).part == 256
    await store.planning.put_candidates({URL: CANDIDATE})
    assert await store.planning.candidate(URL) == CANDIDATE
    await store.planning.announce([URL])
    assert URL in (await store.planning.announced(0))[0]
    await store.planning.put_outlook("me", b"outlook")
    assert await store.planning.outlooks() == [b"outlook"]
    assert await store.planning.spend(day, day - 1, 1000)
    assert await store.planning.spent(day - 1) >= 1
    await store.planning.receive(day, day - 1, 1000)
    assert await store.planning.received_bytes(day - 1) >= 1000
    assert await store.planning.put_troubles({URL: Trouble("unanswered", at_s)})
    assert (await store.planning.troubles())[URL].at_s == at_s
    assert (await store.planning.asked([URL], ("", "loopback"))) is not None
    store.drop(GONE)
    assert await store.flush()
    assert (await store.demand.of(copy_of(URL, b"hello"))).demand.at_s == at_s
    assert sum(map(sum, (await store.stale.of(URL, at_s)))) > 0
    await store._sweep.once()
    store.regroup()
    counts = await store.group("all", lambda host: True)
    urls = {url async for url in store.urls()}
    records = {record.url async for record in store.records()}
    return counts, urls, records, dict(await store.top(10))


def marks(number, kind, given, *, is_reopened):
    """The other keys are read after the start, whether or not the store was opened again: that is tried by hand."""
    if is_reopened and kind not in READ_AT_START:
        return pytest.mark.long
    return () if given == FAST[number % 2] and not is_reopened else pytest.mark.slow


@pytest.mark.parametrize(
    ("kind", "given", "reopened"),
    [
        pytest.param(kind, given, reopened, marks=marks(n, kind, given, is_reopened=reopened))
        for n, kind in enumerate(KEYS)
        for given in OF_A_TYPE
        for reopened in (False, True)
        if given in (*FAST, "number", type_of(KEYS[kind]))
        if not reopened or given in FAST or kind in READ_AT_START
    ],
)
async def test_whatever_is_found_as_a_key_costs_that_key_alone(open_a_store, valkey, copy_of, kind, given, reopened):
    store = await open_a_store(valkey.url, hot_max=1)
    await live(store, copy_of, 1000.0)
    with valkey.client as client:
        if kind == "wanted":
            (key,) = client.keys("bb1:{example.org}:wanted:*")
        else:
            key = KEYS[kind].encode()
        client.delete(key)
        OF_A_TYPE[given](client, key)
        if reopened:
            await store.close()
            store = await open_a_store(valkey.url, hot_max=1)
        # What it was about can be read as well as before, or is gone; the others are as they were.
        for url in (URL, OTHER):
            for copy in (await store.copies(url)).copies:
                assert await store.body(copy) in (b"hello", None)
            await store.record(url)
        (copy,) = (await store.copies(OTHER)).copies
        assert await store.body(copy) == b"hello"
        assert (await store.record(OTHER)).contacts == 3

        if (kind, given) == ("domains", "set"):
            await store._sweep.once()  # what is missing is found out about hourly
        counts, urls, records, top = await live(store, copy_of, 50_000.0)
        assert {URL, OTHER} <= urls
        assert {URL, OTHER} <= records
        assert {URL, OTHER} <= top.keys()
        assert top[OTHER] == 2
        assert sum(counts.updates.values()) >= 5
        for url in (URL, OTHER):
            (copy,) = (await store.copies(url)).copies
            assert await store.body(copy) == b"hello"
        status = store.status()
        assert not status.down
        assert not status.conditions
        assert (status.pending_observations, status.pending_copies, dict(status.write_errors)) == (0, 0, {})
        if kind != "store" or reopened:  # it is read at the start
            assert client.type(key).decode() in (type_of(key.decode()), "none")
        if given not in (type_of(key.decode()), "number") and kind not in ("store", "pace"):
            assert status.corrupt_entries.get("key", 0) >= 1
        assert await store.purge("*") >= 2
        assert await store.forget("*") >= 2


@pytest.mark.parametrize("given", [one for one in OF_A_TYPE if one != "hash"])
async def test_candidates_and_outlooks_of_a_wrong_type_are_replaced(open_a_store, valkey, given):
    store = await open_a_store(valkey.url)
    with valkey.client as client:
        for key in (keys.of_shard(shard_of(digest_of(URL))), keys.of_holder("me")):
            OF_A_TYPE[given](client, key)
    await store.planning.hold("me", 60.0)
    for _ in range(2):
        await store.planning.put_candidates({URL: CANDIDATE})
        await store.planning.put_outlook("me", b"outlook")
    assert await store.planning.candidate(URL) == CANDIDATE
    assert await store.planning.outlooks() == [b"outlook"]


def test_each_kind_of_key_is_tried():
    assert {type_of(name) for name in KEYS.values()} == {"hash", "list", "set", "zset", "string"}
    of_domains = {key.split("}:")[1].split(":")[0] for key in KEYS.values() if "bb1:{" in key}
    others = {kind if kind in OBJECT_KINDS else key for kind, key in KEYS.items() if "bb1:{" not in key}
    assert of_domains | others == _TYPES.keys()


@pytest.mark.parametrize("theirs", ["theirs", "bb2:{a}:record:x", "bb1:{a}:something:x", "bb1", "bb:stores"])
async def test_what_is_not_ours_by_its_name_is_never_removed(valkey, theirs):
    connection = Connection(valkey.url)
    await connection.open()
    commands = RepairingCommands(connection, Faults(time.monotonic))
    with valkey.client as client:
        client.set(theirs, "x")
        with pytest.raises(CommandError, match="WRONGTYPE"):
            await commands.ask("HGET", theirs, "a")
        assert client.get(theirs) == b"x"
    await connection.close()


async def test_all_commands_of_a_batch_that_name_a_repaired_key_are_sent_again_and_no_others(valkey):
    connection, faults = Connection(valkey.url), Faults(time.monotonic)
    await connection.open()
    commands = RepairingCommands(connection, faults)
    name = "bb1:{a.org}:requests"
    with valkey.client as client:
        client.set(name, "x")
        await commands.ask_all([("INCR", "n"), ("ZINCRBY", name, 2, "u"), ("PEXPIRE", name, 60_000)])
        assert (client.get("n"), client.zscore(name, "u"), client.pttl(name) > 0) == (b"1", 2.0, True)
    assert faults.counts == {"key": 1}
    await connection.close()


async def test_a_url_with_the_looks_of_a_key_is_not_taken_for_one(open_a_store, valkey, observe, copy_of):
    store = await open_a_store(valkey.url)
    for url in ("http://x/}:record:http://y/", "http://x/}:copies:http://y/"):
        await store.learn(observe(url, 1000))
        store.put(copy_of(url), b"hello")
        store.drop(url)  # a string with the URL in its name
        await store.planning.take(url, "me", 60.0, 0.0)
    assert await store.flush()
    await store._sweep.once()
    assert len([url async for url in store.urls()]) == 2
    assert (await store.purge("*"), dict(store.status().corrupt_entries)) == (0, {})
