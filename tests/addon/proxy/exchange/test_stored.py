"""Content from the store."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.content import MEMORY_BYTES
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.backend.unlinked import UnlinkedFile
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

NOW_S = 1_706_745_600.0


@pytest.fixture
async def store() -> AsyncIterator[Store]:
    made = await open_memory_store(clock=ManualClock(NOW_S))
    yield made
    await made.close()


def put(store: Store, content: bytes) -> Copy:
    copy = Copy("http://example.org/", Head(200, Fields()), BodyRef("d", len(content)), NOW_S, NOW_S, NOW_S, NOW_S)
    store.put(copy, content)
    return copy


async def test_what_is_large_and_comes_whole_is_put_into_a_file(store: Store, tmp_path: Path) -> None:
    content = bytes(range(256)) * (MEMORY_BYTES // 256) + b"!"
    copy = put(store, content)
    budget = Budget(64 * MEMORY_BYTES, tmp_path)
    stored = StoredContent(store, budget)
    bodies = await asyncio.gather(*[stored.of(copy) for _ in range(5)])
    for body in bodies:
        assert isinstance(body, UnlinkedFile)
        assert body.read_all() == content
    assert budget.used_bytes == 0


async def test_what_is_small_is_given_as_it_is(store: Store, tmp_path: Path) -> None:
    assert await StoredContent(store, Budget(10, tmp_path)).of(put(store, b"small")) == b"small"


async def test_what_is_gone_is_none(store: Store) -> None:
    gone = Copy("http://example.org/gone", Head(200, Fields()), BodyRef("e", 1), NOW_S, NOW_S, NOW_S, NOW_S)
    assert await StoredContent(store, Budget()).of(gone) is None
