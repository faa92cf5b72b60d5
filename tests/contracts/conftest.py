"""Every backend, for the one contract that all of them keep."""

import time

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.bodies import BodyFiles
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.keys import Keys
from bestbefore.addon.store.backend.memory import MemoryBackend
from bestbefore.addon.store.backend.redis import RedisBackend

DAY_S = 86_400.0
PATIENCE_S = 60.0


@pytest.fixture(scope="session")
def cluster(start_valkey):
    """A cluster of two nodes, each with half of the slots; the first of them."""
    nodes = [start_valkey("--cluster-enabled", "yes") for _ in range(2)]
    clients = [node.client for node in nodes]
    for client, slots in zip(clients, [(0, 8191), (8192, 16383)], strict=True):
        client.execute_command("CLUSTER", "ADDSLOTSRANGE", *slots)
    bus = int(nodes[1].settings[-1])
    clients[0].execute_command("CLUSTER", "MEET", "127.0.0.1", nodes[1].port, bus)
    end = time.monotonic() + PATIENCE_S
    while not all(b"cluster_state:ok" in client.execute_command("CLUSTER", "INFO") for client in clients):
        assert time.monotonic() < end, "the nodes did not meet"
        time.sleep(0.01)
    yield nodes
    for client in clients:
        client.close()


@pytest.fixture(params=["memory", "redis", "cluster", "with files"])
async def backend(request, tmp_path):
    """A connected, empty backend."""
    if request.param == "memory":
        made = MemoryBackend(RealClock(), registrable_domain, max_bytes=10_000_000)
    else:
        servers = request.getfixturevalue("cluster" if request.param == "cluster" else "valkey")
        files = BodyFiles(tmp_path) if request.param == "with files" else None
        made = _emptied(servers if isinstance(servers, list) else [servers], files)
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


@pytest.fixture
async def in_cluster(cluster):
    """One in a cluster, likewise."""
    made = _emptied(cluster)
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


def _emptied(servers, files=None):
    for server in servers:
        with server.client as client:
            client.flushall()
    return RedisBackend(
        Connection(servers[0].url, name="contract"),
        Keys(registrable_domain),
        RealClock(),
        clock_mark="real",
        forget_after_s=180 * DAY_S,
        files=files,
    )
