"""Mutated requests through a connection's layer with answers at the bytes and without: the same is sent to the client.

Whatever is answered at the bytes must be answered as mitmproxy's way would answer it, after the same request.
"""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import Any
from zlib import crc32

import frames
import mutations_h2
import pytest
from hpack import Decoder, Encoder
from mitmproxy.connection import Client, ConnectionState
from mitmproxy.options import Options
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.proxy.mode_specs import ProxyMode
from mutations_h1 import MUTATIONS
from requests_h1 import Place, script
from requests_h2 import streams

from bestbefore.addon.engine.request import misframed, received
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway

SEED = 20_261_123
FAST, LONG = range(1, 61), range(61, 501)
"""Cases."""
PLACES = {
    "regular": Place("127.0.0.1:8080", "127.0.0.1:8081", absolute=True),
    "tunnel": Place("origin.test", "other.test", absolute=False),
    "reverse": Place("proxy.test:3128", "other.test", absolute=False),
}


class Echo(FixedGateway):
    """Answers each request with what it was."""

    def __init__(self, *, hits: bool) -> None:
        self.hits = hits
        self.at_the_bytes = 0
        self.ends = list[tuple[int, bool]]()

    def refusal(self, request: Request, *_: Any) -> Answer | None:
        why = misframed(request)
        return Answer(Head(400, Fields([("Content-Length", "0"), ("Detail", why)]), "Bad Request")) if why else None

    def hit(self, request: Request, *_: Any) -> Answer | None:
        assert not misframed(request)
        assert received(request) is request
        if not self.hits or crc32(request.target.path.encode()) % 4 == 0:
            return None
        self.at_the_bytes += 1
        return self.decide(request)

    def decide(self, request: Request, *_: Any) -> Answer:
        fields = sorted((name.lower(), value) for name, value in request.fields.raw)
        seen = repr((request.method, request.target, fields, request.has_body, request.version))
        body = b"" if request.method == "HEAD" else seen.encode()
        status = (200, 200, 404, 304, 204)[crc32(body) % 5]
        lines = [("Seen", seen)] + ([("Content-Length", str(len(body)))] if crc32(body) % 2 else [])
        body = body if status in (200, 404) else b""
        return Answer(Head(status, Fields(lines), "Reason"), body, sent=lambda *end: self.ends.append(end))


def client_context(way: str) -> Context:
    mode = ProxyMode.parse("reverse:http://origin.test" if way == "reverse" else "regular")
    options = Options()
    options.add_option("validate_inbound_headers", bool, True, "")
    client = Client(
        peername=("127.0.0.1", 1), sockname=("127.0.0.1", 2), proxy_mode=mode, state=ConnectionState.OPEN
    )
    context = Context(client, options)
    if way != "regular":
        context.server.address = ("origin.test", 443 if way == "tunnel" else 80)
        context.server.tls = client.tls = way == "tunnel"
    return context


async def sent(way: str, gateway: Echo, writes: Sequence[bytes]) -> tuple[bytes, bool]:
    """What the client gets, and whether its connection is closed."""
    mode = HTTPMode.regular if way == "regular" else HTTPMode.transparent
    layer = CachingHttpLayer(client_context("tunnel" if way == "h2" else way), mode, gateway)
    if way == "h2":
        layer.context.client.alpn = b"h2"
    client = layer.context.client
    got, closed = b"", False
    waiting: list[events.Event] = [events.Start(), *(events.DataReceived(client, data) for data in writes)]
    while waiting:
        for command in layer.handle_event(waiting.pop(0)):
            if isinstance(command, commands.SendData) and not closed:
                got += command.data
            elif isinstance(command, commands.CloseConnection):
                closed = closed or not getattr(command, "half_close", False)
            elif isinstance(command, BestbeforeWait):
                await command.work.run()
                waiting.insert(0, events.HookCompleted(command, None))
    if layer._head_timer is not None:
        layer._head_timer.cancel()
    return got, closed


async def compare(way: str, cases: range) -> None:
    """Send each case both ways, and compare what the client gets and what is recorded."""
    counted = Counter[str]()
    for case in cases:
        if way == "h2":
            made_streams, _ = streams(SEED, case, PLACES["tunnel"], mutations_h2.MUTATIONS)
            encoder = Encoder()
            heads = [stream.wire(2 * number + 1, encoder) for number, stream in enumerate(made_streams)]
            await compare_once(way, case, [frames.opening(), *(heads if case % 2 else [b"".join(heads)])], counted)
            continue
        made = script(SEED, case, PLACES[way], MUTATIONS)
        writes = made.writes if case % 2 else plain(made.writes)
        await compare_once(way, case, writes, counted)
    assert counted["at the bytes"] > counted["all"] / 8, "what is compared is there"


async def compare_once(way: str, case: int, writes: Sequence[bytes], counted: Counter[str]) -> None:
    ours, theirs = Echo(hits=True), Echo(hits=False)
    (got, closed), (expected, expected_closed) = await sent(way, ours, writes), await sent(way, theirs, writes)
    if way == "h2":
        assert exchanges_in(got) == exchanges_in(expected), (case, writes)
        assert closed == expected_closed
        ours.ends.sort()
        theirs.ends.sort()
    else:
        assert (got, closed) == (expected, expected_closed), (case, writes)
    assert ours.ends == theirs.ends, (case, writes)
    counted["at the bytes"] += ours.at_the_bytes
    counted["all"] += len(ours.ends)


def exchanges_in(received: bytes) -> dict[int, list[Any]]:
    """The fields, content and ends of each stream, however its frames were cut, and what concerns the connection."""
    found = defaultdict[int, list[Any]](lambda: [[], b"", []])
    decoder = Decoder()
    for kind, flags, stream, payload in frames.frames_in(bytearray(received)):
        if kind == frames.HEADERS:
            assert flags & frames.END_HEADERS
            found[stream][0].append([(bytes(n), bytes(v)) for n, v in decoder.decode(payload, raw=True)])
        elif kind == frames.DATA:
            found[stream][1] += payload
        else:
            found[stream][2].append((kind, payload if kind != frames.GOAWAY else payload[:8]))
        if kind in (frames.HEADERS, frames.DATA) and flags & frames.END_STREAM:
            found[stream][2].append("end")
    return dict(found)


@pytest.mark.parametrize("way", [*PLACES, "h2"])
def test_mutated_requests_are_answered_alike_both_ways(way: str) -> None:
    asyncio.run(compare(way, FAST[:20] if way == "h2" else FAST))


@pytest.mark.slow
@pytest.mark.parametrize("way", [*PLACES, "h2"])
def test_so_it_is_with_many_more(way: str) -> None:
    asyncio.run(compare(way, LONG))


def plain(writes: Sequence[bytes]) -> Sequence[bytes]:
    """The same without pieces that end within a head, as far as that is so."""
    whole = b"".join(writes)
    return random.Random(whole).choice(((whole,), [part + b"\r\n\r\n" for part in whole.split(b"\r\n\r\n") if part]))
