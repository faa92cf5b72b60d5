import asyncio
import os
from pathlib import Path

import pytest

from bestbefore.addon.dashboard.comparison.command import CommandFailedError, run_command

DATA = ("--updates", "tests/data/excerpt.updates.csv", "--requests", "tests/data/excerpt.requests.csv.gz")


async def test_a_command_gives_its_json_and_its_progress(pytestconfig: pytest.Config) -> None:
    done: list[float] = []
    trace = [part if part.startswith("--") else str(pytestconfig.rootpath / part) for part in DATA]
    rows = await run_command(
        ["replay", *trace, "--policy", "ttl", "--policy", "always", "--json", "--jobs", "1"], done.append
    )
    assert [row["policy"] for row in rows] == ["ttl", "always"]
    assert done[-1] == 1.0


async def test_a_command_that_fails_says_why_itself() -> None:
    with pytest.raises(CommandFailedError, match=r"/absent.toml: cannot be read: No such file"):
        await run_command(["export", "--out", "x", "--config", "/absent.toml"], lambda _: None)


async def test_a_command_that_is_cancelled_has_ended(pytestconfig: pytest.Config) -> None:
    before = set(children())
    trace = [part if part.startswith("--") else str(pytestconfig.rootpath / part) for part in DATA]
    task = asyncio.create_task(run_command(["recommend", *trace, "--stale-rate", "1%"], lambda _: None))
    while not (begun := set(children()) - before):  # noqa: ASYNC110 - the kernel sends no event
        await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert not begun & set(children())


def children() -> list[int]:
    return list(map(int, Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()))
