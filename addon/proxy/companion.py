"""The interface of a service of a higher layer that the proxy starts and stops with itself."""

from typing import Protocol


class Companion(Protocol):
    """A service that uses the store and origins of a running proxy."""

    async def start(self) -> None:
        """Start. Store and origin are open, and requests may already arrive."""

    def reconfigured(self) -> None:
        """Apply a changed configuration."""

    async def close(self) -> None:
        """Stop. Store and origin are still open."""
