import asyncio
import doctest
import json
import logging
from collections.abc import AsyncIterator, Mapping

import pytest
from prometheus_client.parser import text_string_to_metric_families

from bestbefore.addon.admin import server as server_module
from bestbefore.addon.admin.metrics import Metrics
from bestbefore.addon.admin.server import AdminAddressError, AdminServer, is_host_allowed


class Status:
    """Of a store that is well."""

    down = False
    conditions: frozenset[str] = frozenset()
    pending_observations = pending_copies = pending_copies_bytes = memory_cache_bytes = 0
    dropped_observations = dropped_copies = 0
    store_bytes: int | None = 0
    write_lag_s = 0.0
    write_errors: Mapping[str, int] = {}
    corrupt_entries = write_errors


def metrics() -> Metrics:
    return Metrics(Status)


async def start(port: int = 0, host: str = "127.0.0.1", *, next_free: bool = False) -> AdminServer:
    return await AdminServer.start(host, port, metrics(), lambda: {"store": "down"}, next_free=next_free)


@pytest.fixture
async def server() -> AsyncIterator[AdminServer]:
    server = await start()
    yield server
    await server.close()


async def exchange(server: AdminServer, request: bytes) -> tuple[int, dict[str, str], bytes]:
    """Status, fields and content of the answer to these bytes, over a connection of their own."""
    reader, writer = await asyncio.open_connection(server.host, server.port)
    try:
        writer.write(request)
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        fields = dict(line.lower().split(": ", 1) for line in head[1:] if line)
        return int(head[0].split()[1]), fields, await reader.readexactly(int(fields["content-length"]))
    finally:
        writer.close()
        await writer.wait_closed()


async def get(server: AdminServer, path: str, host: str = "localhost", method: str = "GET") -> int:
    return (await exchange(server, f"{method} {path} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()))[0]


async def test_metrics_are_what_prometheus_reads(server: AdminServer) -> None:
    status, fields, content = await exchange(server, b"GET /metrics HTTP/1.1\r\nHost: 127.0.0.1:8081\r\n\r\n")
    assert (status, fields["content-type"].split(";")[0], fields["cache-control"]) == (200, "text/plain", "no-store")
    families = {family.name for family in text_string_to_metric_families(content.decode())}
    assert {"bestbefore_contacts", "bestbefore_store_down"} <= families


async def test_health_is_json_whether_the_store_is_up_or_down(server: AdminServer) -> None:
    status, fields, content = await exchange(server, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert (status, fields["content-type"].split(";")[0]) == (200, "application/json")
    assert json.loads(content) == {"status": "ok", "store": "down"}


@pytest.mark.parametrize("path", ["/", "/metrics/", "/healthz/x", "/../etc/passwd", "/METRICS", "//metrics"])
async def test_any_other_path_is_404(server: AdminServer, path: str) -> None:
    assert await get(server, path) == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
async def test_any_other_method_is_405(server: AdminServer, method: str) -> None:
    assert await get(server, "/metrics", method=method) == 405


@pytest.mark.parametrize("path", ["/metrics", "/nothing"])
async def test_a_page_whose_name_was_made_to_resolve_to_us_reads_nothing(server: AdminServer, path: str) -> None:
    assert await get(server, path, host="rebound.example") == 403


async def test_a_request_without_host_reads_nothing(server: AdminServer) -> None:
    assert (await exchange(server, b"GET /metrics HTTP/1.0\r\n\r\n"))[0] == 403


@pytest.mark.parametrize(
    "value",
    ["127.0.0.1", "127.0.0.1:80", "[::1]", "[::1]:80", "192.0.2.7:1", "localhost", "LocalHost.:80", "proxy.lan:80"],
)
def test_addresses_localhost_and_the_configured_name_are_allowed(value: str) -> None:
    assert is_host_allowed([value], "Proxy.LAN")


@pytest.mark.parametrize(
    "values",
    [
        [], [""], ["example.org"], ["localhost.example.org"], ["127.0.0.1.example.org"], ["127.0.0.1", "127.0.0.1"],
        ["user@127.0.0.1"], ["127.0.0.1, example.org"], ["2130706433"],
    ],
)
def test_any_other_host_is_not(values: list[str]) -> None:
    assert not is_host_allowed(values, "proxy.lan")


@pytest.mark.parametrize(
    "request_bytes", [b"\x16\x03\x01\x02\x00\r\n\r\n", b"GET /a\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"A\r\n\r\n"]
)
async def test_a_malformed_request_is_400_and_a_line_in_the_log_without_traceback(
    server: AdminServer, request_bytes: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    assert (await exchange(server, request_bytes))[0] == 400
    assert "Traceback" not in caplog.text
    assert await get(server, "/healthz") == 200


async def test_a_handler_that_fails_is_500_and_a_line_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    def failing() -> dict[str, object]:
        raise RuntimeError("broken")

    server = await AdminServer.start("127.0.0.1", 0, metrics(), failing, next_free=False)
    with caplog.at_level(logging.ERROR):
        assert await get(server, "/healthz") == 500
    await server.close()
    assert "RuntimeError" in caplog.text
    assert "Traceback" not in caplog.text


async def test_a_taken_port_is_an_error_of_one_line_where_it_was_asked_for(server: AdminServer) -> None:
    with pytest.raises(AdminAddressError) as error:
        await start(server.port)
    assert str(error.value) == f"cannot listen on the admin address 127.0.0.1:{server.port}: the port is in use"


def test_the_examples_hold() -> None:
    assert doctest.testmod(server_module).failed == 0


async def test_a_taken_port_is_passed_over_where_any_will_do(server: AdminServer) -> None:
    second = await start(server.port, next_free=True)
    try:
        assert second.port > server.port
        assert second.url == f"http://127.0.0.1:{second.port}"
        assert await get(second, "/healthz") == 200
    finally:
        await second.close()


async def test_an_address_that_is_not_ours_is_an_error_of_one_line() -> None:
    with pytest.raises(AdminAddressError, match=r"^cannot listen on the admin address 192\.0\.2\.1:8081: [^\n]+$"):
        await start(8081, "192.0.2.1", next_free=True)


async def test_closing_does_not_wait_for_idle_connections() -> None:
    server = await start()
    reader, writer = await asyncio.open_connection(server.host, server.port)
    writer.write(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    await reader.readuntil(b"}")
    async with asyncio.timeout(30):  # else a minute is waited for
        await server.close()
        assert await reader.read() == b""
    writer.close()
    await writer.wait_closed()
