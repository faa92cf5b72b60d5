"""The mitmproxy addon: its options and hooks.

The layer (`stream`) answers requests. Upgrades and tunnels, which mitmproxy handles itself, pass through these hooks,
which check who may use the proxy and write the fields that are sent.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from pathlib import Path

import mitmproxy.http
from mitmproxy import connection, ctx, exceptions, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import layer, layers, server_hooks

from bestbefore.addon.engine.request import PASSTHROUGH
from bestbefore.addon.errors import InputError
from bestbefore.addon.proxy.access.access import REALM, is_local
from bestbefore.addon.proxy.balancer.identification import identify
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.mitm import client_tls, transports, upgrades
from bestbefore.addon.proxy.mitm.forwarded import PASSED, ForwardedRequest
from bestbefore.addon.proxy.mitm.layer import install
from bestbefore.addon.proxy.mitm.open_tunnels import OpenTunnel, OpenTunnels
from bestbefore.addon.proxy.mitm.origin_tls import apply_trust
from bestbefore.addon.proxy.mitm.stream.stream import ANSWERED_HERE
from bestbefore.addon.proxy.mitm.translate import error_response, fields_of, pairs_of, request_of
from bestbefore.addon.proxy.mitm.wait import AsyncCall
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.tunnels.client_hello import fingerprint
from bestbefore.addon.proxy.tunnels.failures import BARRED, TOO_MANY, TunnelFailure, tunnel_failure
from bestbefore.addon.proxy.tunnels.refusals import ClientKey
from bestbefore.addon.rfc9111.caching.bypass import Bypass
from bestbefore.addon.rfc9111.message import Fields

logger = logging.getLogger(__name__)

OPTIONS = ("config", "store", "state", "admin")
STOPPED = "the proxy is stopping"
REFUSED_CERTIFICATE = "refused-certificate"
"""The reason of tunnels whose client has refused the proxy's certificate."""
CONNECT = "bestbefore_connect"
"""The metadata key of a flow under which the `ForwardedRequest` for a tunnel is kept."""


class BestBefore:
    """Answers from the cache inside mitmproxy.

    Under the project's own master, the service is passed in, already started. Under a stock mitmproxy, the addon
    creates it from the options `bestbefore_*` once mitmproxy runs, and passes each exchange to the other addons as a
    flow.
    """

    name = "bestbefore"

    def __init__(
        self,
        service: Service | None = None,
        greet: Callable[[Path], None] = lambda _: None,
        companion: Callable[[Service], Companion] = lambda _service: Companion(),
    ) -> None:
        """Create the addon of a master.

        `greet` is called with the path of the CA bundle once the proxy answers requests. `companion` creates the
        companion of a service that the addon creates itself.
        """
        self._companion = companion
        self._service = service
        self._greet = greet
        self._stock = service is None
        self._starting: asyncio.Task[None] | None = None
        self._settled = asyncio.Event()
        """Set when the start of the service under a stock mitmproxy has succeeded or failed."""
        self._tunnels = OpenTunnels()
        self._ended = False
        """Whether a stock mitmproxy is about to exit."""

    def load(self, loader: Loader) -> None:
        """mitmproxy's hook: declare the options."""
        for option in OPTIONS:
            loader.add_option(f"bestbefore_{option}", str, "", f"As --{option} of `bestbefore proxy`.")

    def configure(self, updated: set[str]) -> None:
        """mitmproxy's hook: read the configuration, and refuse options that are wrong."""
        if not self._stock or not any(name.startswith("bestbefore_") for name in updated):
            return
        if self._starting is not None:
            raise exceptions.OptionsError("changes of the options bestbefore_* need a restart")
        try:
            self._service = Service.from_options(
                {name: getattr(ctx.options, f"bestbefore_{name}") or None for name in OPTIONS}, self._companion
            )
        except (InputError, ValueError) as error:
            raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """mitmproxy's hook: it listens now. Not async, since mitmproxy's reload of scripts could not await it."""
        service = self._service
        if service is None:
            return
        if not self._stock:
            self._listens(service)
        elif self._starting is None:
            # A hit on HTTPS must open no connection to the origin, neither for itself nor for its certificate.
            ctx.options.update(connection_strategy="lazy", upstream_cert=False)
            self._starting = asyncio.get_running_loop().create_task(self._start(service))

    async def _start(self, service: Service) -> None:
        try:
            await service.start()
            self._listens(service)
        except Exception as error:  # after any error, mitmproxy goes on as a plain proxy
            logger.error("bestbefore does not cache: %s", error)  # noqa: TRY400 - no traceback reaches a user
        finally:
            self._settled.set()

    def _listens(self, service: Service) -> None:
        server = next(iter(ctx.master.addons.get("proxyserver").servers))
        host, port = server.listen_addrs[0][:2]
        self._greet(service.listening(host, port, Path(ctx.options.confdir).expanduser()))
        if self._stock:
            logger.info("bestbefore caches; state: %s, metrics: %s", service.settings.state, service.admin_url or "off")

    async def done(self) -> None:
        """mitmproxy's hook: write what was learnt."""
        self._ended = True
        for tunnel in self._tunnels.end():
            if self._service is not None:
                self._record_tunnel(tunnel, self._service, complete=False)
        if self._stock and self._service is not None:
            if self._starting is not None:
                await self._starting
            await self._service.stop()

    def _has_stopped(self, service: Service) -> bool:
        """Whether the service has stopped. mitmproxy still listens then, and must not forward requests itself."""
        return not service.ready and (self._ended or not self._stock)

    # Hooks for the layer.

    async def bestbefore_wait(self, work: AsyncCall[object]) -> None:
        """Run the coroutine that a layer waits for."""
        await work.run()

    def next_layer(self, next_layer: layer.NextLayer) -> None:
        """Let mitmproxy choose the next layer, then replace its HTTP layer by `CachingHttpLayer`."""
        their_next_layer = ctx.master.addons.get("nextlayer")
        if their_next_layer is not None:
            their_next_layer.next_layer(next_layer)
        service = self._service
        if service is None or not service.ready:
            return
        context = next_layer.context
        peer, address = context.client.peername, context.server.address
        reason = "tunnel"
        if peer and address and service.settings.is_passthrough(address[0]):
            next_layer.layer, reason = layers.TCPLayer(context, ignore=True), PASSTHROUGH
        if context.client.tls_established:
            service.interception.accepted(context.client.id)
        if isinstance(next_layer.layer, layers.TCPLayer):
            self._tunnels.tunnelled(context.client, reason)
            if context.server.error:
                self._tunnels.failed(context.client, _failure_of(context.server).reason)
        else:
            client_tls.install(next_layer)
            install(next_layer, service.gateway)

    # Access: who may use the proxy, and reach which address.

    async def client_connected(self, client: connection.Client) -> None:
        """mitmproxy's hook: refuse clients that may not use the proxy; under a stock mitmproxy, wait for the cache."""
        if self._stock and self._service is not None:
            await self._settled.wait()
        if self._service is not None and not await identify(client, self._service.settings):
            return
        if self._service is not None and self._has_stopped(self._service):
            client.error = STOPPED
        elif self._service is not None and (reason := self._service.gate.turned_away(client)) is not None:
            client.error = reason
        elif self._service is not None and self._service.admission.refuses(client):
            client.error = "too many connections"
        elif self._service is not None:
            self._service.lingering.opened(client, client)

    def client_disconnected(self, client: connection.Client) -> None:
        """Forget a client that has disconnected; record its tunnel."""
        transports.release(client)
        tunnel = self._tunnels.closed(client)
        if self._service is not None and tunnel is not None:
            self._record_tunnel(tunnel, self._service, complete=True)
        if self._service is not None:
            self._service.connection_closed(client)

    @staticmethod
    def _record_tunnel(tunnel: OpenTunnel, service: Service, *, complete: bool) -> None:
        whole = complete and not tunnel.failed
        service.recording.forwarded(
            tunnel.forwarded, tunnel.client, tunnel.status, tunnel.reason, complete=whole, contact=tunnel.contact
        )

    def server_disconnected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Forget a connection to an origin that has ended."""
        if self._service is not None:
            self._service.admission.release_connection()
            self._service.connection_closed(data.server)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Forget a connection to an origin that failed, or was refused."""
        self._tunnels.failed(data.client, _failure_of(data.server).reason)
        if self._service is not None:
            self._service.admission.release_connection()

    def http_connect(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: a client asks for a tunnel."""
        service, client = self._service, flow.client_conn
        if service is None or not client.peername:
            return
        if self._has_stopped(service):
            flow.response = error_response(flow.request, 503, STOPPED, detail="stopping")
            return
        request = request_of(flow.request, has_body=False)
        connect = ForwardedRequest.of(flow, request, service.clock)
        flow.metadata[CONNECT] = connect
        if not self._admit(flow, service):
            return
        if not service.gate.access.tunnels(client.peername[0], flow.request.port):
            flow.response = error_response(flow.request, 403, f"no tunnel to port {flow.request.port} for this client")
            return
        refusal = service.gate.refusal(request, client, service.site) if service.ready else None
        if refusal is not None:
            flow.response = error_response(flow.request, *refusal)
            return
        service.gate.tunnel_opened(client, request.fields)
        if service.ready:
            flow.metadata[PASSED] = connect.passed
            self._tunnels.asked(client, connect)

    def http_connect_error(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: the client gets no tunnel; the response says why."""
        service, connect, response = self._service, flow.metadata.get(CONNECT), flow.response
        if service is None or not service.ready or not isinstance(connect, ForwardedRequest) or response is None:
            return
        reason = "not-allowed"
        if response.status_code == 502:  # it was admitted, but there is no tunnel
            service.gate.closed(flow.client_conn.id)
            self._tunnels.closed(flow.client_conn)
            status, reason, message, advice = _failure_of(flow.server_conn)
            response = flow.response = error_response(flow.request, status, message, detail=reason, advice=advice)
        content = response.raw_content or b""
        service.recording.refused(connect, flow.client_conn, response.status_code, len(content), reason)

    def http_connect_upstream(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: a tunnel through the parent proxy."""
        if self._service is not None and self._service.ready:
            fields = self._service.gate.tunnel_on(flow.client_conn, fields_of(flow.request.headers), self._service.site)
            flow.request.headers.fields = pairs_of(fields)

    async def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        """mitmproxy's hook before it connects itself: refuse addresses that the client may not reach."""
        service, address = self._service, data.server.address
        if service is not None and not service.admission.reserve_connection():
            data.server.error = TOO_MANY
            return
        if service is None or address is None or not service.gate.is_barred(data.client, address):
            return
        try:
            addresses = await asyncio.get_running_loop().getaddrinfo(*address[:2], type=socket.SOCK_STREAM)
        except OSError:
            return  # mitmproxy will fail in the same way, and report it
        if any(is_local(resolved[0]) for *_, resolved in addresses if isinstance(resolved[0], str)):
            data.server.error = BARRED

    def server_connected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """mitmproxy's hook before anything is sent: check the address again, as the name may resolve to another now."""
        service, address, peer = self._service, data.server.address, data.server.peername
        if service is not None:
            service.lingering.opened(data.server, data.client)
        if service is None or not address or not peer or not is_local(peer[0]):
            return
        if service.gate.is_barred(data.client, address):
            transports.close(data.server, data.client)

    def tls_start_server(self, data: tls.TlsData) -> None:
        """mitmproxy's hook: verify the origin of an upgrade as the configuration says."""
        service, server, theirs = self._service, data.conn, ctx.master.addons.get("tlsconfig")
        if service is None or not isinstance(server, connection.Server) or not server.address or theirs is None:
            return
        theirs.tls_start_server(data)  # does nothing if it was called before
        if data.ssl_conn is not None:
            apply_trust(data.ssl_conn, service.config.rules.trust_of(server.address[0]))

    def tls_clienthello(self, data: tls.ClientHelloData) -> None:
        """mitmproxy's hook: tunnel a client to a host whose certificate from us it has refused twice."""
        service, client, address = self._service, data.context.client, data.context.server.address
        if service is None or not service.ready or not client.peername or not address:
            return
        program = fingerprint(data.client_hello.cipher_suites, data.client_hello.extensions)
        key = ClientKey(client.peername[0], service.gate.user_of(client, Fields()), program)
        if service.interception.is_tunnelled(client.id, key, address[0]):
            data.ignore_connection = True
            self._tunnels.tunnelled(client, REFUSED_CERTIFICATE)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """mitmproxy's hook: a client has not accepted the certificate from us."""
        if self._service is not None and isinstance(data.conn, connection.Client):
            self._tunnels.refused(data.conn, REFUSED_CERTIFICATE)
            self._service.interception.failed(data.conn.id, data.conn.error or "")

    def _admit(self, flow: mitmproxy.http.HTTPFlow, service: Service) -> bool:
        if service.gate.admitted(flow.client_conn, flow.request.headers.get("Proxy-Authorization")):
            return True
        message, how = "proxy credentials are required", ("Proxy-Authenticate", REALM)
        flow.response = error_response(flow.request, 407, message, how)
        return False

    # Requests that mitmproxy forwards itself.

    def requestheaders(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook for a request that the layer does not handle."""
        service = self._service
        if service is not None and self._has_stopped(service):
            flow.response = error_response(flow.request, 503, STOPPED, detail="stopping")
            return
        if service is None or not service.ready or ANSWERED_HERE in flow.metadata:
            return
        request = request_of(flow.request, has_body=False)
        forwarded = ForwardedRequest.of(flow, request, service.clock)
        refusal = service.gate.refusal(request, flow.client_conn, service.site) if self._admit(flow, service) else None
        if refusal is not None:
            flow.response = error_response(flow.request, *refusal)
        if flow.response is not None:
            sent_bytes = len(flow.response.raw_content or b"")
            service.recording.refused(forwarded, flow.client_conn, flow.response.status_code, sent_bytes)
            return
        upgrades.forward_request(flow, forwarded, service)

    def responseheaders(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: stream the response to the client, unless it cannot be forwarded."""
        if self._service is not None:
            upgrades.forward_head(flow, self._service)

    def response(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: the exchange is over, or the connection has changed to another protocol."""
        forwarded = upgrades.forwarded_of(flow)
        if forwarded is None or self._service is None or flow.response is None:
            return
        if flow.response.status_code == 101:
            self._tunnels.upgraded(flow.client_conn, forwarded, Bypass.UPGRADE)
        else:
            status = flow.response.status_code
            self._service.recording.forwarded(forwarded, flow.client_conn, status, Bypass.UPGRADE, complete=True)

    def error(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: the exchange failed."""
        forwarded = upgrades.forwarded_of(flow)
        if forwarded is not None and self._service is not None:
            forwarded.answered()
            if flow.websocket is None:  # else it is recorded when its client disconnects
                self._service.recording.forwarded(forwarded, flow.client_conn, 502, Bypass.UPGRADE, complete=False)


def _failure_of(server: connection.Server) -> TunnelFailure:
    host, port = (server.address or ("", 0))[:2]
    return tunnel_failure(server.error, host, port)
