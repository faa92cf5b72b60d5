"""The place of a process among those that serve one address."""

from dataclasses import dataclass
from pathlib import Path

from bestbefore.addon.config.settings import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerPlace:
    """The place of a worker, and what its supervisor runs for it. The default is a process that serves alone."""

    number: int = 1
    workers: int = 1
    socket: Path | None = None
    """The socket of the embedded store's server, which the supervisor runs."""
    admin: Address | None = None
    """The address of the supervisor's metrics."""

    @property
    def is_first(self) -> bool:
        """Whether this process also does what one of all must do."""
        return self.number == 1

    @property
    def has_supervisor(self) -> bool:
        return self.workers > 1
