"""Single faults are counted, logged once a minute, and stop nothing."""

import asyncio
import itertools

import pytest

from bestbefore.addon.store.backend.interface import FullError, UnavailableError
from bestbefore.addon.store.cache.faults import AT_ONCE, LOG_INTERVAL_S, Faults, short, write_each


def test_of_each_kind_there_is_a_line_a_minute_with_how_many_there_were(logged):
    now_s = [0.0]
    faults = Faults(lambda: now_s[0])
    for at_s in (0.0, 1.0, LOG_INTERVAL_S - 1, LOG_INTERVAL_S, LOG_INTERVAL_S + 1):
        now_s[0] = at_s
        faults.add("copy", f"a copy at {at_s}")
    faults.add("key", "a key")
    assert logged() == ["a copy at 0.0", "a copy at 60.0 (and 2 more since the last such line)", "a key"]
    assert faults.counts == {"copy": 5, "key": 1}


@pytest.mark.parametrize("bad", [set(), {0}, {99}, {3, 4}, {0, 50, 99}, set(range(100))])
async def test_all_but_what_cannot_be_written_is_written(bad):
    written = []

    async def write(items):
        if bad.intersection(items):
            raise ValueError("bad")
        written.extend(items)

    aside = await write_each(range(100), write)
    assert [item for item, _ in aside] == sorted(bad)
    assert written == [item for item in range(100) if item not in bad]


@pytest.mark.parametrize("error", [UnavailableError("gone"), FullError("no room")])
async def test_what_is_wrong_with_the_backend_is_no_fault_of_an_item(error):
    tries = []

    async def write(items):
        tries.append(items)
        raise error

    with pytest.raises(type(error)):
        await write_each(range(AT_ONCE + 1), write)
    assert tries == [tuple(range(AT_ONCE))], "later items wait"


async def test_the_event_loop_has_turns_while_many_are_written():
    written, turns = [], []

    async def count_turns():
        while len(written) < 100:
            turns.append(len(written))
            await asyncio.sleep(0)

    async def write(items):
        written.extend(items)
        await asyncio.sleep(0)

    counting = asyncio.create_task(count_turns())
    await write_each(range(100), write)
    await counting
    assert max(after - before for before, after in itertools.pairwise([*turns, 100])) <= AT_ONCE


async def test_nothing_is_written_of_nothing():
    async def write(items):
        raise AssertionError

    assert await write_each([], write) == []


def test_a_url_is_shown_without_its_query_and_as_what_any_terminal_shows():
    assert short("http://a/\udcff\x1b?token=secret") == r"'http://a/\udcff\x1b'"
    assert len(short("x" * 10_000)) < 300
