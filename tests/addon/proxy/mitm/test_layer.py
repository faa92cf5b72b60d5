"""How answers of ours go through mitmproxy's layers; with real peers: tests/live."""

import asyncio
import itertools
import re
from collections.abc import AsyncGenerator
from typing import Any

import h2.config
import h2.connection
import h2.events
import pytest
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layer import Layer, NextLayer
from mitmproxy.proxy.layers.http import HttpLayer, HTTPMode

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.interim import Interim
from bestbefore.addon.proxy.mitm.layer import MERGED_BYTES, CachingHttpLayer, _merged, install
from bestbefore.addon.proxy.mitm.memory.bounds import HEAD_BYTES
from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.rfc9111.message import Fields, Head
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway


async def content(error: Exception | None) -> AsyncGenerator[bytes]:
    yield b"1234"
    if error is not None:
        raise error


class Gateway(FixedGateway):
    """Gives one answer, whose content comes in pieces and may end in an error."""

    def __init__(self, error: Exception | None, *before: Head) -> None:
        self.before = before
        self.ends: list[tuple[int, bool]] = []
        self.asked: list[str] = []
        """The paths of the requests that it was asked for."""
        self.refused = list[tuple[str, int, str]]()
        """Path, status and detail of each that was refused."""
        self.given = Answer(
            Head(200, Fields()), chunks=content(error), sent=lambda size, complete: self.ends.append((size, complete))
        )

    def refuse(self, request: Any, _client: Any, status: int, detail: str) -> Answer:
        self.refused.append((request.target.path, status, detail))
        return Answer(Head(status, Fields()))

    async def answer(self, request: Any, interim: Interim, _upload: Any) -> Answer:
        self.asked.append(request.target.path)
        for head in self.before:
            interim(head)
        return self.given


def asked(
    context: Context,
    gateway: Gateway,
    *received: bytes,
    alpn: bytes = b"",
) -> tuple[bytes, bool]:
    """What a client is sent for what it sends, in pieces, and whether its connection is closed then."""
    layer = CachingHttpLayer(context, HTTPMode.regular, gateway)
    client = layer.context.client
    client.alpn = alpn
    sent, closed = b"", False
    pieces = received or (b"GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",)
    waiting: list[events.Event] = [events.Start(), *(events.DataReceived(client, data) for data in pieces)]

    async def drive() -> None:
        nonlocal sent, closed
        while waiting:
            for command in layer.handle_event(waiting.pop(0)):
                if isinstance(command, commands.SendData):
                    sent += command.data
                elif isinstance(command, commands.CloseConnection):
                    closed = True
                elif isinstance(command, BestbeforeWait):
                    await command.work.run()
                    waiting.append(events.HookCompleted(command, None))

    asyncio.run(drive())
    return sent, closed


def test_content_goes_to_its_end_as_it_comes(context: Context) -> None:
    gateway = Gateway(None)
    sent, closed = asked(context, gateway)
    assert sent.endswith(b"\r\n\r\n4\r\n1234\r\n0\r\n\r\n")
    assert (closed, gateway.ends) == (False, [(4, True)])


class AtSocket(Gateway):
    """Answers requests at the socket, if asked to."""

    def __init__(self, *, answers: bool) -> None:
        super().__init__(None)
        self.answers = answers
        self.asked_at_socket = list[str]()

    def begin(self, request: Any, *_: Any) -> Any:
        return request

    def ask_at_socket(self, _client: Any, pending: Any) -> bool:
        if self.answers:
            self.asked_at_socket.append(pending.target.path)
        return self.answers


SIMPLE = b"GET http://a/1 HTTP/1.1\r\nHost: a\r\n\r\n"


@pytest.mark.parametrize(
    ("data", "answers", "at_socket", "by_streams"),
    [
        (SIMPLE, True, ["/1"], []),
        (SIMPLE, False, [], ["/1"]),
        (SIMPLE + b"GET ", True, [], ["/1"]),
        (SIMPLE + SIMPLE, True, [], ["/1", "/1"]),
        (SIMPLE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"), True, [], ["/1"]),
        (SIMPLE.replace(b"\r\n\r\n", b"\r\nTE: trailers\r\n\r\n"), True, [], ["/1"]),
    ],
    ids=["simple", "not possible", "a part of another", "another", "closes", "not simple"],
)
def test_the_first_request_is_answered_at_the_socket_if_it_is_simple_and_alone(
    context: Context, data: bytes, answers: bool, at_socket: list[str], by_streams: list[str]
) -> None:
    gateway = AtSocket(answers=answers)
    asked(context, gateway, data)
    assert (gateway.asked_at_socket, gateway.asked[:2]) == (at_socket, by_streams)


@pytest.mark.parametrize("error", [ConnectionError("gone"), ZeroDivisionError("a fault")])
def test_content_that_breaks_off_ends_the_connection_whatever_it_was(
    context: Context, error: Exception, caplog: pytest.LogCaptureFixture
) -> None:
    gateway = Gateway(error)
    sent, closed = asked(context, gateway)
    assert sent.endswith(b"4\r\n1234\r\n"), "no end that looks like one"
    assert (closed, gateway.ends) == (True, [(4, False)])
    assert ("a bug in bestbefore" in caplog.text) is isinstance(error, ZeroDivisionError)


@pytest.mark.parametrize(
    "refused",
    [
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nno field\r\n",
        b"POST http://a/ HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nno size\r\n0\r\n",
        b"GET http://a/ HTTP/1.1\r\nHost: a\r\nX: " + b"x" * HEAD_BYTES,
    ],
)
def test_what_waited_behind_a_refused_request_is_not_read(context: Context, refused: bytes) -> None:
    """All of it was received before the connection closed, but each piece is handled by itself, as after a hook."""
    gateway = Gateway(None)
    asked(context, gateway, refused, b"\r\nGET http://a/hidden HTTP/1.1\r\nHost: a\r\n\r\n")
    assert not any(complete for _, complete in gateway.ends)
    assert "/hidden" not in gateway.asked


HINT = Head(103, Fields([("Link", "</a>; rel=preload")]), "Early Hints")


@pytest.mark.parametrize(("version", "statuses"), [("1.0", [b"200"]), ("1.1", [b"103", b"200"])])
def test_interim_responses_go_before_the_answer_over_http_1_1(
    context: Context, version: str, statuses: list[bytes]
) -> None:
    sent, _ = asked(context, Gateway(None, HINT), f"GET http://a/ HTTP/{version}\r\nHost: a\r\n\r\n".encode())
    assert re.findall(rb"^HTTP/1.1 (\d+)", sent, re.MULTILINE) == statuses


def test_interim_responses_go_before_the_answer_over_http_2(context: Context) -> None:
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    pseudo = [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")]
    client.send_headers(1, pseudo, end_stream=True)
    sent, _ = asked(context, Gateway(None, HINT), client.data_to_send(), alpn=b"h2")
    came = client.receive_data(sent)
    heads = [
        dict(event.headers)
        for event in came
        if isinstance(event, h2.events.InformationalResponseReceived | h2.events.ResponseReceived)
    ]
    assert heads == [{":status": "103", "link": "</a>; rel=preload"}, {":status": "200"}]
    assert any(isinstance(event, h2.events.StreamEnded) for event in came)


@pytest.mark.parametrize(
    ("line", "path"), [((":path", "a"), "/a"), ((":path", "*a"), "/*a"), ((":scheme", ""), "/")]
)
@pytest.mark.parametrize("content", [b"", b"content"])
def test_a_request_over_http_2_without_a_target_is_refused_as_it_came(
    context: Context, line: tuple[str, str], path: str, content: bytes
) -> None:
    config = h2.config.H2Configuration(header_encoding="utf-8", validate_outbound_headers=False)
    client = h2.connection.H2Connection(config)
    client.initiate_connection()
    method = "POST" if content else "GET"
    pseudo = {":method": method, ":scheme": "http", ":authority": "a", ":path": "/"} | dict([line])
    client.send_headers(1, list(pseudo.items()), end_stream=not content)
    if content:
        client.send_data(1, content, end_stream=True)
    gateway = Gateway(None)
    sent, closed = asked(context, gateway, client.data_to_send(), alpn=b"h2")
    came = client.receive_data(sent)
    heads = [dict(event.headers) for event in came if isinstance(event, h2.events.ResponseReceived)]
    assert (heads, gateway.refused, closed) == ([{":status": "400"}], [(path, 400, "malformed-request")], False)
    assert gateway.asked == []


@pytest.mark.parametrize("body", [b"", b"content"])
def test_an_answer_that_is_whole_goes_to_its_end_over_http_2(context: Context, body: bytes) -> None:
    client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
    client.initiate_connection()
    client.send_headers(
        1, [(":method", "GET"), (":scheme", "http"), (":authority", "a"), (":path", "/")], end_stream=True
    )
    gateway = Gateway(None)
    gateway.given = Answer(Head(200, Fields()), body, sent=lambda size, complete: gateway.ends.append((size, complete)))
    came = client.receive_data(asked(context, gateway, client.data_to_send(), alpn=b"h2")[0])
    data = b"".join(event.data for event in came if isinstance(event, h2.events.DataReceived))
    assert (data, gateway.ends) == (body, [(len(body), True)])
    assert any(isinstance(event, h2.events.StreamEnded) for event in came)


def test_small_data_for_one_connection_becomes_one_write(context: Context) -> None:
    client, server = context.client, context.server

    def merged(*issued: commands.Command) -> list[object]:
        return [
            (command.connection, len(command.data)) if isinstance(command, commands.SendData) else command
            for command in _merged(iter(issued))  # type: ignore[arg-type]
        ]

    def data(connection: Any, size: int) -> commands.SendData:
        return commands.SendData(connection, bytes(size))

    close = commands.CloseConnection(client)
    assert merged(data(client, 1), data(client, 2), data(client, 3)) == [(client, 6)]
    assert merged(data(client, 1), data(server, 2), data(client, 3)) == [(client, 1), (server, 2), (client, 3)]
    assert merged(data(client, 1), close, data(client, 2)) == [(client, 1), close, (client, 2)]
    assert merged(data(client, MERGED_BYTES - 1), data(client, 1)) == [(client, MERGED_BYTES)]
    assert merged(data(client, MERGED_BYTES), data(client, 1)) == [(client, MERGED_BYTES), (client, 1)]
    assert merged() == []


@pytest.mark.parametrize("depth", [0, 1, 2])
def test_the_layer_takes_the_place_of_mitmproxys_own(context: Context, depth: int) -> None:
    gateway, next_layer = Gateway(None), NextLayer(context)
    outer: list[Any] = [Layer(context) for _ in range(depth)]
    own = HttpLayer(context, HTTPMode.regular)
    for parent, child in itertools.pairwise([*outer, own]):
        parent.child_layer = child
    next_layer.layer = (outer or [own])[0]
    places = len(context.layers)
    install(next_layer, gateway)
    found: Any = outer[-1].child_layer if depth else next_layer.layer
    assert isinstance(found, CachingHttpLayer)
    assert (found.mode, found._gateway, len(context.layers)) == (HTTPMode.regular, gateway, places)
    assert found in context.layers
    assert own not in context.layers


def test_where_there_is_no_http_nothing_is_replaced(context: Context) -> None:
    next_layer = NextLayer(context)
    install(next_layer, Gateway(None))
    assert next_layer.layer is None
    next_layer.layer = other = Layer(context)
    install(next_layer, Gateway(None))
    assert next_layer.layer is other


async def test_a_head_that_has_begun_is_awaited_for_a_limited_time(context: Context) -> None:
    gateway, gone = Gateway(None), list[Any]()
    gateway.disconnect = gone.append  # type: ignore[method-assign]
    layer = CachingHttpLayer(context, HTTPMode.regular, gateway)
    client, loop = context.client, asyncio.get_running_loop()

    def received(data: bytes) -> asyncio.TimerHandle | None:
        for command in layer.handle_event(events.DataReceived(client, data)):
            if isinstance(command, BestbeforeWait):
                waits.append(command)
        return layer._head_timer

    waits = list[BestbeforeWait]()
    list(layer.handle_event(events.Start()))
    assert layer._head_timer is None
    timer = received(b"GET http://a/ HT")
    assert timer is not None
    assert timer.when() - loop.time() == pytest.approx(gateway.limits.head_s, abs=5.0)
    assert received(b"TP/1.1\r\nHost: a\r\n") is timer, "more of it gives it no more time"
    assert received(b"\r\n") is None
    assert timer.cancelled()
    assert len(waits) == 1
    later = layer.disconnect_later()
    later._run()  # type: ignore[attr-defined]
    later.cancel()
    assert gone == [client]


@pytest.mark.parametrize(("waiting", "reads"), [(1 << 20, True), ((1 << 20) + 1, False)])
async def test_a_client_is_not_read_while_too_much_of_its_content_waits(
    context: Context, monkeypatch: pytest.MonkeyPatch, waiting: int, reads: bool
) -> None:
    gateway, set_to = Gateway(None), list[tuple[Any, bool]]()
    gateway.set_reading = lambda connection, _client, *, on: set_to.append((connection, on))  # type: ignore[method-assign]
    layer = CachingHttpLayer(context, HTTPMode.regular, gateway)
    list(layer.handle_event(events.Start()))
    monkeypatch.setattr(layer, "_waiting_bytes", lambda _: waiting)
    list(layer.handle_event(events.DataReceived(context.client, b"G")))
    assert set_to == ([] if reads else [(context.client, False)])
    monkeypatch.setattr(layer, "_waiting_bytes", lambda _: 0)
    layer.resume_upload()
    layer.resume_upload()
    assert set_to == ([] if reads else [(context.client, False), (context.client, True)])
    if layer._head_timer is not None:
        layer._head_timer.cancel()


async def test_who_waits_for_room_is_woken_by_what_the_client_sends(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    layer = CachingHttpLayer(context, HTTPMode.regular, Gateway(None))
    list(layer.handle_event(events.Start()))
    assert await layer.window(1)
    monkeypatch.setattr(layer, "has_room", lambda _: False)
    waiting = [asyncio.ensure_future(layer.window(1)) for _ in range(2)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)
    list(layer.handle_event(events.DataReceived(context.client, b"G")))
    assert await asyncio.wait_for(asyncio.gather(*waiting), 30.0) == [False, False]
    assert layer._activity is None
    assert layer._head_timer is not None
    layer._head_timer.cancel()
