"""Mutated requests and answers through a real proxy: no request at the origin that was not meant, and no crossing.

20,000 requests in all; `run.py` sends as many as are wanted.
"""

import asyncio
from pathlib import Path

import pytest
from session import Session

pytestmark = pytest.mark.live

SEED = 20_261_122
WAYS = {"plain": 7000, "tunnel": 2000, "h2": 5000, "parent": 3000, "reverse": 3000}
CLIENTS = 48
"""Of each way."""


async def test_nothing_is_smuggled_and_nothing_crosses(tmp_path: Path) -> None:
    """All ways at once, each through a proxy of its own: so they take both cores."""
    sessions = {way: Session(tmp_path / way, SEED, CLIENTS, mutated_share=0.15) for way in WAYS}
    found = await asyncio.gather(*(sessions[way].run([way], requests) for way, requests in WAYS.items()))
    findings = [finding for of_way in found for finding in of_way]
    assert not findings, "\n".join(map(str, findings))
