"""Every backend, for the one contract that all of them keep."""

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.bodies import BodyFiles
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.redis import RedisBackend
from tests.addon.store.memory_backend import MemoryBackend

DAY_S = 86_400.0


REPLICATED = pytest.param("replicated cluster", marks=pytest.mark.slow)


@pytest.fixture(params=["memory", "redis", "cluster", REPLICATED, "with files"])
async def backend(request, tmp_path):
    """A connected, empty backend."""
    if request.param == "memory":
        made = MemoryBackend(RealClock(), max_bytes=10_000_000)
    else:
        if request.param.endswith("cluster"):
            server = request.getfixturevalue(request.param.replace(" ", "_"))[0]
        else:
            server = request.getfixturevalue("valkey")
        made = _on(server, BodyFiles(tmp_path) if request.param == "with files" else None)
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


@pytest.fixture
async def in_cluster(cluster):
    """One in a cluster, likewise."""
    made = _on(cluster[0])
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


def _on(server, files=None):
    return RedisBackend(
        Connection(server.url, name="contract"),
        RealClock(),
        clock_mark="real",
        forget_after_s=180 * DAY_S,
        files=files,
    )
