"""A store on each backend, and what one puts into it."""

import hashlib
import logging
import tempfile
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.cache import write_behind
from bestbefore.addon.store.opening import open_store
from tests.addon.store.memory_backend import open_memory_store


@pytest.fixture
def short_path():
    """A folder whose path leaves room for the name of a socket in it."""
    with tempfile.TemporaryDirectory(prefix="bb-", dir="/tmp") as folder:
        yield Path(folder)


@pytest.fixture
async def open_a_store(monkeypatch):
    """Open stores, which are closed at the end."""
    stores = []

    async def open_one(where="memory", **given):
        # The tests' contacts are of 1970, and nothing is to be swept for that.
        usual = {"clock": RealClock(), "forget_after_s": 1e12}
        if where == "memory":
            store = await open_memory_store(**(usual | given))
        else:
            store = await open_store(where, **(usual | given))
        stores.append(store)
        return store

    yield open_one
    monkeypatch.setattr(write_behind, "CLOSE_S", 1.0)  # nobody looks for what is written now
    for store in stores:
        await store.close()


@pytest.fixture
def only_flushed(monkeypatch):
    """Let stores write when they are flushed, and not after a moment, which on a busy machine is soon over."""
    for delay in ("GATHER_S", "PEERS_GATHER_S"):
        monkeypatch.setattr(write_behind, delay, 60.0)


@pytest.fixture(params=["memory", "redis", pytest.param("cluster", marks=pytest.mark.slow)])
def where(request):
    """A store without a server, one with, and one on a cluster with replicas."""
    if request.param == "memory":
        return "memory"
    if request.param == "redis":
        return request.getfixturevalue("valkey").url
    nodes = request.getfixturevalue("replicated_cluster")
    return "redis+cluster://" + ",".join(f"127.0.0.1:{node.port}" for node in nodes)


@pytest.fixture
async def store(where, open_a_store):
    return await open_a_store(where)


def _observe(url, t_s, body="", **known):
    return Observation(url, float(t_s), "", Fingerprint(body=str(body)), **known)


@pytest.fixture
def observe():
    """An observation of a body at a time."""
    return _observe


def _copy_of(url, body=b"hello", stored_s=None, **known):
    stored_s = RealClock().now() if stored_s is None else stored_s
    ref = BodyRef(hashlib.blake2b(body, digest_size=20).hexdigest(), len(body))
    head = Head(200, Fields([("Date", "Sun, 06 Nov 1994 08:49:37 GMT")]))
    return Copy(url, head, ref, *([stored_s] * 4), **known)


@pytest.fixture
def copy_of():
    """A copy of a URL with a body, stored at a time (now)."""
    return _copy_of


@pytest.fixture
def logged(caplog):
    """The messages to the user so far."""
    caplog.set_level(logging.INFO, "bestbefore.store")
    return lambda: [record.getMessage() for record in caplog.records if record.name == "bestbefore.store"]
