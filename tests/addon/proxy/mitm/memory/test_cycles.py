"""What is left of a connection when it has ended, if Python's collector does not run."""

import asyncio
import gc
import warnings
import weakref
from collections.abc import AsyncIterator, Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import pytest_asyncio
from mitmproxy import version

from bestbefore.addon.clock import RealClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.proxy.mitm.memory.cycles import release_connection
from bestbefore.addon.proxy.service import Service
from tests.addon.store.waiting import until

with warnings.catch_warnings():  # mitmproxy's own use of pyparsing
    warnings.simplefilter("ignore", DeprecationWarning)
    from bestbefore.addon.proxy.mitm.master import make_master

pytestmark = pytest.mark.asyncio(loop_scope="module")
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nCache-Control: max-age=60\r\n\r\nabcd"


class Proxy:
    """A proxy that listens, and an origin behind it."""

    def __init__(self, master: Any, origin: str) -> None:
        self.handlers = master.addons.get("proxyserver").connections
        (server,) = master.addons.get("proxyserver").servers
        self.address = server.listen_addrs[0][:2]
        self.origin = origin

    async def ask(self, *requests: str) -> "weakref.ref[Any]":
        """Ask on one connection, one request after the other, and close it; return mitmproxy's handler of it."""
        reader, writer = await asyncio.open_connection(*self.address)
        await until(lambda: self.handlers)
        (handler,) = self.handlers.values()
        for request in requests:
            writer.write(request.replace("ORIGIN", self.origin).encode())
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().split(b"content-length:")[1].split()[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()
        await until(lambda: not self.handlers)
        return weakref.ref(handler)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def proxy(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Proxy]:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while head := await reader.readuntil(b"\r\n\r\n"):
            await reader.readexactly(3 if head.startswith(b"POST") else 0)
            writer.write(RESPONSE)

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as origin:
        folder = tmp_path_factory.mktemp("cycles")
        (folder / "proxy.toml").write_text('[proxy]\nadmin = "off"\nlisten = "127.0.0.1:0"\n')
        service = Service(ConfigWatch(folder / "proxy.toml", {"state": str(folder)}), RealClock())
        await service.start()
        listens = asyncio.Event()
        master = make_master(service, lambda _: listens.set())
        running = asyncio.create_task(master.run())
        await listens.wait()
        yield Proxy(master, f"127.0.0.1:{origin.sockets[0].getsockname()[1]}")
        master.shutdown()
        await running
        await asyncio.gather(*(server.stop() for server in master.addons.get("proxyserver").servers))
        await service.stop()


@pytest.fixture
def collector_off() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


GET = "GET http://ORIGIN/{} HTTP/1.1\r\nHost: ORIGIN\r\n\r\n"


@pytest.mark.usefixtures("collector_off")
@pytest.mark.parametrize(
    "requests",
    [
        (),
        (GET.format("a"), GET.format("a"), GET.format("b")),
        ("GET http://ORIGIN/te HTTP/1.1\r\nHost: ORIGIN\r\nTE: trailers\r\n\r\n",),
    ],
    ids=["no request", "misses and a hit", "a request that is not simple"],
)
async def test_a_connection_that_has_ended_is_freed_at_once(proxy: Proxy, requests: tuple[str, ...]) -> None:
    handler = await proxy.ask(*requests)
    await until(lambda: handler() is None)


@pytest.mark.parametrize(
    ("paused", "transports", "mitmproxy"),
    [(True, {}, version.VERSION), (False, {"origin": 1}, version.VERSION), (False, {}, "99.0.0")],
    ids=["a layer waits", "an origin is connected", "an unknown mitmproxy"],
)
async def test_a_connection_on_which_something_is_in_progress_is_left_alone(
    monkeypatch: pytest.MonkeyPatch, paused: bool, transports: dict[str, int], mitmproxy: str
) -> None:
    monkeypatch.setattr(version, "VERSION", mitmproxy)
    layer = SimpleNamespace(_paused=object() if paused else None, context=SimpleNamespace(layers=list[Any]()))
    layer.context.layers = [layer]
    watchdog = SimpleNamespace(callback=print)
    release_connection(SimpleNamespace(layer=layer, transports=transports, timeout_watchdog=watchdog))
    assert layer.context.layers == [layer]
    assert watchdog.callback is print
