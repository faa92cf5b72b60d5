"""Mutated requests and answers through a real proxy: no request at the origin that was not meant, and no crossing.

20,000 requests in all; `run.py` sends as many as are wanted.
"""

from pathlib import Path

import pytest
from session import Session

pytestmark = pytest.mark.live

SEED = 20_261_122


@pytest.mark.parametrize(
    ("way", "requests"), [("plain", 7000), ("tunnel", 2000), ("h2", 6000), ("parent", 2500), ("reverse", 2500)]
)
async def test_nothing_is_smuggled_and_nothing_crosses(way: str, requests: int, tmp_path: Path) -> None:
    session = Session(tmp_path, SEED, clients=96, mutated_share=0.15)
    findings = await session.run([way], requests)
    assert not findings, "\n".join(str(finding) for finding in findings)
