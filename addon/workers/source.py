"""What the dashboard of a supervisor reads: its workers together, and the store that they share."""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from prometheus_client.core import Metric

from bestbefore.addon.admin.summary import DomainCounts, Summary
from bestbefore.addon.clock import Clock, FastClock
from bestbefore.addon.config.load import Config
from bestbefore.addon.config.watch import ConfigSource
from bestbefore.addon.dashboard.source import Watcher
from bestbefore.addon.store.backend.interface import Tombstone
from bestbefore.addon.store.cache.notices import silenced
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from bestbefore.addon.workers.kept_store import KeptStore
from bestbefore.addon.workers.supervised import Supervised


class WorkersSource:
    """The state of a proxy of several processes."""

    def __init__(
        self,
        watch: ConfigSource,
        clock: Clock,
        workers: Sequence[Supervised],
        summary: Summary,
        store_socket: Path | None,
        families: Callable[[], Sequence[Metric]],
        health: Callable[[], Mapping[str, object]],
        refresh: Callable[[], Coroutine[Any, Any, None]],
        pass_on: Callable[[Tombstone], object],
    ) -> None:
        """`store_socket`: that of the embedded store, if there is one. `pass_on`: see `Invalidation`."""
        self._watch = watch
        self.clock = clock
        self._workers = workers
        self._summary = summary
        self._store_socket = store_socket
        self.families = families
        self.health = health
        self.refresh = refresh
        self._pass_on = pass_on
        self._store = KeptStore(self._open_store)

    @property
    def config(self) -> Config:
        return self._watch.config

    @property
    def config_file(self) -> Path | None:
        return self._watch.path

    def domains(self) -> DomainCounts:
        return self._summary.total

    def store(self) -> AbstractAsyncContextManager[Store]:
        """Open the store for a page, and keep it for the next: nothing is kept while no page is shown."""
        return self._store.used()

    async def _open_store(self) -> Store:
        settings = self.config.settings
        with silenced():
            store = await open_store(
                settings.store,
                clock=self.clock,
                state=settings.state,
                clock_mark="accelerated" if isinstance(self.clock, FastClock) else "real",
                store_max=settings.store_max,
                hot_max=0,
                supervised_socket=self._store_socket,
                processes=len(self._workers) + 1,  # as what these store must be seen
                sweeps=False,
            )
        store.notices.muted = True  # the workers log what is to be known of it
        store.invalidation.pass_on = self._pass_on
        return store

    async def close(self) -> None:
        """Close the store, if a page has opened it."""
        await self._store.close()

    def watch(self, watcher: Watcher | None) -> None:
        for worker in self._workers:
            worker.watcher = watcher

    def switch(self, *, offline: bool) -> None:
        self._watch.switch(offline=offline)

    def checked(self, toml: str) -> Config:
        return self._watch.checked(toml)
