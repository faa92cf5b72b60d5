"""Computations beside the loop."""

import asyncio
import threading

import pytest

from bestbefore.addon.prefetcher.threads import in_thread


async def test_the_loop_goes_on_meanwhile_and_has_the_error() -> None:
    begun, end = threading.Event(), threading.Event()

    def slow() -> None:
        begun.set()
        end.wait(20.0)
        raise KeyError

    computing = asyncio.create_task(in_thread(slow))
    await asyncio.to_thread(begun.wait)
    assert not computing.done()
    end.set()
    with pytest.raises(KeyError):
        await computing


async def test_who_no_longer_waits_is_not_told() -> None:
    end = threading.Event()
    computing = asyncio.create_task(in_thread(lambda: bool(end.wait(20.0)) and None))
    await asyncio.sleep(0)
    computing.cancel()
    end.set()
    with pytest.raises(asyncio.CancelledError):
        await computing
