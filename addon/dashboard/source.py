"""What the dashboard reads: one process that serves, or the supervisor of several."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Protocol

from prometheus_client.core import Metric

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.admin.summary import DomainCounts
from bestbefore.addon.clock import Clock
from bestbefore.addon.config.load import Config
from bestbefore.addon.store.store import Store

type Watcher = Callable[[Sequence[Answered]], None]
"""Called with requests that were answered, in their order."""


class ProxySource(Protocol):
    """The state of a proxy."""

    @property
    def clock(self) -> Clock:
        """The clock of policy time."""

    @property
    def config(self) -> Config:
        """The configuration in force."""

    @property
    def config_file(self) -> Path | None:
        """Its file; None: there is none."""

    async def refresh(self) -> None:
        """Bring up to date what the others return."""

    def families(self) -> Sequence[Metric]:
        """Return all metrics."""

    def health(self) -> Mapping[str, object]:
        """Return the object of /healthz."""

    def domains(self) -> DomainCounts:
        """Return the counts of requests since the start."""

    def store(self) -> AbstractAsyncContextManager[Store]:
        """Return the store, open within the context. Raises StoreUnusableError, StoreInputError."""

    def watch(self, watcher: Watcher | None) -> None:
        """Call `watcher` with each request from now on, until another call; None: with none."""

    def switch(self, *, offline: bool) -> None:
        """Let the proxy contact no origin, or do so again: within a second, and until it ends."""

    def checked(self, toml: str) -> Config:
        """Return the configuration that the proxy would read from its file, if it had this text. Raises ConfigError."""
