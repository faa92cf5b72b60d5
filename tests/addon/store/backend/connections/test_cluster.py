"""A cluster of three primaries and three replicas on loopback, of which some are killed, frozen or lose their slots."""

import asyncio
import itertools
import signal
import time
from contextlib import suppress

import pytest

from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.connections.cluster import SLOTS, key_of
from bestbefore.addon.store.backend.interface import StoreInputError, UnavailableError, UnwritableError


def url_of(nodes, options=""):
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes) + options


@pytest.mark.parametrize(
    ("command", "key"),
    [
        (("GET", "a"), b"a"),
        (("EVAL", "return 1", 2, "a", "b", "x"), b"a"),
        (("MEMORY", "USAGE", b"a"), b"a"),
        (("XREAD", "COUNT", 1, "STREAMS", "a", "0-0"), b"a"),
        (("PING",), None),
        (("INFO", "memory"), None),
    ],
)
def test_the_key_of_a_command(command, key):
    assert key_of(command) == key


async def test_a_cluster_is_found_by_any_of_its_nodes(cluster):
    dead = "127.0.0.1:1"
    connection = Connection(f"redis+cluster://{dead},127.0.0.1:{cluster[1].port}")
    await connection.open()
    assert connection.is_cluster
    names = [f"key-{i}" for i in range(64)]
    assert await connection.answers([("SET", name, name) for name in names])
    assert await connection.answers([("GET", name) for name in names]) == [name.encode() for name in names]
    found = [key async for part in connection.scan("key-*") for key in part]
    assert sorted(found) == sorted(name.encode() for name in names)
    await connection.close()


async def test_a_server_in_no_cluster_is_the_users_mistake(valkey):
    connection = Connection(url_of([valkey]))
    with pytest.raises(StoreInputError, match="is in no cluster"):
        await connection.open()


async def test_what_no_replica_has_does_not_count_as_written(cluster):
    connection = Connection(url_of(cluster, "?wait=1"), patience_s=4.0)  # for replicas half of it is waited
    await connection.open()
    assert await connection.answers([("SET", "a", "1"), ("SET", "b", "1")])
    with pytest.raises(UnwritableError, match="0 of 1 replicas"):
        await connection.answers([("SET", "a", "1"), ("SET", "b", "1")], is_lasting=True)
    await connection.close()


async def test_keys_are_found_while_their_slots_are_moved(cluster):
    """Also by scripts with several keys, some of which have been moved."""
    one, other = (node.client for node in cluster)
    ids = [client.execute_command("CLUSTER", "MYID") for client in (one, other)]
    slot = one.execute_command("CLUSTER", "KEYSLOT", "{t}")
    (source, target), (from_id, to_id) = (one, other), ids
    if slot >= SLOTS // 2:
        (source, target), (from_id, to_id) = (other, one), ids[::-1]
    target_port = target.connection_pool.connection_kwargs["port"]
    connection = Connection(url_of(cluster))
    await connection.open()
    names = [f"{{t}}{i}" for i in range(8)]
    await connection.answers([("SET", name, 0) for name in names])
    try:
        target.execute_command("CLUSTER", "SETSLOT", slot, "IMPORTING", from_id)
        source.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", to_id)
        for i, name in enumerate(names):
            source.execute_command("MIGRATE", "127.0.0.1", target_port, name, 0, 1000)
            counts = await asyncio.gather(*(connection.answers([("INCR", name) for name in names]) for _ in range(4)))
            assert [sorted(found) for found in zip(*counts, strict=True)] == [list(range(4 * i + 1, 4 * i + 5))] * 8
            if i == 3:  # a script with keys on both nodes has to wait
                source_code = "return redis.call('GET', KEYS[1]) .. redis.call('GET', KEYS[2])"
                waiting = asyncio.create_task(connection.ask("EVAL", source_code, 2, names[0], names[7]))
                await asyncio.sleep(0.05)
                source.execute_command("MIGRATE", "127.0.0.1", target_port, names[7], 0, 1000)
                assert await waiting == b"1616"
                source.execute_command("CLUSTER", "SETSLOT", slot, "MIGRATING", to_id)
    finally:
        for client in (target, source):
            client.execute_command("CLUSTER", "SETSLOT", slot, "NODE", to_id)
    assert await connection.answers([("GET", name) for name in names]) == [b"32"] * 8
    await connection.close()


async def acknowledged_under_load(connection, event, seconds, *, is_lasting):
    """Write numbers from eight tasks while something happens; return when each was acknowledged, and those lost."""
    numbers, times = itertools.count(), {}
    end = time.monotonic() + seconds

    async def write():
        while time.monotonic() < end:
            batch = [next(numbers) for _ in range(8)]
            try:
                answers = await connection.answers([("SET", f"n{n}", n) for n in batch], is_lasting=is_lasting)
            except (UnavailableError, UnwritableError):
                await asyncio.sleep(0.05)
                continue
            if all(answers):
                times.update(dict.fromkeys(batch, time.monotonic()))
            await asyncio.sleep(0.02)

    async def reconnect():  # as the store does
        while time.monotonic() < end:
            try:
                await connection.ask("GET", "n0")
                await asyncio.gather(*(connection.ask("GET", f"n{n}") for n in range(16)))
            except (UnavailableError, UnwritableError):
                with suppress(UnavailableError):
                    await connection.open()
            await asyncio.sleep(0.1)

    async def happen():
        await asyncio.sleep(1.0)
        await asyncio.to_thread(event)

    await asyncio.gather(happen(), reconnect(), *(write() for _ in range(8)))
    await connection.open()
    lost = []
    for batch in itertools.batched(times, 1000):
        values = await connection.answers([("GET", f"n{n}") for n in batch])
        lost += [n for n, value in zip(batch, values, strict=True) if value is None]
    return times, lost


@pytest.mark.slow
@pytest.mark.parametrize(("how", "is_lasting"), [("killed", True), ("frozen", False)])
async def test_a_primary_is_lost_and_comes_back(replicated_cluster, how, is_lasting, capsys):
    """Where replicas are waited for, no write is lost, and none counts until the lost node is back as a replica."""
    connection = Connection(url_of(replicated_cluster[:1], "?wait=1"), patience_s=0.5)
    await connection.open()
    lost_s = []

    def lose():
        lost_s.append(time.monotonic())
        if how == "killed":
            replicated_cluster[1].kill()
            time.sleep(5.0)
            replicated_cluster[1].start()
        else:
            replicated_cluster[1].process.send_signal(signal.SIGSTOP)
            time.sleep(5.0)
            replicated_cluster[1].process.send_signal(signal.SIGCONT)

    times, lost = await acknowledged_under_load(connection, lose, 16.0, is_lasting=is_lasting)
    moments = sorted(times.values())
    longest_s = max(b - a for a, b in itertools.pairwise(moments))
    with capsys.disabled():
        print(f"\n{how}, waiting {is_lasting}: {len(times)} written, {len(lost)} lost, none for {longest_s:.1f} s")
    assert moments[-1] > lost_s[0] + 8.0
    assert longest_s < 12.0, "it is away for 5 s"
    assert all(lost_s[0] - 2.0 < times[n] for n in lost)
    assert not (is_lasting and lost)
    await connection.close()
