"""The interface of a service that the proxy starts and stops with itself: it lies in a higher layer."""

from collections.abc import Callable

from aiohttp import web

from bestbefore.addon.rfc9111.message import Head


class Companion:
    """A service beside the proxy, on its store and origins. This one does nothing."""

    @property
    def counts_demand(self) -> bool:
        """Whether the store counts which networks request which object."""
        return False

    async def start(self) -> None:
        """Begin. The store and the origin client are open, and requests may come at any time."""

    def mount(self, application: web.Application) -> None:
        """Add pages to the admin address of a process that serves alone, after `start`."""

    def reconfigured(self) -> None:
        """Apply a changed configuration."""

    def note_answer(self, host: str, head: Head) -> None:
        """Record the head of an origin's answer, to a client or not."""

    def note_contact(self, url: str) -> None:
        """Record that an origin was contacted for an object, and what that showed is stored."""

    def signalled(self, url: str, at_s: float | None, kind: str) -> None:
        """Record that an origin has announced a change of an object, at this time if it is known.

        `kind`: what announced it, as a label of metrics.
        """

    def pushed_until(self, url: str, until_s: float) -> None:
        """Record until when the changes of an object are pushed, policy time; 0: they are not any more."""

    def forgotten(self, matches: Callable[[str], bool]) -> None:
        """Record that the histories of some objects were removed."""

    async def close(self) -> None:
        """Stop. The store and the origin client are still open."""
