"""The tunnels and upgraded connections in use, each of which is logged when it ends."""

from dataclasses import dataclass

from bestbefore.addon.proxy.mitm.forwarded import ForwardedRequest


@dataclass(frozen=True, slots=True)
class OpenTunnel:
    """A tunnel or an upgraded connection: the request that opened it, and the status of the response."""

    forwarded: ForwardedRequest
    status: int
    reason: str


class OpenTunnels:
    """Tunnels and upgraded connections by the id of their client's connection, of which each carries one."""

    def __init__(self) -> None:
        self._asked: dict[str, ForwardedRequest] = {}
        """The tunnels that clients were admitted to; one that is intercepted is no tunnel."""
        self._open: dict[str, OpenTunnel] = {}

    def asked(self, client: str, connect: ForwardedRequest) -> None:
        """Note that a client opens a tunnel."""
        self._asked[client] = connect

    def tunnelled(self, client: str, reason: str) -> None:
        """Note that what passes in the tunnel of a client is not intercepted."""
        connect = self._asked.pop(client, None)
        if connect is not None:
            self._open[client] = OpenTunnel(connect, 200, reason)

    def upgraded(self, client: str, forwarded: ForwardedRequest, reason: str) -> None:
        """Note that the connection of a client has changed to another protocol."""
        self._open[client] = OpenTunnel(forwarded, 101, reason)

    def closed(self, client: str) -> OpenTunnel | None:
        """Forget the connection of a client; return its tunnel, if it carried one."""
        self._asked.pop(client, None)
        return self._open.pop(client, None)
