"""The mitmproxy addon: its options, and the hooks through which mitmproxy asks.

Requests are answered by the layer (`stream`); what mitmproxy handles itself (upgrades and tunnels) passes these hooks,
which say who may use the proxy, and make the fields that are sent.
"""

import asyncio
import logging
import socket
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import mitmproxy.http
from mitmproxy import connection, ctx, exceptions, tls
from mitmproxy.addonmanager import Loader
from mitmproxy.proxy import layer, layers, server_hooks

from bestbefore.addon.engine.request import received
from bestbefore.addon.proxy.access.access import REALM, is_local
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.forwarded import Passing, is_understood, sent_fields
from bestbefore.addon.proxy.mitm.layer import install
from bestbefore.addon.proxy.mitm.stream import OURS
from bestbefore.addon.proxy.mitm.translate import fields_of, pairs_of, request_of
from bestbefore.addon.proxy.mitm.wait import AsyncCall
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.message import Fields, Head

logger = logging.getLogger(__name__)

OPTIONS = ("config", "store", "state", "admin")
STOPPED = "the proxy is stopping"
PASSING = "bestbefore"
"""The key of a flow's metadata under which its `Passing` is."""


class BestBefore:
    """Answers from the cache inside mitmproxy.

    Under our own master the service is given and already started. Under a stock mitmproxy the addon makes it from the
    options `bestbefore_*` when mitmproxy is running, and shows each exchange to the other addons as a flow.
    """

    name = "bestbefore"

    def __init__(
        self,
        service: Service | None = None,
        greet: Callable[[Path], None] = lambda _: None,
        companion: Callable[[Service], Companion] | None = None,
    ) -> None:
        """Make the addon of a master.

        `greet` is called with the path of the CA bundle once requests are answered. `companion`: of a service that is
        made here.
        """
        self._companion = companion
        self._service = service
        self._greet = greet
        self._stock = service is None
        self._starting: asyncio.Task[None] | None = None
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
        except ValueError as error:
            raise exceptions.OptionsError(str(error)) from None

    def running(self) -> None:
        """mitmproxy's hook: it listens now. Not async, since mitmproxy's reload of scripts could not wait for it."""
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
        except Exception as error:  # whatever it was, mitmproxy goes on as a plain proxy
            logger.error("bestbefore does not cache: %s", error)  # noqa: TRY400 - no traceback reaches a user

    def _listens(self, service: Service) -> None:
        server = next(iter(ctx.master.addons.get("proxyserver").servers))
        host, port = server.listen_addrs[0][:2]
        self._greet(service.listening(host, port, Path(ctx.options.confdir).expanduser()))
        if self._stock:
            logger.info("bestbefore caches; state: %s, metrics: %s", service.settings.state, service.admin_url or "off")

    async def done(self) -> None:
        """mitmproxy's hook: write what was learnt."""
        self._ended = True
        if self._stock and self._service is not None:
            if self._starting is not None:
                await self._starting
            await self._service.stop()

    def _has_stopped(self, service: Service) -> bool:
        """Whether requests are answered no more. mitmproxy must not forward them in our stead, as it still listens."""
        return not service.ready and (self._ended or not self._stock)

    # What the layer needs.

    async def bestbefore_wait(self, work: AsyncCall[object]) -> None:
        """Run what the layer waits for."""
        await work.run()

    def next_layer(self, next_layer: layer.NextLayer) -> None:
        """Let mitmproxy choose, then put our HTTP layer in place of its own."""
        mitmproxys = ctx.master.addons.get("nextlayer")
        if mitmproxys is not None:
            mitmproxys.next_layer(next_layer)
        service = self._service
        if service is None or not service.ready:
            return
        context = next_layer.context
        peer, address = context.client.peername, context.server.address
        if peer and address and (
            service.settings.is_passthrough(address[0])
            or service.state.refusals.tunnelled(peer[0], address[0], service.clock.monotonic())
        ):
            next_layer.layer = layers.TCPLayer(context, ignore=True)
            return
        install(next_layer, service.gateway)

    # Who may do what.

    def client_connected(self, client: connection.Client) -> None:
        """mitmproxy's hook: refuse clients that may not use the proxy."""
        if self._service is not None and self._has_stopped(self._service):
            client.error = STOPPED
        elif self._service is not None and client.peername and not self._service.gate.access.admits(client.peername[0]):
            client.error = f"{client.peername[0]} is not in allow_clients"
        elif self._service is not None and self._service.admission.refuses(client):
            client.error = "too many connections"
        elif self._service is not None:
            self._service.lingering.opened(client, client)

    def client_disconnected(self, client: connection.Client) -> None:
        """Forget a client that has disconnected."""
        if self._service is not None:
            self._service.left(client)

    def server_disconnected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """Forget a connection to an origin that has ended."""
        if self._service is not None:
            self._service.admission.closed()
            self._service.left(data.server)

    def server_connect_error(self, data: server_hooks.ServerConnectionHookData) -> None:  # noqa: ARG002
        """Forget a connection to an origin that failed, or was refused."""
        if self._service is not None:
            self._service.admission.closed()

    def http_connect(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: a client asks for a tunnel."""
        service, client = self._service, flow.client_conn
        if service is None or not client.peername:
            return
        if self._has_stopped(service):
            flow.response = _refusal(503, STOPPED)
            return
        if not self._admit(flow, service):
            return
        if not service.gate.access.tunnels(client.peername[0], flow.request.port):
            flow.response = _refusal(403, f"no tunnel to port {flow.request.port} for this client")
            return
        request = request_of(flow.request, has_body=False)
        refusal = service.gate.refusal(request, client, service.site) if service.ready else None
        if refusal is not None:
            flow.response = _refusal(*refusal)
            return
        service.gate.tunnel_opened(client, request.fields)

    def http_connect_upstream(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: a tunnel through the parent proxy."""
        if self._service is not None and self._service.ready:
            fields = self._service.gate.tunnel_on(flow.client_conn, fields_of(flow.request.headers), self._service.site)
            flow.request.headers.fields = pairs_of(fields)

    async def server_connect(self, data: server_hooks.ServerConnectionHookData) -> None:
        """mitmproxy's hook, before it connects itself: what the client may not reach is refused."""
        service, address = self._service, data.server.address
        if service is not None and not service.admission.opens():
            data.server.error = "too many connections to origins"
            return
        if service is None or address is None or not service.gate.is_barred(data.client, address):
            return
        try:
            found = await asyncio.get_running_loop().getaddrinfo(*address[:2], type=socket.SOCK_STREAM)
        except OSError:
            return  # mitmproxy will find that out too, and say so
        if any(is_local(where[0]) for *_, where in found if isinstance(where[0], str)):
            data.server.error = "this client reaches no address of this machine"

    def server_connected(self, data: server_hooks.ServerConnectionHookData) -> None:
        """mitmproxy's hook, before anything is sent: the name may have another address than it had a moment ago."""
        service, address, peer = self._service, data.server.address, data.server.peername
        if service is not None:
            service.lingering.opened(data.server, data.client)
        if service is None or not address or not peer or not is_local(peer[0]):
            return
        if service.gate.is_barred(data.client, address):
            transports.cut(data.server, data.client)

    def tls_failed_client(self, data: tls.TlsData) -> None:
        """mitmproxy's hook: a client that refuses our certificate twice is given a tunnel for an hour."""
        service, peer, address = self._service, data.conn.peername, data.context.server.address
        if service is None or not peer or not address:
            return
        if service.state.refusals.refused(peer[0], address[0], service.clock.monotonic()):
            service.metrics.tunnelled()
            logger.warning(
                "%s refuses our certificate for %s: tunnelled for this client for an hour, uncached",
                peer[0],
                address[0],
            )

    def _admit(self, flow: mitmproxy.http.HTTPFlow, service: Service) -> bool:
        if service.gate.admitted(flow.client_conn, flow.request.headers.get("Proxy-Authorization")):
            return True
        flow.response = _refusal(407, "proxy credentials are required", ("Proxy-Authenticate", REALM))
        return False

    # What mitmproxy forwards itself.

    def requestheaders(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook for a request that the layer left to it."""
        service = self._service
        if service is not None and self._has_stopped(service):
            flow.response = _refusal(503, STOPPED)
            return
        if service is None or not service.ready or OURS in flow.metadata:
            return
        request = request_of(flow.request, has_body=False)
        passing = Passing(request, service.clock.now(), service.clock.monotonic())
        refusal = service.gate.refusal(request, flow.client_conn, service.site) if self._admit(flow, service) else None
        if refusal is not None:
            flow.response = _refusal(*refusal)
        if flow.response is not None:
            service.refused(passing, flow.client_conn, flow.response.status_code)
            return
        flow.metadata[PASSING] = replace(passing, deadline=self._deadline(flow, service))
        flow.request.headers.fields = pairs_of(sent_fields(received(request), service.site))

    @staticmethod
    def _deadline(flow: mitmproxy.http.HTTPFlow, service: Service) -> asyncio.TimerHandle:
        """Give the origin as long to answer as on other ways, and close its connection then."""
        within_s = service.gateway.limits.read_s + service.gateway.limits.head_s
        return asyncio.get_running_loop().call_later(
            within_s, lambda: transports.cut(flow.server_conn, flow.client_conn)
        )

    def responseheaders(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: pass the response on as it comes, unless it is none to what was asked for."""
        passing, service, response = flow.metadata.get(PASSING), self._service, flow.response
        if not isinstance(passing, Passing) or service is None or response is None:
            return
        passing.answered()
        head = Head(response.status_code, fields_of(response.headers), response.reason)
        if not is_understood(passing.request, head) or response.http_version not in ("HTTP/1.0", "HTTP/1.1"):
            flow.kill()
            return
        response.http_version = "HTTP/1.1"  # ours, whatever the origin's is (RFC 9112 2.3)
        passed = service.passed(passing, head)
        response.reason, response.headers.fields = passed.reason, pairs_of(passed.fields)
        if response.status_code != 101:
            response.stream = True

    def response(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: the exchange is over."""
        passing = flow.metadata.get(PASSING)
        if isinstance(passing, Passing) and self._service is not None and flow.response is not None:
            self._service.passed_on(passing, flow.client_conn, flow.response.status_code, complete=True)

    def error(self, flow: mitmproxy.http.HTTPFlow) -> None:
        """mitmproxy's hook: the exchange broke off."""
        passing = flow.metadata.get(PASSING)
        if isinstance(passing, Passing) and self._service is not None:
            passing.answered()
            self._service.passed_on(passing, flow.client_conn, 502, complete=False)


def _refusal(status: int, message: str, *fields: tuple[str, str]) -> mitmproxy.http.Response:
    lines = Fields((("Content-Type", "text/plain; charset=utf-8"), ("X-Content-Type-Options", "nosniff"), *fields))
    return mitmproxy.http.Response.make(status, f"bestbefore: {message}\n", mitmproxy.http.Headers(pairs_of(lines)))
