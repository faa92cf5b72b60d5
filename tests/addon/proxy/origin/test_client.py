"""Fetching from real servers on loopback."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, LOOPBACK, PUBLIC, Reach
from bestbefore.addon.proxy.origin.client import Origin
from bestbefore.addon.proxy.origin.contact import Failure, OriginError
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

CLOCK = ManualClock(1_700_000_000.0)


@asynccontextmanager
async def answering(answer: bytes, heads: list[bytes] | None = None) -> AsyncIterator[str]:
    """A server that answers each request with these bytes and closes; gives its URL."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        if heads is not None:
            heads.append(head)
        writer.write(answer)
        await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    server.close()
    await server.wait_closed()


@asynccontextmanager
async def an_origin() -> AsyncIterator[Origin]:
    origin = Origin(CLOCK)
    yield origin
    await origin.close()


async def fetch(origin: Origin, url: str, *fields: tuple[str, str]) -> tuple[Head, bytes]:
    fetched = await origin.fetch(Request("GET", Target.parse(url), Fields(fields)))
    return fetched.head, b"".join([chunk async for chunk in fetched.chunks])


async def test_head_and_content_come_as_they_are() -> None:
    answer = b"HTTP/1.1 200 Fine\r\nA: 1\r\na: 2\r\nContent-Encoding: gzip\r\nContent-Length: 3\r\n\r\nabc"
    async with an_origin() as origin, answering(answer) as url:
        head, body = await fetch(origin, url + "/")
    assert (head.status, head.reason, body) == (200, "Fine", b"abc")
    assert head.fields.raw[:2] == (("A", "1"), ("a", "2"))


@pytest.mark.parametrize(
    ("method", "head", "length"),
    [
        ("GET", b"200 OK\r\nContent-Length: 5", 5),
        ("GET", b"200 OK\r\nConnection: close", None),
        ("GET", b"204 No Content", 0),
        ("GET", b"304 Not Modified\r\nContent-Length: 5", 0),
        ("HEAD", b"200 OK\r\nContent-Length: 5", 0),
    ],
)
async def test_the_length_is_that_of_the_content_that_comes(method: str, head: bytes, length: int | None) -> None:
    async with an_origin() as origin, answering(b"HTTP/1.1 " + head + b"\r\n\r\nhello"[: 4 + (length or 0)]) as url:
        fetched = await origin.fetch(Request(method, Target.parse(url + "/")))
        assert fetched.length == length
        assert len(b"".join([chunk async for chunk in fetched.chunks])) == (length or 0)


async def test_only_the_given_fields_are_sent() -> None:
    heads: list[bytes] = []
    async with an_origin() as origin, answering(b"HTTP/1.1 204 x\r\n\r\n", heads) as url:
        await fetch(origin, url + "/%7e/../a%2fb?x=%zz&y", ("Host", "lies.example"), ("X", "1"), ("x", "2"))
    line, *fields = heads[0].split(b"\r\n")
    assert line == b"GET /%7e/../a%2fb?x=%zz&y HTTP/1.1"
    assert fields == [f"Host: {url[7:]}".encode(), b"X: 1", b"x: 2", b"", b""]


async def test_interim_responses_come_before_the_answer() -> None:
    answer = (
        b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: </a>\r\nLink: </b>\r\n\r\n"
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
    )
    told: list[Head] = []
    async with an_origin() as origin, answering(answer) as url:
        fetched = await origin.fetch(Request("GET", Target.parse(url + "/")), interim=told.append)
        content = b"".join([chunk async for chunk in fetched.chunks])
        assert (await fetch(origin, url))[0].status == 200  # interim responses are ignored
    assert (fetched.head.status, content) == (200, b"ok")
    assert told == [Head(103, Fields([("Link", "</a>"), ("Link", "</b>")]), "Early Hints")]


async def test_more_content_than_announced_is_cut_off() -> None:
    async with an_origin() as origin, answering(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok and more") as url:
        assert (await fetch(origin, url))[1] == b"ok"


@pytest.mark.parametrize(
    ("answer", "failure"),
    [
        (b"", Failure.RESET),
        (b"nonsense\r\n\r\n", Failure.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", Failure.RESET),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", Failure.MALFORMED),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 70_000 + b"\r\n\r\n", Failure.MALFORMED),
    ],
)
async def test_what_goes_wrong_has_a_name(answer: bytes, failure: Failure) -> None:
    async with an_origin() as origin, answering(answer) as url:
        with pytest.raises(OriginError) as error:
            await asyncio.wait_for(fetch(origin, url), 30)
    assert error.value.failure is failure


async def test_an_origin_that_refuses_connections_is_unreachable() -> None:
    async with answering(b"") as url:
        pass
    async with an_origin() as origin:
        with pytest.raises(OriginError) as error:
            await fetch(origin, url)
    assert error.value.failure is Failure.UNREACHABLE


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "[::1]", "169.254.169.254", "0.0.0.0"])
async def test_a_restricted_fetch_reaches_nothing_of_this_machine(host: str) -> None:
    async with an_origin() as origin, answering(b"HTTP/1.1 204 x\r\n\r\n") as url:
        target = Target.parse(f"http://{host}:{url.rpartition(':')[2]}/")
        with pytest.raises(OriginError):
            await origin.fetch(Request("GET", target), reach=BEYOND_THIS_MACHINE)


async def test_a_connection_that_serves_one_reach_does_not_serve_another() -> None:
    async with an_origin() as origin, answering(b"HTTP/1.1 204 x\r\n\r\n") as url:
        target = Target.parse(url)
        for reach in (EVERYWHERE, Reach(frozenset({LOOPBACK}))):
            fetched = await origin.fetch(Request("GET", target), reach=reach)
            assert (fetched.head.status, fetched.range, fetched.local) == (204, LOOPBACK, True)
        with pytest.raises(OriginError):
            await origin.fetch(Request("GET", target), reach=PUBLIC)


async def test_our_own_host_is_answered_without_network() -> None:
    async with an_origin() as origin:
        origin.answer_for("own.test", lambda request, now_s: (Head(200), f"{request.target.path} {now_s:g}".encode()))
        assert await fetch(origin, "http://own.test/x") == (Head(200), b"/x 1.7e+09")


@pytest.mark.parametrize(
    ("lines", "size", "fits"), [(100, 600, True), (1, 65_000, True), (2, 40_000, False), (200, 1, False)]
)
async def test_the_head_of_an_answer_is_bounded(lines: int, size: int, fits: bool) -> None:
    head = b"".join(b"X-%d: %s\r\n" % (number, b"y" * size) for number in range(lines))
    async with an_origin() as origin, answering(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n" + head + b"\r\n") as url:
        if fits:
            assert len((await fetch(origin, url))[0].fields.raw) == lines + 1
            return
        with pytest.raises(OriginError) as error:
            await fetch(origin, url)
        assert error.value.failure is Failure.MALFORMED
