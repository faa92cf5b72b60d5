"""The gate: which clients are admitted, and which requests are refused at once."""

from collections.abc import Callable

from mitmproxy.connection import Client

from bestbefore.addon.config.credentials import read_credentials
from bestbefore.addon.config.settings import Settings
from bestbefore.addon.engine.request import marked, misframed
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.access import Access, is_local, is_restricted, peer_of
from bestbefore.addon.proxy.access.unadmitted import Unadmitted
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.tunnels.failures import BARRED
from bestbefore.addon.rfc9111.fields.connection import has_passed, hops
from bestbefore.addon.rfc9111.message import Fields, Request


class Gate:
    """Checks clients and targets by the settings; keeps the open tunnels."""

    def __init__(self, settings: Settings, monotonic: Callable[[], float]) -> None:
        """Raises OSError and ValueError if the credentials file is unusable."""
        self.reconfigured(settings)
        self._unadmitted = Unadmitted(monotonic)
        self.own_ports: frozenset[int] = frozenset()
        """The ports on which the proxy listens."""
        self._tunnels: dict[str, Fields] = {}
        """The fields of the CONNECT request, by the id of the client connection."""

    def reconfigured(self, settings: Settings) -> None:
        """Apply changed settings. Raises as `__init__` does; the settings before then remain in force."""
        users = {} if settings.credentials is None else read_credentials(settings.credentials)
        self.access = Access(settings.allow_clients, settings.connect_ports, users)
        self._settings = settings

    def turned_away(self, client: Client) -> str | None:
        """Return why a new connection is refused, which is logged; None if its address is admitted."""
        address = peer_of(client)
        return None if self.access.admits(address) else self._unadmitted.refused(address, self.access)

    def admitted(self, client: Client, proxy_authorization: str | None) -> bool:
        """Whether the client has sent the credentials that it needs, with this request or for its tunnel."""
        return client.id in self._tunnels or self.access.authorised(peer_of(client), proxy_authorization)

    def is_shut_out(self, client: Client) -> bool:
        """Whether changed settings do not allow a connected client any more, or the tunnel that it has opened."""
        peer, tunnel = peer_of(client), self._tunnels.get(client.id)
        if not self.access.admits(peer):
            return True
        return tunnel is not None and not self.access.authorised(peer, tunnel.get("proxy-authorization"))

    def tunnel_opened(self, client: Client, fields: Fields) -> None:
        """Record an admitted tunnel: requests through it need no further credentials."""
        self._tunnels[client.id] = fields

    def credentials_of(self, client: Client, fields: Fields) -> str:
        """Return the proxy credentials that the client has sent with a request or for its tunnel; empty if none."""
        tunnel = self._tunnels.get(client.id, Fields())
        return fields.get("proxy-authorization") or tunnel.get("proxy-authorization") or ""

    def tunnel_on(self, client: Client, fields: Fields, site: Site) -> Fields:
        """Return the fields of the CONNECT to the parent proxy, with Via: the tunnel may lead back to this proxy."""
        return marked(fields.added(*hops(self._tunnels.get(client.id, Fields()))), site)

    def user_of(self, client: Client, fields: Fields) -> str:
        """Return the user who sent a request with these fields or opened its tunnel; empty without credentials."""
        return self.access.user(self.credentials_of(client, fields)) if self.access.users else ""

    def closed(self, connection_id: str) -> None:
        """Forget the tunnel of a closed connection."""
        self._tunnels.pop(connection_id, None)

    def is_own(self, host: str, port: int) -> bool:
        """Whether the proxy itself listens at this address."""
        return port in self.own_ports and (host == self._settings.listen.host or is_local(host))

    def is_barred(self, client: Client, address: tuple[str | int, ...]) -> bool:
        """Whether a connection for this client must not lead to the proxy's own machine.

        A connection to a parent proxy may: the operator has chosen it.
        """
        parent = self._settings.upstream
        is_parent = parent is not None and address[:2] == (parent.host, parent.port)
        return is_restricted(client) and not is_parent

    def refusal(self, request: Request, client: Client, site: Site) -> tuple[int, str] | None:
        """Return status and reason of the refusal of an upgrade request or a tunnel; None if it is allowed."""
        if request.method.upper() == "PURGE":
            return 400, "a PURGE has no content"
        if why := misframed(request):
            return 400, why
        if self.is_own(request.target.host, request.target.port):
            return 403, "this address is the proxy's own"
        if is_restricted(client) and is_local(request.target.host):
            return 403, BARRED
        if has_passed(request.fields, site.name):
            return 508, "the request has passed this proxy already"
        if request.method == "CONNECT":
            return None
        if request.target.host == pages.HOST:
            return 403, "this address is the proxy's own"
        if site.offline:
            return 504, "the proxy is offline"
        return None
