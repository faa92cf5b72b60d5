"""The channel on which proxies on one server announce to each other which objects have another content now."""

import secrets
from collections.abc import Callable, Collection

from bestbefore.addon.store.backend import keys
from bestbefore.addon.store.backend.repair import RepairingCommands


class ReplacedChannel:
    """Announces the objects whose stored copies this process has replaced, and receives those of others."""

    def __init__(self, commands: RepairingCommands, *, is_shared: bool) -> None:
        """`is_shared`: whether other proxies may use the server. Else there are only workers, which have a relay."""
        self._connection = commands
        self._is_shared = is_shared
        self._name = secrets.token_hex(8).encode()
        """The name of this process, which marks its announcements."""
        self.on_replaced: Callable[[Collection[str]], object] = lambda _: None
        """Called with the URLs that another process has announced."""

    async def announce(self, urls: Collection[str]) -> None:
        """Announce objects, once their copies are stored."""
        if urls and self._is_shared:
            message = b"\n".join([self._name, *map(str.encode, urls)])
            await self._connection.ask("PUBLISH", keys.REPLACED_CHANNEL, message)

    def receive(self, encoded: bytes) -> None:
        """Receive a message of the channel. Those who do not get one serve their copies until they expire."""
        name, *urls = encoded.split(b"\n")
        if name != self._name:
            self.on_replaced([url.decode(errors="replace") for url in urls])
