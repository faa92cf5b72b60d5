"""The store of a replay: a temporary embedded store, whose failure ends the replay.

The live proxy goes on while its store is down; the counts of a replay must include the store's effect.
"""

import tempfile
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.store.backend.interface import StoreUnusableError
from bestbefore.addon.store.cache.notices import silenced
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from bestbefore.addon.store_status import StoreStatus
from bestbefore.replay.played.errors import PlayError

PATIENCE_S = 120.0
"""The time limit of a server reply, long enough for a busy machine."""
UNBOUNDED_BYTES = 1 << 60
"""The size limit of the caches, so that nothing is evicted."""
UNBOUNDED_S = 1e10
"""The retention times, so that nothing is forgotten: these times are real ones, not those of the trace."""
MOST_PENDING = 10_000
"""The most observations or copies that may be pending, far below the number at which the proxy drops them."""


@asynccontextmanager
async def temporary_store(clock: ManualClock) -> AsyncGenerator[Store]:
    """Start a store and remove it with its files at the end. Raises PlayError if it does not start."""
    with tempfile.TemporaryDirectory(prefix="bestbefore-") as folder, silenced():
        try:
            store = await open_store(
                "embedded",
                clock=clock,
                state=Path(folder),
                clock_mark="accelerated",
                store_max=UNBOUNDED_BYTES,
                hot_max=UNBOUNDED_BYTES,
                keep_s=UNBOUNDED_S,
                forget_after_s=UNBOUNDED_S,
                join=True,  # a client of the store waits longer for the server to start than the proxy does
                patience_s=PATIENCE_S,
            )
        except StoreUnusableError as error:
            raise PlayError(str(error)) from error
        try:
            yield store
        finally:
            await store.close()


async def flush_if_behind(store: Store) -> None:
    """Wait for the store to write if many entries are pending. Raises PlayError if it has failed at any time."""
    status = store.status()
    _require_up(status)
    if max(status.pending_observations, status.pending_copies) > MOST_PENDING:
        await flush_all(store)


async def flush_all(store: Store) -> None:
    """Wait for the store to write all entries. Raises PlayError if it cannot, or has failed at any time."""
    done = await store.flush()
    status = store.status()
    _require_up(status)
    if not done:
        conditions = ", ".join(sorted(status.conditions))
        raise PlayError(f"the store cannot be written to ({conditions}): the replay is stopped")


def _require_up(status: StoreStatus) -> None:
    """Raise PlayError if the store was ever down, as entries may have been lost."""
    if status.last_error:
        raise PlayError(f"the store did not answer ({status.last_error}): the replay is stopped")
