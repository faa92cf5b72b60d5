"""Every backend, for the one contract that all of them keep."""

import re
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.store.backend.bodies import BodyFiles
from bestbefore.addon.store.backend.connection import Connection
from bestbefore.addon.store.backend.redis import RedisBackend
from tests.addon.store.memory_backend import MemoryBackend

DAY_S = 86_400.0
PAGE = Path(__file__).parents[2] / "docs" / "deploying.md"


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
        url = server.url
        if request.param == "replicated cluster":
            url = _user_of_pages(request.getfixturevalue("replicated_cluster"))
        made = _on(url, BodyFiles(tmp_path) if request.param == "with files" else None)
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


@pytest.fixture
async def in_cluster(cluster):
    """One in a cluster, likewise."""
    made = _on(cluster[0].url)
    await made.connect(lambda tombstone: None, lambda error: None)
    yield made
    await made.close()


def _user_of_pages(nodes):
    """The URL of a cluster for a user with the permissions that docs/deploying.md lists, and no others."""
    (rules,) = re.findall(r"^ +ACL SETUSER (.+)$", PAGE.read_text(), re.MULTILINE)
    for node in nodes:
        with node.client as client:
            client.execute_command("ACL", "SETUSER", *rules.split())
    places = ",".join(f"127.0.0.1:{node.port}" for node in nodes)
    return f"redis+cluster://bestbefore:SECRET@{places}?wait=1"


def _on(url, files=None):
    return RedisBackend(
        Connection(url, name="contract"),
        RealClock(),
        clock_mark="real",
        forget_after_s=180 * DAY_S,
        files=files,
    )
