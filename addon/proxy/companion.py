"""The interface of what the proxy starts and stops with itself: it lies in a higher layer."""

from typing import Protocol


class Companion(Protocol):
    """A service beside the proxy, on its store and origins."""

    async def start(self) -> None:
        """Begin. Store and origin are there, and requests may come at any time."""

    def reconfigured(self) -> None:
        """The configuration in force is another one."""

    async def close(self) -> None:
        """Stop. Store and origin are still there."""
