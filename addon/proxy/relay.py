"""What the workers of one address pass on to each other, through their supervisor.

What all proxies on a store share is in the store. This is for what concerns the clients and connections of one address,
and for what must reach all workers while the store is away.
"""

from collections.abc import Callable
from enum import Enum
from typing import Any

NEWS_KEPT = 4096
"""How much of what workers have passed on the supervisor keeps for those that start later; the oldest are dropped."""


class Lasting(Enum):
    """Which news the supervisor keeps for workers that start later."""

    NONE = "none"
    ALL = "all"
    LATEST = "latest"
    """Only the last of their kind."""


class WorkerRelay:
    """Passes on the news of this process, and receives those of the others. Without a supervisor there are no others.

    News are records that can be pickled. They arrive in the order in which a worker sent them.
    """

    def __init__(self) -> None:
        self.send: Callable[[object, Lasting], object] = lambda _news, _lasting: None
        """Sends news to the supervisor."""
        self._receivers: dict[type, Callable[[Any], object]] = {}

    def on[T](self, kind: type[T], receive: Callable[[T], object]) -> None:
        """Let news of a kind be received; those of other kinds are ignored."""
        self._receivers[kind] = receive

    def pass_on(self, news: object, lasting: Lasting = Lasting.NONE) -> None:
        """Pass on news to the other workers; `lasting`: and to those that start later."""
        self.send(news, lasting)

    def receive(self, news: object) -> None:
        """Receive news of another worker."""
        receive = self._receivers.get(type(news))
        if receive is not None:
            receive(news)
