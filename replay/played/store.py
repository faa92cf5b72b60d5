"""The store of a replay: an embedded one of its own, with which the replay stands and falls.

Live, the proxy goes on without its store where that is away. A replay is to show what the proxy does with it.
"""

import logging
import tempfile
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.cache.notices import log
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.status import Status
from bestbefore.addon.store.store import Store
from bestbefore.replay.played.errors import PlayError

PATIENCE_S = 120.0
"""How long the server may take to answer, on a busy machine too. Only the replay waits for it."""
UNBOUNDED_BYTES = 1 << 60
"""Nothing leaves the caches of a replay."""
UNBOUNDED_S = 1e10
"""Nor is anything forgotten: when, would depend on how long the replay takes."""
WAITING_AT_MOST = 10_000
"""How many observations or copies may wait to be written: far fewer than those that a proxy refuses to keep."""


@asynccontextmanager
async def own_store(clock: ManualClock) -> AsyncGenerator[Store]:
    """A store that is gone afterwards, with its files. Raises PlayError if it does not start."""
    with tempfile.TemporaryDirectory(prefix="bestbefore-") as folder, _quiet(log):
        try:
            store = await open_store(
                "embedded",
                clock=clock,
                domain_of=registrable_domain,
                state=Path(folder),
                clock_mark="accelerated",
                store_max=UNBOUNDED_BYTES,
                hot_max=UNBOUNDED_BYTES,
                keep_s=UNBOUNDED_S,
                forget_after_s=UNBOUNDED_S,
                join=True,  # no other process is there; but a command waits longer than a proxy for its server to start
                patience_s=PATIENCE_S,
            )
        except StoreUnusableError as error:
            raise PlayError(str(error)) from error
        try:
            yield store
        finally:
            await store.close()


@contextmanager
def _quiet(logger: logging.Logger) -> Iterator[None]:
    """Silence the warnings of the store: what a proxy survives is the end of a replay, reported in one line."""
    level = logger.level
    logger.setLevel(logging.CRITICAL)
    try:
        yield
    finally:
        logger.setLevel(level)


async def keep_up(store: Store) -> None:
    """Let the store write, if it has fallen far behind. Raises PlayError if it has failed at any time."""
    status = store.status()
    _refuse_absence(status)
    if max(status.pending_observations, status.pending_copies) > WAITING_AT_MOST:
        await written(store)


async def written(store: Store) -> None:
    """Let the store write everything. Raises PlayError if it cannot, or has failed before."""
    done = await store.flush()
    status = store.status()
    _refuse_absence(status)
    if not done:
        conditions = ", ".join(sorted(status.conditions))
        raise PlayError(f"the store cannot be written to ({conditions}): the replay is stopped")


def _refuse_absence(status: Status) -> None:
    """Refuse a store that was down, however briefly: the last entries may be lost."""
    if status.last_error:
        raise PlayError(f"the store did not answer ({status.last_error}): the replay is stopped")
