"""A server whose replica must have what is written."""

import pytest

from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.interface import UnwritableError


async def test_writes_wait_for_a_replica(start_valkey):
    primary = start_valkey("--repl-diskless-sync-delay", "0")
    connection = Connection(f"{primary.url}?wait=1", patience_s=1.0)
    await connection.open()
    with pytest.raises(UnwritableError, match="0 of 1 replicas"):
        await connection.answers([("SET", "a", "1")], is_lasting=True)
    start_valkey("--repl-diskless-sync-delay", "0", "--replicaof", "127.0.0.1", str(primary.port))
    for _ in range(20):  # the replica is being filled
        try:
            answers = await connection.answers([("SET", "a", "2"), ("GET", "a")], is_lasting=True)
            break
        except UnwritableError:
            continue
    assert answers[1] == b"2"
    await connection.close()
