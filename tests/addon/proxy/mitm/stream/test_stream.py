"""Requests of each kind through the layer of a connection, with a gateway that answers them all."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from mitmproxy.http import Headers, Response
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode
from mitmproxy.test import tutils

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.interim import Interim
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.stream.sending import PIECE_BYTES, WHOLE_BYTES
from bestbefore.addon.proxy.mitm.stream.stream import ANSWERED_HERE, _announced_length
from bestbefore.addon.proxy.mitm.wait import BestbeforeWait
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway

HELLO = b"hello"


class Gateway(FixedGateway):
    """Answers each request with what was given to it, when it has read all of its content or, unless `reads`, none."""

    def __init__(self, status: int = 200, body: bytes = HELLO, *lines: tuple[str, str], reads: bool = True) -> None:
        self.head, self.body, self.reads = Head(status, Fields(lines)), body, reads
        self.malformed: int | None = None
        self.asked = list[str]()
        """The URLs of the requests."""
        self.content = list[bytes]()
        self.lengths = list[int | None]()
        self.ends = list[tuple[int, bool]]()

    def refusal(self, request: Request, *_: Any) -> Answer | None:
        return None if self.malformed is None else Answer(Head(self.malformed, Fields()))

    async def answer(self, request: Any, _interim: Interim, upload: Upload | None) -> Answer:
        self.asked.append(request.target.url)
        if upload is not None:
            self.lengths.append(upload.length)
            if self.reads:
                self.content += [piece async for piece in upload.chunks(5.0)]
        return Answer(self.head, self.body, sent=lambda size, complete: self.ends.append((size, complete)))


class Sent:
    """What a client gets."""

    def __init__(self) -> None:
        self.data = b""
        self.closed: list[bool] = []
        """Whether each close is only of the proxy's side."""
        self.hooks = list[str]()
        self.timer: asyncio.TimerHandle | None = None

    @property
    def head(self) -> list[str]:
        """The lines of the last head, in small letters."""
        return self.data.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")[0].decode().lower().split("\r\n")

    @property
    def content(self) -> bytes:
        return self.data.rpartition(b"HTTP/1.1 ")[2].partition(b"\r\n\r\n")[2]


def exchanged(
    context: Context,
    gateway: Gateway,
    *received: bytes,
    mode: HTTPMode = HTTPMode.regular,
    on_hook: Callable[[Any], None] = lambda _: None,
) -> Sent:
    """What a client gets for what it sends."""
    layer, sent = CachingHttpLayer(context, mode, gateway), Sent()
    client = layer.context.client
    waiting: list[events.Event] = [events.Start(), *(events.DataReceived(client, data) for data in received)]

    async def drive() -> None:
        running = dict[asyncio.Task[Any], commands.Command]()
        while waiting or running:
            if not waiting:
                done, _ = await asyncio.wait(running, return_when=asyncio.FIRST_COMPLETED)
                waiting.extend(events.HookCompleted(running.pop(task), None) for task in done)  # type: ignore[arg-type]
                continue
            for command in layer.handle_event(waiting.pop(0)):
                if isinstance(command, commands.SendData):
                    sent.data += command.data
                elif isinstance(command, commands.CloseConnection):
                    sent.closed.append(bool(getattr(command, "half_close", False)))
                elif isinstance(command, BestbeforeWait):
                    running[asyncio.ensure_future(command.work.run())] = command
                elif isinstance(command, commands.StartHook):
                    sent.hooks.append(command.name)
                    on_hook(command)
                    waiting.insert(0, events.HookCompleted(command, None))

    asyncio.run(drive())
    return sent


def request(method: str = "GET", *lines: str, target: str = "http://a/", version: str = "1.1") -> bytes:
    return "\r\n".join([f"{method} {target} HTTP/{version}", "Host: a", *lines, "", ""]).encode()


CLOSE = "connection: close"


@pytest.mark.parametrize(
    ("method", "version", "status", "lines", "has", "has_not"),
    [
        ("GET", "1.1", 200, [], ["transfer-encoding: chunked"], [CLOSE]),
        ("GET", "1.1", 200, [("Content-Length", "5")], ["content-length: 5"], [CLOSE, "transfer-encoding: chunked"]),
        ("GET", "1.0", 200, [], [CLOSE], ["transfer-encoding: chunked"]),
        ("GET", "1.0", 200, [("Content-Length", "5")], ["content-length: 5"], [CLOSE, "transfer-encoding: chunked"]),
        ("HEAD", "1.1", 200, [], [], ["transfer-encoding: chunked", CLOSE]),
        ("GET", "1.1", 204, [], [], ["transfer-encoding: chunked", CLOSE]),
        ("GET", "1.1", 304, [], [], ["transfer-encoding: chunked", CLOSE]),
        ("GET", "1.1", 400, [("Content-Length", "5")], [CLOSE], []),
        ("GET", "1.1", 404, [("Content-Length", "5")], [], [CLOSE]),
    ],
)
def test_an_answer_is_framed_as_its_client_and_status_need(
    context: Context,
    method: str,
    version: str,
    status: int,
    lines: list[tuple[str, str]],
    has: list[str],
    has_not: list[str],
) -> None:
    body = b"" if method == "HEAD" or status in (204, 304) else HELLO
    gateway = Gateway(status, body, *lines)
    sent = exchanged(context, gateway, request(method, version=version))
    assert sent.head[0].startswith(str(status))
    assert [line for line in has if line not in sent.head] == []
    assert [line for line in has_not if line in sent.head] == []
    assert sent.content == (b"5\r\nhello\r\n0\r\n\r\n" if "transfer-encoding: chunked" in has else body)
    assert gateway.ends == [(len(body), True)]
    assert bool(sent.closed) is (CLOSE in has or version == "1.0")


@pytest.mark.parametrize("size", [WHOLE_BYTES, WHOLE_BYTES + 1, 3 * PIECE_BYTES + 1])
def test_content_in_memory_arrives_whole_at_once_or_in_pieces(context: Context, size: int) -> None:
    gateway = Gateway(200, bytes(size), ("Content-Length", str(size)))
    assert exchanged(context, gateway, request()).content == bytes(size)
    assert gateway.ends == [(size, True)]


# Content of requests.


@pytest.mark.parametrize(
    ("line", "data", "length"),
    [
        ("Content-Length: 5", [b"hel", b"lo"], 5),
        ("Transfer-Encoding: chunked", [b"3\r\nhel\r\n2\r\nlo\r\n", b"0\r\n\r\n"], None),
        ("Transfer-Encoding: chunked", [b"5\r\nhello\r\n0\r\nTrailer: 1\r\n\r\n"], None),
    ],
)
def test_content_goes_to_the_gateway_as_it_comes_and_the_connection_stays(
    context: Context, line: str, data: list[bytes], length: int | None
) -> None:
    gateway = Gateway(200, HELLO, ("Content-Length", "5"))
    sent = exchanged(context, gateway, request("POST", line), *data)
    assert (b"".join(gateway.content), gateway.lengths) == (HELLO, [length])
    assert (sent.head[0], sent.content, sent.closed) == ("200 ", HELLO, [])
    assert CLOSE not in sent.head
    assert b"100 Continue" not in sent.data


@pytest.mark.parametrize(("expect", "continues"), [("100-Continue", True), ("something", False)])
def test_a_client_that_waits_for_it_is_asked_for_its_content(context: Context, expect: str, continues: bool) -> None:
    sent = exchanged(context, Gateway(), request("POST", "Content-Length: 5", f"Expect: {expect}"), HELLO)
    assert sent.data.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 ") is continues


def test_a_client_that_was_answered_before_it_sent_everything_is_disconnected(
    context: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    later = list[int]()
    monkeypatch.setattr(CachingHttpLayer, "disconnect_later", lambda _: later.append(1))
    sent = exchanged(context, Gateway(reads=False), request("POST", "Content-Length: 5"), b"hel")
    assert CLOSE in sent.head
    assert True in sent.closed, "its side stays open, so that it can read the answer"
    assert later


@pytest.mark.parametrize("version", ["1.1", "2.0"])
def test_the_length_of_content_is_that_which_was_announced(version: str) -> None:
    def announced(**lines: str) -> int | None:
        headers = Headers(**{name.replace("_", "-"): value for name, value in lines.items()})
        message = tutils.treq(method=b"POST", http_version=f"HTTP/{version}".encode(), headers=headers)
        return _announced_length(message)

    assert announced(content_length="52") == 52
    if version == "2.0":
        assert [announced(content_length=text) for text in ("", "-1", "1" * 19, "x")] == [None] * 4
        assert announced(content_length="1" * 18) == int("1" * 18)
    else:
        assert announced(transfer_encoding="chunked") is None
        with pytest.raises(ValueError, match="length"):
            announced(content_length="x")


def test_a_request_for_another_server_is_refused_on_a_connection_that_stays(context: Context) -> None:
    context.server.address = ("a.test", 80)
    gateway = Gateway()
    sent = exchanged(
        context, gateway, b"GET / HTTP/1.1\r\nHost: b.test\r\n\r\n", mode=HTTPMode.transparent
    )
    assert (sent.head[0][:3], "detail: misdirected" in " ".join(sent.head)) == ("421", True)
    assert gateway.asked == []


def test_a_request_in_a_tunnel_is_answered(context: Context) -> None:
    context.server.address = ("a.test", 80)
    gateway = Gateway()
    sent = exchanged(context, gateway, b"GET /x HTTP/1.1\r\nHost: a.test\r\n\r\n", mode=HTTPMode.transparent)
    assert (sent.head[0], gateway.asked) == ("200 ", ["http://a.test/x"])


def test_what_is_ambiguous_is_refused_and_nothing_else_is_asked(context: Context) -> None:
    gateway = Gateway()
    gateway.malformed = 400
    sent = exchanged(context, gateway, request())
    assert (sent.head[0][:3], CLOSE in sent.head, gateway.asked) == ("400", True, [])


# With the hooks of other addons.

HOOKS = ["requestheaders", "request", "responseheaders", "response"]


def test_other_addons_are_shown_the_exchange_with_its_content(context: Context) -> None:
    gateway, flows = Gateway(200, HELLO, ("Content-Length", "5")), list[Any]()
    gateway.uses_hooks = True
    sent = exchanged(context, gateway, request(), on_hook=lambda command: flows.append(command.args()[0]))
    assert sent.hooks == HOOKS
    flow = flows[-1]
    assert flow.metadata[ANSWERED_HERE] is True
    assert (flow.request.pretty_url, flow.response.status_code, flow.response.content) == ("http://a/", 200, HELLO)
    assert not flow.live
    assert (sent.content, gateway.asked) == (HELLO, ["http://a/"])


def test_what_another_addon_answers_is_sent_and_one_that_it_kills_is_not(context: Context) -> None:
    gateway = Gateway()
    gateway.uses_hooks = True

    def answer(command: Any) -> None:
        if command.name == "request":
            command.args()[0].response = Response.make(418, b"tea")

    sent = exchanged(context, gateway, request(), on_hook=answer)
    assert (sent.head[0][:3], sent.content, gateway.asked) == ("418", b"tea", [])
    assert sent.hooks.count("responseheaders") >= 1

    def kill(command: Any) -> None:
        if command.name == "request":
            command.args()[0].kill()

    sent = exchanged(context, gateway, request(), on_hook=kill)
    assert (sent.data, gateway.asked, "error" in sent.hooks) == (b"", [], True)
