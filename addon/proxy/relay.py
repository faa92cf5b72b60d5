"""What the workers of one address pass on to each other, through their supervisor.

What all proxies on a store share is in the store. This is for what concerns the clients and connections of one address,
and for what must reach all workers while the store is away.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

ANNOUNCEMENTS_KEPT = 4096
"""How much of what workers have passed on the supervisor keeps for those that start later; the oldest are dropped."""


class Lasting(Enum):
    """Which announcements the supervisor keeps for workers that start later."""

    NONE = "none"
    ALL = "all"
    LATEST = "latest"
    """Only the last of their kind."""


class WorkerRelay:
    """Passes on the announcements of this process, and receives those of others. Without a supervisor there are none.

    Announcements are records that can be pickled. They arrive in the order in which a worker sent them.
    """

    def __init__(self) -> None:
        self.send: Callable[[object, Lasting], object] = lambda _announcement, _lasting: None
        """Sends an announcement to the supervisor."""
        self._receivers: dict[type, Callable[[Any], object]] = {}

    def on[T](self, kind: type[T], receive: Callable[[T], object]) -> None:
        """Let announcements of a kind be received; those of other kinds are ignored."""
        self._receivers[kind] = receive

    def pass_on(self, announcement: object, lasting: Lasting = Lasting.NONE) -> None:
        """Pass on an announcement to the other workers; `lasting`: and to those that start later."""
        self.send(announcement, lasting)

    def receive(self, announcement: object) -> None:
        """Receive an announcement of another worker."""
        receive = self._receivers.get(type(announcement))
        if receive is not None:
            receive(announcement)
