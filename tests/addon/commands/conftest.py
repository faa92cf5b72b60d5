"""A store of a few objects for the commands that work on it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from bestbefore.addon import cli
from bestbefore.addon.clock import RealClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store

OBJECTS = ("http://www.example.org/a", "http://www.example.org/b", "https://example.net/a")
"""Each has a copy, and a history of one contact."""


async def _opened(state: Path) -> Store:
    return await open_store("embedded", clock=RealClock(), state=state)


async def _fill(state: Path) -> None:
    store, at_s = await _opened(state), RealClock().now() - 60.0
    for url in OBJECTS:
        await store.learn(Observation(url, at_s, "", Fingerprint(body="d")))
        head = Head(200, Fields([("Date", format_http_date(at_s)), ("Cache-Control", "max-age=7200")]))
        store.put(Copy(url, head, BodyRef("digest", 7), at_s, at_s, at_s, at_s), b"content")
    await store.flush()
    await store.close()


async def _left(state: Path) -> tuple[list[str], list[str]]:
    store = await _opened(state)
    copied = [url for url in OBJECTS if (await store.copies(url)).copies]
    known = [url for url in OBJECTS if await store.record(url) is not None]
    await store.close()
    return copied, known


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """The state folder of a store that holds `OBJECTS`."""
    asyncio.run(_fill(tmp_path))
    return tmp_path


@pytest.fixture
def left() -> Callable[[Path], tuple[list[str], list[str]]]:
    """Which of the objects have a copy, and which a history, in the store of a state folder."""
    return lambda state: asyncio.run(_left(state))


Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def bestbefore(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command and returns exit status, output and errors."""

    def run(*args: object) -> tuple[int, str, str]:
        status = cli.run([*map(str, args)])
        return status, *capsys.readouterr()

    return run
