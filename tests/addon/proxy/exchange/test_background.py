"""Tasks that are not awaited."""

import asyncio

import pytest

from bestbefore.addon.proxy.exchange.background import BackgroundTasks


async def test_what_is_begun_ends_by_itself_or_with_all(caplog: pytest.LogCaptureFixture) -> None:
    tasks, begun = BackgroundTasks(), asyncio.Event()

    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    short, long = tasks.spawn(asyncio.sleep(0, 1)), tasks.spawn(endless())
    assert await short == 1
    await begun.wait()
    assert tasks.running == {long}
    await tasks.close()
    assert (long.cancelled(), tasks.running, caplog.records) == (True, set(), [])


async def test_an_error_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    tasks = BackgroundTasks()

    async def fails() -> None:
        raise KeyError

    await asyncio.wait([tasks.spawn(fails())])
    await asyncio.sleep(0)
    assert "a bug in bestbefore" in caplog.text
