"""Mutated requests and answers through a real proxy: no request at the origin that was not meant, and no crossing.

1,300 requests in all, of which 400 are among the fast tests; `run.py` sends as many as are wanted.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path

import pytest
from session import Session

pytestmark = pytest.mark.live

SEED = 20_261_122
FAST = {"plain": 240, "h2": 160}
FAST_ROUND = 20
"""Cases: of few, too, some meet a hostile origin."""
LONG = {"plain": 300, "tunnel": 125, "h2": 225, "parent": 125, "reverse": 125}
LONG_ROUND, FIRST_OF_LONG = 100, 401
"""Other cases than the fast ones."""
CLIENTS = 48
"""Of each way."""


async def run(folder: Path, requests: Mapping[str, int], first_case: int, round_cases: int) -> None:
    """All ways at once, each through a proxy of its own: so they take both cores."""
    sessions = {
        way: Session(folder / way, SEED, CLIENTS, mutated_share=0.15, round_cases=round_cases) for way in requests
    }
    found = await asyncio.gather(
        *(sessions[way].run([way], number, first_case=first_case) for way, number in requests.items())
    )
    findings = [finding for of_way in found for finding in of_way]
    assert not findings, "\n".join(map(str, findings))


async def test_nothing_is_smuggled_and_nothing_crosses(tmp_path: Path) -> None:
    await run(tmp_path, FAST, 1, FAST_ROUND)


@pytest.mark.slow
async def test_so_it_is_with_many_more(tmp_path: Path) -> None:
    await run(tmp_path, LONG, FIRST_OF_LONG, LONG_ROUND)
