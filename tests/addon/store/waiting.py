"""Waiting for what another task or process brings about."""

import asyncio
import time
from collections.abc import Callable

PATIENCE_S = 30.0
"""Longer than a busy machine takes for anything."""


async def until(condition: Callable[[], object]) -> None:
    """Wait until a condition holds."""
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline, "it did not come to that"
        await asyncio.sleep(0.005)
