"""What is answered at the bytes of one connection, with a gateway that has some paths in memory."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
from mitmproxy import version
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.proxy.mitm.wire.hits import AT_ONCE_BYTES, WireHits
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway


class Memory(FixedGateway):
    """Has what begins with `/hit`, with a body of a given size."""

    def __init__(self, size: int = 1) -> None:
        self.size = size
        self.events = list[str]()

    def hit(self, request: Request, *_: Any) -> Answer | None:
        return self.decide(request) if request.target.path.startswith("/hit") else None

    def decide(self, request: Request, *_: Any) -> Answer:
        path = request.target.path
        self.events.append(f"decided {path}")
        head = Head(200, Fields([("Content-Length", str(self.size)), ("Path", path)]))
        return Answer(head, bytes(self.size), sent=lambda size, _: self.events.append(f"finished {path} {size}"))


def ask(*paths: str, close: bool = False) -> bytes:
    last = b"Connection: close\r\n" if close else b""
    return b"".join(b"GET http://a%b HTTP/1.1\r\nHost: a\r\n%b\r\n" % (path.encode(), last) for path in paths)


def received(context: Context, gateway: Memory, *pieces: bytes) -> Sequence[commands.Command]:
    """The commands for data, with their place among the gateway's events."""
    layer = CachingHttpLayer(context, HTTPMode.regular, gateway)
    found = list(layer.handle_event(events.Start()))
    coming = [events.DataReceived(layer.context.client, data) for data in pieces]
    while coming:
        for command in layer.handle_event(coming.pop(0)):
            if isinstance(command, BestbeforeWait):  # for the client to read, which it has
                with suppress(StopIteration):
                    command.work.run().send(None)
                coming.insert(0, events.HookCompleted(command))
            else:
                found.append(command)
                gateway.events.append(type(command).__name__)
    return found


def test_several_hits_are_one_write_and_are_recorded_when_they_are_sent(context: Context) -> None:
    gateway = Memory()
    (written,) = received(context, gateway, ask("/hit1", "/hit2"))
    assert isinstance(written, commands.SendData)
    assert written.data.count(b"HTTP/1.1 200 ") == 2
    assert gateway.events == [
        *("decided /hit1", "decided /hit2", "SendData", "finished /hit1 1", "finished /hit2 1"),
    ]


def test_what_is_no_hit_takes_mitmproxys_way_after_those_before_it(context: Context) -> None:
    gateway = Memory()
    received(context, gateway, ask("/hit1", "/other", "/hit2"))
    assert [event for event in gateway.events if event.startswith("decided")] == [
        *("decided /hit1", "decided /other", "decided /hit2"),
    ]
    assert gateway.events[:3] == ["decided /hit1", "SendData", "finished /hit1 1"]


def test_what_mitmproxy_reads_is_no_longer_taken_for_unanswered(context: Context) -> None:
    hits = WireHits(Memory(), context, HTTPMode.regular)
    assert hits.answer(ask("/other")) is None
    assert hits.unanswered is not None
    hits.forget()
    assert hits.unanswered is None


async def test_a_request_in_pieces_is_answered_once(context: Context) -> None:
    gateway, whole = Memory(), ask("/hit1", "/hit2")
    received(context, gateway, whole[:-5], whole[-5:] + ask("/hit3"), ask("/hit4"))
    assert [event for event in gateway.events if event.startswith("decided")] == [
        *("decided /hit1", "decided /hit2", "decided /hit3", "decided /hit4"),
    ]


def test_after_close_nothing_is_read(context: Context) -> None:
    gateway = Memory()
    found = received(context, gateway, ask("/hit1", close=True) + ask("/hit2"), ask("/hit3"))
    assert [type(command) for command in found] == [commands.SendData, commands.CloseConnection]
    assert gateway.events.count("decided /hit1") == 1
    assert "decided /hit2" not in gateway.events
    assert "decided /hit3" not in gateway.events


def test_one_write_is_bounded(context: Context) -> None:
    gateway = Memory(AT_ONCE_BYTES // 2)
    first, *_ = received(context, gateway, ask("/hit1", "/hit2", "/hit3"))
    assert isinstance(first, commands.SendData)
    assert first.data.count(b"HTTP/1.1 200 ") == 2
    assert "decided /hit3" in gateway.events


class Repeating(Memory):
    """Its answers may be repeated as long as `is_same`."""

    is_same = True

    def decide(self, request: Request, *_: Any) -> Answer:
        answer = super().decide(request)
        answer.repeat = Repeat(self)
        return answer


class Repeat:
    """The repetition of its answers."""

    def __init__(self, gateway: Repeating) -> None:
        self.gateway = gateway

    def begin(self) -> bool:
        self.gateway.events.append("begun")
        return self.gateway.is_same

    def finish(self) -> None:
        self.gateway.events.append("repeated")


def test_the_same_request_is_decided_again_only_if_something_has_changed(context: Context) -> None:
    gateway = Repeating()
    layer = CachingHttpLayer(context, HTTPMode.regular, gateway)
    list(layer.handle_event(events.Start()))

    def happens(data: bytes | bytearray) -> list[str]:
        gateway.events = []
        gateway.events += [type(one).__name__ for one in layer.handle_event(events.DataReceived(context.client, data))]
        return gateway.events

    decided = ["decided /hit", "finished /hit 1", "SendData"]
    repeated = ["begun", "repeated", "SendData"]
    assert [happens(ask("/hit")) for _ in range(3)] == [decided, repeated, repeated]
    assert happens(ask("/hit2"))[0] == "decided /hit2"
    assert happens(bytearray(ask("/hit"))) == repeated
    gateway.is_same = False
    assert happens(ask("/hit")) == ["begun", *decided]
    gateway.is_same = True
    assert happens(ask("/hit")) == repeated
    assert happens(ask("/other"))[0] == "decided /other"
    assert happens(ask("/hit")) == decided, "what the client sends otherwise may matter"
    assert happens(ask("/hit", "/hit"))[0] == "decided /hit"
    assert happens(ask("/hit", close=True))[0] == "decided /hit"


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_hits_over_http_2_are_answered_as_soon_as_they_are_read(context: Context, method: str) -> None:
    context.client.alpn, context.client.tls = b"h2", True
    context.server.address, context.server.tls = ("a", 443), True
    gateway = Memory(1 if method == "GET" else 0)
    layer = CachingHttpLayer(context, HTTPMode.transparent, gateway)
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    pseudo = [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", "/hit")]
    client.send_headers(1, pseudo, end_stream=True)
    came = list[Any]()
    for event in (events.Start(), events.DataReceived(context.client, client.data_to_send())):
        for command in layer.handle_event(event):
            assert isinstance(command, commands.SendData)
            came += client.receive_data(command.data)
    assert not layer.streams
    assert gateway.events == ["decided /hit", f"finished /hit {gateway.size}"]
    (head,) = [dict(event.headers) for event in came if isinstance(event, h2.events.ResponseReceived)]
    assert (head[":status"], head["path"]) == ("200", "/hit")
    assert sum(len(event.data) for event in came if isinstance(event, h2.events.DataReceived)) == gateway.size
    assert any(isinstance(event, h2.events.StreamEnded) for event in came)


@pytest.mark.parametrize("reason", ["hooks", "version"])
def test_with_hooks_or_an_unknown_mitmproxy_nothing_is_answered_so(
    context: Context, monkeypatch: pytest.MonkeyPatch, reason: str
) -> None:
    gateway = Memory()
    if reason == "hooks":
        gateway.uses_hooks = True
    else:
        monkeypatch.setattr(version, "VERSION", "99.0.0")
    assert CachingHttpLayer(context, HTTPMode.regular, gateway)._hits is None
