"""Schedule, runner, fetches and politeness together, with a real origin that has had enough."""

import asyncio
from itertools import pairwise
from pathlib import Path

import pytest

from bestbefore.addon.clock import FastClock
from bestbefore.addon.config.watch import ConfigWatch
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.prefetcher.prefetcher import Prefetcher
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head

START_S = 1_706_227_200.0
FACTOR = 20.0
PATIENCE_S = 60.0
RETRY_AFTER_S = 60
CONFIG = '[proxy]\nadmin = "off"\n[prefetch]\nenabled = true\nrobots = false\nper_host_interval = "20s"\n'


@pytest.mark.parametrize("as_date", [False, True])
async def test_a_site_that_asks_for_rest_gets_it_for_all_its_hosts_and_pages(tmp_path: Path, as_date: bool) -> None:
    (tmp_path / "proxy.toml").write_text(CONFIG)
    clock = FastClock(START_S, FACTOR)
    service = Service(
        ConfigWatch(tmp_path / "proxy.toml", {"state": str(tmp_path / "state")}), clock, companion=Prefetcher
    )
    asked_s: list[float] = []
    enough = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        asked_s.append(clock.now())
        if len(asked_s) == 2:
            until = format_http_date(clock.now() + RETRY_AFTER_S + 1.0) if as_date else str(RETRY_AFTER_S)
            status, field = "429 Too Many Requests", f"Retry-After: {until}"
        else:
            status, field = "304 Not Modified", 'ETag: "a"'
        writer.write(f"HTTP/1.1 {status}\r\n{field}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode())
        await writer.drain()
        writer.close()
        if len(asked_s) == 4:
            enough.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    await service.start()
    now_s = clock.now()
    urls = [f"http://127.0.0.1:{port}/{n}" for n in range(4)]
    for url in urls:
        head = Head(200, Fields([("Date", format_http_date(now_s)), ("ETag", '"a"')]))
        copy = Copy(url, head, BodyRef("d", 1), now_s, now_s, now_s, now_s, range="loopback", local=True)
        service.store.put(copy, b"x")
        for etag in ('"b"', '"a"'):
            await service.store.learn(Observation(url, clock.now() - 90_000.0, "", Fingerprint(etag=etag)))
        for _ in range(2):
            service.store.planning.want(url, "loopback")
    try:
        async with asyncio.timeout(PATIENCE_S):
            await enough.wait()
    finally:
        await service.stop()
        server.close()
        await server.wait_closed()
    gaps_s = [later - sooner for sooner, later in pairwise(asked_s)]
    # Three quarters of a second on the way to the origin are fifteen here.
    assert gaps_s[0] >= 20.0 - 15.0
    assert gaps_s[1] >= RETRY_AFTER_S - 15.0
    assert gaps_s[2] >= 20.0 - 15.0
