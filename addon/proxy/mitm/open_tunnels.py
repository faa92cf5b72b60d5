"""The tunnels and upgraded connections in use, each of which is logged when it ends."""

from dataclasses import dataclass, replace

from mitmproxy.connection import Client

from bestbefore.addon.proxy.mitm.forwarded import ForwardedRequest


@dataclass(frozen=True, slots=True)
class OpenTunnel:
    """A tunnel or an upgraded connection: the request that opened it, its client, and the status of the response."""

    forwarded: ForwardedRequest
    client: Client
    status: int
    reason: str
    failed: bool = False
    """Whether nothing passed: its origin could not be reached, or its client refused the certificate."""
    contact: bool = True
    """Whether the proxy connected to the origin, or tried to."""


class OpenTunnels:
    """Tunnels and upgraded connections by the id of their client's connection, of which each carries one."""

    def __init__(self) -> None:
        self._asked: dict[str, ForwardedRequest] = {}
        """The tunnels that clients were admitted to; one that is intercepted is no tunnel."""
        self._open: dict[str, OpenTunnel] = {}

    def asked(self, client: Client, connect: ForwardedRequest) -> None:
        """Note that a client opens a tunnel."""
        self._asked[client.id] = connect

    def tunnelled(self, client: Client, reason: str) -> None:
        """Note that what passes in the tunnel of a client is not intercepted."""
        connect = self._asked.pop(client.id, None)
        if connect is not None:
            self._open[client.id] = OpenTunnel(connect, client, 200, reason)

    def upgraded(self, client: Client, forwarded: ForwardedRequest, reason: str) -> None:
        """Note that the connection of a client has changed to another protocol."""
        self._open[client.id] = OpenTunnel(forwarded, client, 101, reason)

    def failed(self, client: Client, reason: str) -> None:
        """Note that the origin of the tunnel of a client, if that is one, cannot be reached."""
        if (tunnel := self._open.get(client.id)) is not None and tunnel.status == 200:
            self._open[client.id] = replace(tunnel, reason=reason, failed=True)

    def refused(self, client: Client, reason: str) -> None:
        """Note that a client has refused the proxy's certificate in a tunnel that would have been intercepted."""
        connect = self._asked.pop(client.id, None)
        if connect is not None:
            self._open[client.id] = OpenTunnel(connect, client, 200, reason, failed=True, contact=False)

    def closed(self, client: Client) -> OpenTunnel | None:
        """Forget the connection of a client; return its tunnel, if it carried one."""
        self._asked.pop(client.id, None)
        return self._open.pop(client.id, None)

    def end(self) -> list[OpenTunnel]:
        """Forget all; return those that were open."""
        ended = list(self._open.values())
        self._open.clear()
        return ended
