"""What was learnt of a host is forgotten once it is under passthrough, whenever that was written."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.proxy.access.passthrough_cleanup import PassthroughCleanup
from bestbefore.addon.rules import HostPattern
from bestbefore.addon.store.backend.interface import FullError
from bestbefore.addon.store.store import Store
from tests.addon.store.memory_backend import open_memory_store

BANK, OTHER = "https://www.bank.example/account", "https://www.example.org/"
FORGOTTEN: list[str] = []


@pytest.fixture
async def store(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Store]:
    """In memory; it tells in FORGOTTEN what it forgot."""
    store = await open_memory_store(clock=RealClock(), forget_after_s=1e12)
    forget = store.forget

    async def told(pattern: str) -> int:
        count = await forget(pattern)
        FORGOTTEN.append(pattern)
        return count

    FORGOTTEN.clear()
    monkeypatch.setattr(store, "forget", told)
    yield store
    await store.close()


async def learn(store: Store) -> None:
    for url in (BANK, OTHER):
        await store.learn(Observation(url, RealClock().now(), "", Fingerprint(body="a")))
    assert await known(store) == [True, True]


async def known(store: Store) -> list[bool]:
    """Whether anything is known of each of the two."""
    return [await store.record(url) is not None for url in (BANK, OTHER)]


async def run(store: Store, state: Path, *patterns: str, name: str = "embedded") -> None:
    """A proxy starts with these hosts under passthrough and ends when all that was to be forgotten is."""
    passed_through = PassthroughCleanup(state / "passthrough", store, name)
    passed_through.reconfigured([HostPattern.parse(pattern) for pattern in patterns])
    assert passed_through._work is not None
    await passed_through._work
    await passed_through.close()


async def test_what_came_under_passthrough_while_no_proxy_ran_is_forgotten_at_the_start(
    store: Store, tmp_path: Path
) -> None:
    await learn(store)
    await run(store, tmp_path, "*.bank.example")
    assert await known(store) == [False, True]


async def test_it_says_what_it_removes_once(store: Store, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    for _ in range(2):
        await run(store, tmp_path, "*.bank.example")
    said = [record.getMessage() for record in caplog.records]
    assert said == ["*.bank.example is under passthrough now: its copies and histories are removed"]


async def test_no_start_looks_for_it_again(store: Store, tmp_path: Path) -> None:
    await run(store, tmp_path, "*.bank.example")
    await run(store, tmp_path, "*.bank.example", "bank.example")
    assert FORGOTTEN == ["*.bank.example", "bank.example"]


async def test_another_store_has_forgotten_nothing_yet(store: Store, tmp_path: Path) -> None:
    await run(store, tmp_path, "*.bank.example")
    await run(store, tmp_path, "*.bank.example", name="redis://localhost")
    assert FORGOTTEN == ["*.bank.example"] * 2


async def test_a_host_that_comes_back_is_forgotten_again(store: Store, tmp_path: Path) -> None:
    await run(store, tmp_path, "*.bank.example")
    await run(store, tmp_path)
    await learn(store)
    await run(store, tmp_path, "*.bank.example")
    assert await known(store) == [False, True]


async def test_what_could_not_be_removed_before_the_end_is_removed_at_the_next_start(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(store)
    asked = asyncio.Event()

    async def refuses(_pattern: str) -> int:
        asked.set()
        raise FullError

    with monkeypatch.context() as patch:
        patch.setattr(store, "forget", refuses)
        passed_through = PassthroughCleanup(tmp_path / "passthrough", store, "embedded")
        passed_through.reconfigured([HostPattern.parse("*.bank.example")])
        await asked.wait()
        await passed_through.close()
    assert await known(store) == [True, True]
    await run(store, tmp_path, "*.bank.example")
    assert await known(store) == [False, True]


async def test_the_file_names_no_password(store: Store, tmp_path: Path) -> None:
    await run(store, tmp_path, "bank.example", name="redis://:secret@localhost")
    assert "secret" not in (tmp_path / "passthrough").read_text()


async def test_a_change_waits_for_nothing_and_is_the_one_that_counts(store: Store, tmp_path: Path) -> None:
    passed_through = PassthroughCleanup(tmp_path / "passthrough", store, "embedded")
    passed_through.reconfigured([HostPattern.parse("a.example")])
    passed_through.reconfigured([HostPattern.parse("b.example")])
    assert passed_through._work is not None
    await passed_through._work
    assert FORGOTTEN == ["b.example"]


async def test_it_is_tried_again_where_the_store_refuses(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    await learn(store)
    forget, asked = store.forget, 0

    async def refuses_twice(pattern: str) -> int:
        nonlocal asked
        asked += 1
        if asked < 3:
            raise FullError
        return await forget(pattern)

    monkeypatch.setattr("bestbefore.addon.proxy.access.passthrough_cleanup.RETRY_S", 0.0)
    monkeypatch.setattr(store, "forget", refuses_twice)
    await run(store, tmp_path, "*.bank.example")
    assert asked == 3
    assert await known(store) == [False, True]
