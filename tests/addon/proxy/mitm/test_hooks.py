"""The hooks on a started service, with flows and connections that mitmproxy would show them."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from mitmproxy import ctx, exceptions
from mitmproxy.http import Headers, HTTPFlow
from mitmproxy.proxy import layers
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import NextLayer
from mitmproxy.test import tflow
from mitmproxy.tls import ClientHelloData

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.proxy.access.access import Access
from bestbefore.addon.proxy.mitm import transports
from bestbefore.addon.proxy.mitm.forwarded import PASSED, STARTED, ForwardedRequest
from bestbefore.addon.proxy.mitm.hooks import CONNECT, OPTIONS, STOPPED, BestBefore
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.stream.stream import ANSWERED_HERE
from bestbefore.addon.proxy.mitm.upgrades import FORWARDED
from bestbefore.addon.proxy.pages import pages
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.tunnels.failures import BARRED

pytestmark = pytest.mark.asyncio(loop_scope="module")

HERE, REMOTE, STRANGER = "127.0.0.1", "192.0.2.7", "198.51.100.7"
OWN_PORT = 3128
CONFIG = """[proxy]
admin = "off"
allow_clients = ["192.0.2.0/24"]
passthrough = ["bank.test"]
upstream = "http://127.0.0.1:3129"
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Service]:
    folder = tmp_path_factory.mktemp("hooks")
    (folder / "proxy.toml").write_text(CONFIG)
    made = Service(ConfigWatch(folder / "proxy.toml", {"state": str(folder / "state")}), RealClock())
    await made.start()
    made.gate.own_ports = frozenset({OWN_PORT})
    yield made
    await made.stop()


@pytest.fixture
def hooks(service: Service) -> BestBefore:
    return BestBefore(service)


@pytest.fixture
def open_clients(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """The handlers of mitmproxy's connections."""
    found = dict[str, Any]()
    addons = SimpleNamespace(get=lambda name: SimpleNamespace(connections=found) if name == "proxyserver" else None)
    monkeypatch.setattr(ctx, "master", SimpleNamespace(addons=addons), raising=False)
    return found


def client(address: str) -> Any:
    made = tflow.tclient_conn()
    made.peername = (address, 4711)
    return made


def flow_of(address: str, host: str = "example.org", port: int = 80, method: str = "GET", **lines: str) -> HTTPFlow:
    """The flow of a request from this address."""
    flow = tflow.tflow()
    flow.client_conn = client(address)
    fields = [(name.replace("_", "-").encode(), value.encode()) for name, value in lines.items()]
    flow.request.method, flow.request.host, flow.request.port = method, host, port
    flow.request.headers = Headers([(b"Host", f"{host}:{port}".encode()), *fields])
    flow.response = None
    return flow


def count(service: Service, sample: str) -> float:
    """The value of a sample; 0 while it is not shown."""
    lines = service.metrics.exposition("")[0].decode().splitlines()
    return next((float(line.rpartition(" ")[2]) for line in lines if line.startswith(f"bestbefore_{sample} ")), 0.0)


REFUSED = 'requests_total{outcome="refused",reason="not-allowed"}'
BYPASSED = 'requests_total{outcome="bypass",reason="upgrade"}'


# Clients.


@pytest.mark.parametrize(("address", "error"), [(HERE, None), (REMOTE, None), (STRANGER, "is not in allow_clients")])
async def test_clients_connect_as_the_configuration_allows(
    hooks: BestBefore, open_clients: dict[str, Any], address: str, error: str | None
) -> None:
    one = client(address)
    await hooks.client_connected(one)
    assert one.error is None if error is None else one.error == f"{address} {error}"


async def test_a_client_beyond_the_bound_is_refused_and_counted(
    hooks: BestBefore, service: Service, open_clients: dict[str, Any]
) -> None:
    watchdog = SimpleNamespace(last_activity=0.0, blocker=1)
    for number in range(service.admission.descriptors + 1):
        open_clients[str(number)] = SimpleNamespace(timeout_watchdog=watchdog, transports={}, client=None)
    before = count(service, 'refused_total{kind="connections"}')
    one = client(HERE)
    await hooks.client_connected(one)
    assert one.error == "too many connections"
    assert count(service, 'refused_total{kind="connections"}') == before + 1


async def test_once_stopped_nothing_is_let_through(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service, "ready", False)
    one, tunnel, request = client(HERE), flow_of(HERE, method="CONNECT", port=443), flow_of(HERE)
    await hooks.client_connected(one)
    hooks.http_connect(tunnel)
    hooks.requestheaders(request)
    assert one.error == STOPPED
    for flow in (tunnel, request):
        assert flow.response is not None
        assert (flow.response.status_code, flow.response.text) == (503, f"bestbefore: {STOPPED}; try again later\n")
    assert BestBefore(service)._has_stopped(service)
    stock = BestBefore()
    stock._service = service
    assert not stock._has_stopped(service), "it is about to start"
    await_end = stock.done
    stock._service = None
    await await_end()
    assert stock._has_stopped(service)


# Tunnels.


@pytest.mark.parametrize(
    ("address", "host", "port", "status"),
    [
        (HERE, "example.org", 22, None),
        (REMOTE, "example.org", 443, None),
        (REMOTE, "example.org", 8443, None),
        (REMOTE, "example.org", 22, 403),
        (REMOTE, "localhost", 443, 403),
        (HERE, "127.0.0.1", OWN_PORT, 403),
    ],
)
async def test_tunnels_lead_where_the_client_may_go(
    hooks: BestBefore, service: Service, address: str, host: str, port: int, status: int | None
) -> None:
    flow = flow_of(address, host, port, "CONNECT")
    hooks.http_connect(flow)
    assert (flow.response and flow.response.status_code) == status
    assert (flow.client_conn.id in service.gate._tunnels) is (status is None)
    hooks.client_disconnected(flow.client_conn)
    assert flow.client_conn.id not in service.gate._tunnels


async def test_credentials_are_required_of_the_tunnel_and_not_of_what_comes_through_it(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.gate, "access", Access(users={"ada": "pw"}))
    wrong, right = (flow_of(REMOTE, port=443, method="CONNECT") for _ in range(2))
    right.request.headers["Proxy-Authorization"] = "Basic YWRhOnB3"
    hooks.http_connect(wrong)
    hooks.http_connect(right)
    assert wrong.response is not None
    assert (wrong.response.status_code, wrong.response.headers["proxy-authenticate"]) == (
        407, 'Basic realm="bestbefore"',
    )
    assert right.response is None
    assert [flow.client_conn.id in service.gate._tunnels for flow in (wrong, right)] == [False, True]
    through, without = flow_of(REMOTE), flow_of(REMOTE)
    through.client_conn = right.client_conn
    hooks.requestheaders(through)
    hooks.requestheaders(without)
    through.metadata[FORWARDED].answered()
    assert through.response is None
    assert without.response is not None
    assert without.response.status_code == 407


@pytest.mark.parametrize(
    ("port", "error", "status", "reason"),
    [(OWN_PORT, None, 403, "not-allowed"), (443, BARRED, 403, "not-allowed"), (443, "x", 502, "origin-unreachable")],
)
async def test_a_tunnel_that_is_refused_is_recorded(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch, port: int, error: str | None, status: int,
    reason: str,
) -> None:  # fmt: skip
    recorded = list[Answered]()
    monkeypatch.setattr(service.recording, "add", recorded.append)
    flow = flow_of(HERE, "127.0.0.1", port, "CONNECT")
    hooks.http_connect(flow)
    if flow.response is None:  # as `stream` answers it when the connection has failed
        flow.server_conn.error, flow.response = error, tflow.tresp(status_code=502)
    hooks.http_connect_error(flow)
    assert flow.client_conn.id not in service.gate._tunnels, "later requests on the connection need credentials"
    hooks.client_disconnected(flow.client_conn)
    (one,) = recorded
    assert flow.response is not None
    assert (flow.response.status_code, one.status, one.reason) == (status, status, reason)
    assert (one.method, one.url, one.outcome) == ("CONNECT", f"127.0.0.1:{port}", Outcome.REFUSED)
    assert one.sent_bytes == len(flow.response.content or b"") > 0


async def test_a_refused_certificate_is_recorded_without_a_contact(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = list[Answered]()
    monkeypatch.setattr(service.recording, "add", recorded.append)
    flow = flow_of(HERE, "example.org", 443, "CONNECT")
    hooks.http_connect(flow)
    flow.metadata[PASSED].sent = 1390  # the handshake
    failed: Any = SimpleNamespace(conn=flow.client_conn)
    hooks.tls_failed_client(failed)
    hooks.client_disconnected(flow.client_conn)
    (one,) = recorded
    assert (one.reason, one.complete, one.contact) == ("refused-certificate", False, False)
    assert (one.sent_bytes, one.received_bytes) == (1390, 0)


async def test_a_tunnel_took_the_time_from_the_first_byte_that_the_layer_has_noted(
    hooks: BestBefore, service: Service
) -> None:
    flow = flow_of(HERE, "127.0.0.1", OWN_PORT, "CONNECT")
    flow.metadata[STARTED] = 5.0
    hooks.http_connect(flow)
    assert flow.metadata[CONNECT].started_s == 5.0


async def test_tunnels_that_are_open_at_the_end_are_recorded_as_broken_off(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = list[Answered]()
    monkeypatch.setattr(service.recording, "add", recorded.append)
    flow = flow_of(HERE, "bank.test", 443, "CONNECT")
    hooks.http_connect(flow)
    hooks._tunnels.tunnelled(flow.client_conn, "passthrough")
    await hooks.done()
    hooks.client_disconnected(flow.client_conn)
    assert [(one.url, one.reason, one.complete) for one in recorded] == [("bank.test:443", "passthrough", False)]


async def test_a_tunnel_through_the_parent_is_marked_with_via(hooks: BestBefore, service: Service) -> None:
    flow = flow_of(HERE, port=443, method="CONNECT", Via="1.1 before")
    hooks.http_connect(flow)
    upstream = flow_of(HERE, port=443, method="CONNECT")
    upstream.client_conn = flow.client_conn
    hooks.http_connect_upstream(upstream)
    assert ", ".join(upstream.request.headers.get_all("via")) == f"1.1 before, 1.1 {service.site.name}"
    hooks.client_disconnected(flow.client_conn)


async def test_what_a_client_refuses_twice_is_tunnelled_for_it(
    hooks: BestBefore, service: Service, context: Context, open_clients: dict[str, Any]
) -> None:
    context.client = client(HERE)
    context.server.address = ("pinned.test", 443)
    failed: Any = SimpleNamespace(conn=context.client, context=context)
    ignored = []
    for cipher_suites in ([1], [1], [2], [1]):
        hello: Any = SimpleNamespace(cipher_suites=cipher_suites, extensions=[])
        data = ClientHelloData(context, hello)
        hooks.tls_clienthello(data)
        ignored.append(data.ignore_connection)
        hooks.tls_failed_client(failed)
    assert ignored == [False, False, False, True]
    assert count(service, "tunnelled_hosts_total") == 1


@pytest.mark.parametrize(("host", "is_tunnelled"), [("bank.test", True), ("example.org", False)])
async def test_hosts_to_pass_through_are_tunnelled_and_others_get_the_layer_that_caches(
    hooks: BestBefore, context: Context, open_clients: dict[str, Any], host: str, is_tunnelled: bool
) -> None:
    context.server.address = (host, 443)
    chosen = NextLayer(context)
    chosen.layer = layers.HttpLayer(context, layers.http.HTTPMode.regular)
    hooks.next_layer(chosen)
    assert isinstance(chosen.layer, layers.TCPLayer if is_tunnelled else CachingHttpLayer)


# Connections that mitmproxy opens.


def connecting(address: str, *target: str | int) -> Any:
    server = tflow.tserver_conn()
    server.address, server.error = target, None
    return SimpleNamespace(client=client(address), server=server)


@pytest.mark.parametrize(
    ("address", "target", "is_refused"),
    [
        (HERE, ("127.0.0.1", 80), False),
        (REMOTE, ("127.0.0.1", 80), True),
        (REMOTE, ("localhost", 80), True),
        (REMOTE, ("::1", 80, 0, 0), True),
        (REMOTE, ("127.0.0.1", 3129), False),  # the parent
        (REMOTE, ("203.0.113.1", 80), False),
        (REMOTE, ("name.invalid", 80), False),  # mitmproxy will say so
    ],
)
async def test_a_remote_client_gets_no_connection_to_this_machine(
    hooks: BestBefore,
    service: Service,
    monkeypatch: pytest.MonkeyPatch,
    address: str,
    target: tuple[str | int, ...],
    is_refused: bool,
) -> None:
    async def getaddrinfo(host: str, port: int, **_: Any) -> list[Any]:
        if host == "name.invalid":
            raise OSError
        return [(0, 0, 0, "", ("127.0.0.1" if host == "localhost" else host, port))]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", getaddrinfo)
    before, data = service.admission.tunnels, connecting(address, *target)
    await hooks.server_connect(data)
    assert data.server.error == ("this client reaches no address of this machine" if is_refused else None)
    assert service.admission.tunnels == before + 1
    hooks.server_connect_error(data)
    assert service.admission.tunnels == before


async def test_connections_beyond_the_bound_are_refused_and_counted_until_others_end(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(service.admission, "tunnels", service.admission.descriptors)
    before = count(service, 'refused_total{kind="origin-connections"}')
    data = connecting(HERE, "203.0.113.1", 80)
    await hooks.server_connect(data)
    assert data.server.error == "too many connections to origins"
    assert count(service, 'refused_total{kind="origin-connections"}') == before + 1
    hooks.server_connect_error(data)
    hooks.server_disconnected(data)
    again = connecting(HERE, "203.0.113.1", 80)
    await hooks.server_connect(again)
    assert again.server.error is None


@pytest.mark.parametrize(
    ("address", "peer", "is_closed"),
    [(REMOTE, "127.0.0.1", True), (REMOTE, "203.0.113.1", False), (HERE, "127.0.0.1", False)],
)
async def test_a_name_that_led_elsewhere_is_closed_before_anything_is_sent(
    hooks: BestBefore, open_clients: dict[str, Any], monkeypatch: pytest.MonkeyPatch,
    address: str, peer: str, is_closed: bool,
) -> None:  # fmt: skip
    closed: list[Any] = []
    monkeypatch.setattr(transports, "close", lambda server, _client: closed.append(server))
    data = connecting(address, "rebound.test", 80)
    data.server.peername = (peer, 80)
    hooks.server_connected(data)
    assert closed == ([data.server] if is_closed else [])


# Requests that mitmproxy forwards.


@pytest.mark.parametrize(
    ("flow", "status"),
    [
        (flow_of(HERE, "127.0.0.1", OWN_PORT), 403),
        (flow_of(HERE, pages.HOST), 403),
        (flow_of(REMOTE, "localhost"), 403),
        (flow_of(HERE, method="PURGE"), 400),
        (flow_of(HERE, Content_Length="52"), 400),
    ],
    ids=["own", "pages", "local", "purge", "length without content"],
)
async def test_a_request_that_is_refused_is_answered_and_recorded(
    hooks: BestBefore, service: Service, flow: HTTPFlow, status: int
) -> None:
    before = count(service, REFUSED)
    hooks.requestheaders(flow)
    assert flow.response is not None
    assert (flow.response.status_code, flow.response.headers["x-content-type-options"]) == (status, "nosniff")
    assert FORWARDED not in flow.metadata
    assert count(service, REFUSED) == before + 1


async def test_what_the_layer_answers_is_left_to_it(hooks: BestBefore) -> None:
    flow = flow_of(HERE, pages.HOST)
    flow.metadata[ANSWERED_HERE] = True
    hooks.requestheaders(flow)
    assert (flow.response, FORWARDED in flow.metadata) == (None, False)


def upgrade(hooks: BestBefore) -> tuple[HTTPFlow, ForwardedRequest]:
    """An upgrade that was forwarded."""
    flow = flow_of(HERE, Connection="Upgrade", Upgrade="websocket")
    hooks.requestheaders(flow)
    forwarded = flow.metadata[FORWARDED]
    assert isinstance(forwarded, ForwardedRequest)
    return flow, forwarded


async def test_an_upgrade_is_forwarded_with_the_fields_of_the_proxy_and_a_deadline(
    hooks: BestBefore, service: Service, monkeypatch: pytest.MonkeyPatch
) -> None:
    closed: list[Any] = []
    monkeypatch.setattr(transports, "close", lambda *connections: closed.append(connections))
    flow, forwarded = upgrade(hooks)
    assert flow.response is None
    assert service.site.name in flow.request.headers["via"]
    assert (flow.request.headers["host"], flow.request.headers["upgrade"]) == ("example.org", "websocket")
    assert forwarded.deadline is not None
    limits = service.gateway.limits
    left_s = forwarded.deadline.when() - asyncio.get_running_loop().time()
    assert left_s == pytest.approx(limits.read_s + limits.head_s, abs=5.0)
    forwarded.deadline._run()  # type: ignore[attr-defined]
    forwarded.deadline.cancel()
    assert closed == [(flow.server_conn, flow.client_conn)]


@pytest.mark.parametrize(
    ("status", "version", "lines", "is_forwarded", "streams"),
    [
        (101, "HTTP/1.1", {"Connection": "Upgrade", "Upgrade": "websocket"}, True, False),
        (200, "HTTP/1.0", {}, True, True),
        (200, "HTTP/2.0", {}, False, False),
        (101, "HTTP/1.1", {"Connection": "Upgrade", "Upgrade": "other"}, False, False),
    ],
)
async def test_the_response_is_forwarded_if_it_can_be(
    hooks: BestBefore, status: int, version: str, lines: dict[str, str], is_forwarded: bool, streams: bool
) -> None:
    flow, forwarded = upgrade(hooks)
    flow.response = tflow.tresp(status_code=status, http_version=version.encode(), reason=b"as\x01 it is")
    flow.response.headers = Headers(**lines)
    hooks.responseheaders(flow)
    assert forwarded.deadline is not None
    assert forwarded.deadline.cancelled()
    assert (flow.error is None) is is_forwarded
    if is_forwarded:
        assert (flow.response.http_version, flow.response.reason) == ("HTTP/1.1", "as it is")
        assert flow.response.stream is streams
        assert "upgrade" in flow.response.headers["cache-status"]


async def test_the_end_of_an_exchange_is_recorded_complete_or_not(hooks: BestBefore, service: Service) -> None:
    def counts() -> tuple[float, float]:
        return count(service, BYPASSED), count(service, "truncated_responses_total")

    bypassed, truncated = counts()
    flow, forwarded = upgrade(hooks)
    flow.response = tflow.tresp()
    hooks.response(flow)
    assert counts() == (bypassed + 1, truncated)
    failed, forwarded = upgrade(hooks)
    hooks.error(failed)
    assert forwarded.deadline is not None
    assert forwarded.deadline.cancelled()
    assert counts() == (bypassed + 2, truncated + 1)
    flow.metadata[FORWARDED].answered()
    for hook in (hooks.response, hooks.error):
        hook(tflow.tflow(resp=True))  # of another addon
    assert counts() == (bypassed + 2, truncated + 1)


# Without a service, and options.


async def test_before_there_is_a_service_mitmproxy_goes_on_as_it_would(open_clients: dict[str, Any]) -> None:
    bare, one, flow = BestBefore(), client(STRANGER), flow_of(STRANGER)
    data = connecting(STRANGER, "127.0.0.1", 80)
    bare.running()
    await bare.client_connected(one)
    bare.http_connect(flow)
    bare.requestheaders(flow)
    await bare.server_connect(data)
    bare.server_connected(data)
    bare.server_disconnected(data)
    bare.server_connect_error(data)
    bare.client_disconnected(one)
    await bare.done()
    assert (one.error, flow.response, data.server.error) == (None, None, None)


async def test_options_are_read_once_and_wrong_ones_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    addon = BestBefore()
    given = dict.fromkeys((f"bestbefore_{name}" for name in OPTIONS), "")

    def configure(**options: str) -> None:
        monkeypatch.setattr(ctx, "options", SimpleNamespace(**given | options), raising=False)
        addon.configure({*options})

    configure(listen_port="8080")
    assert addon._service is None
    with pytest.raises(exceptions.OptionsError, match="admin"):
        configure(bestbefore_admin="nonsense")
    configure(bestbefore_state=str(tmp_path), bestbefore_admin="off")
    assert addon._service is not None
    assert addon._service.settings.state == tmp_path
    addon._starting = asyncio.get_running_loop().create_task(asyncio.sleep(0))
    with pytest.raises(exceptions.OptionsError, match="need a restart"):
        configure(bestbefore_admin="127.0.0.1:0")
    await addon._starting
    own = BestBefore(addon._service)
    monkeypatch.setattr(own, "_starting", addon._starting)
    own.configure({"bestbefore_admin"})  # the options of its own master are another's affair
