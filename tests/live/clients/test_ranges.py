"""Parts of stored responses, as players and download managers ask for them: a real proxy, real sockets."""

import asyncio
import email.parser
import email.policy
import hashlib
import random
import re
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from http.client import HTTPSConnection
from pathlib import Path
from typing import Any

import pytest
from test_stampede import AllHaveAsked

pytestmark = pytest.mark.live

Start = Callable[..., Any]
MODIFIED = "Last-Modified: Mon, 25 May 2026 20:26:40 GMT"
HOUR = "Cache-Control: max-age=3600"


def content_of(size: int, seed: int = 1) -> bytes:
    return random.Random(seed).randbytes(size)


@dataclass
class Asked:
    """A request as the origin got it."""

    fields: dict[str, str]

    @property
    def range(self) -> str | None:
        return self.fields.get("range")


@dataclass
class FileOrigin:
    """Serves one file as an ordinary server does: validators, 304, one range at a time."""

    content: bytes
    lines: tuple[str, ...] = (HOUR,)
    knows_ranges: bool = True
    has_etag: bool = True
    fails: bool = False
    delay_s: float = 0.0
    ready: Callable[[], Awaitable[object]] | None = None
    """What is waited for before each answer, in place of the delay."""
    changes_to: bytes | None = None
    """The content after the next answer."""
    url: str = ""
    asked: list[Asked] = field(default_factory=list)
    writers: list[asyncio.StreamWriter] = field(default_factory=list)

    @property
    def etag(self) -> str:
        return f'"{hashlib.sha256(self.content).hexdigest()[:12]}"'

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.writers.append(writer)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                pairs = (line.split(": ", 1) for line in head.split("\r\n")[1:-2])
                asked = Asked({name.lower(): value for name, value in pairs})
                self.asked.append(asked)
                await (asyncio.sleep(self.delay_s) if self.ready is None else self.ready())
                status, lines, body = self.answer(asked)
                lines = (*(f"ETag: {self.etag}",) * self.has_etag, *self.lines, *lines)
                self.content, self.changes_to = self.changes_to or self.content, None
                writer.write("\r\n".join((f"HTTP/1.1 {status}", *lines, "", "")).encode())
                half = len(body) // 2
                writer.write(body[:half])
                await writer.drain()
                await asyncio.sleep(self.delay_s)
                writer.write(body[half:])
                await writer.drain()
        writer.close()

    def answer(self, asked: Asked) -> tuple[str, tuple[str, ...], bytes]:
        if self.fails:
            return "503 Service Unavailable", ("Content-Length: 0",), b""
        if self.etag in asked.fields.get("if-none-match", ""):
            return "304 Not Modified", (), b""
        wanted = re.fullmatch(r"bytes=(\d+)-(\d*)", asked.range or "")
        outdated = asked.fields.get("if-range", self.etag) != self.etag
        if wanted is None or outdated or not self.knows_ranges:
            return "200 OK", (f"Content-Length: {len(self.content)}", "Content-Type: video/mp4"), self.content
        first, last = int(wanted[1]), int(wanted[2] or len(self.content) - 1)
        body = self.content[first : last + 1]
        content_range = f"Content-Range: bytes {first}-{last}/{len(self.content)}"
        return "206 Partial Content", (content_range, f"Content-Length: {len(body)}"), body


@asynccontextmanager
async def serving(origin: FileOrigin) -> AsyncIterator[FileOrigin]:
    server = await asyncio.start_server(origin.serve, "127.0.0.1", 0)
    origin.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/film"
    try:
        yield origin
    finally:
        server.close()
        for writer in origin.writers:
            writer.close()
        await server.wait_closed()


@dataclass(frozen=True)
class Got:
    """An answer as it came, its content checked against its length."""

    status: int
    fields: dict[str, str]
    body: bytes

    @property
    def told(self) -> str:
        return self.fields["cache-status"]

    def parts(self) -> list[tuple[str, bytes]]:
        """Content-Range and content of each part, read by a parser that is not ours."""
        head = f"Content-Type: {self.fields['content-type']}\r\n\r\n".encode()
        message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + self.body)
        return [(part["content-range"], part.get_payload(decode=True)) for part in message.iter_parts()]


async def get(proxy: Any, url: str, *lines: str, method: str = "GET") -> Got:
    reader, writer = await asyncio.open_connection("127.0.0.1", proxy.port)
    lines = (f"{method} {url} HTTP/1.1", f"Host: {url.split('/')[2]}", "Connection: close", *lines, "", "")
    writer.write("\r\n".join(lines).encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    await writer.wait_closed()
    start, *rest = head.decode("latin-1").split("\r\n")
    fields = {name.lower(): value for name, value in (line.split(": ", 1) for line in rest)}
    status = int(start.split()[1])
    if method != "HEAD" and status != 304:
        assert int(fields["content-length"]) == len(body)
    return Got(status, fields, body)


LARGE, MEDIUM = 3_000_000, 100_000
"""The content of both is a file; of the large one only what is sent is read, the medium one is held in memory."""


@pytest.mark.parametrize("size", [LARGE, MEDIUM])
async def test_parts_of_a_file_on_disk_are_the_bytes_that_the_origin_once_sent(
    size: int, start_proxy: Start, tmp_path: Path
) -> None:
    config = tmp_path / "proxy.toml"
    config.write_text('[proxy]\nhot_max = "1MiB"\n')
    content = content_of(size)
    async with serving(FileOrigin(content, (HOUR, MODIFIED))) as origin:
        proxy = start_proxy("--quiet", "--config", str(config))
        assert (await get(proxy, origin.url)).body == content
        proxy.stop()
        assert [file.stat().st_size for file in (proxy.state / "bodies").glob("*/*")] == [size]
        proxy = start_proxy("--quiet", "--config", str(config))

        middle = await get(proxy, origin.url, f"Range: bytes={size // 3}-{size // 3 + 39_999}")
        assert middle.status == 206
        assert middle.fields["content-range"] == f"bytes {size // 3}-{size // 3 + 39_999}/{size}"
        assert middle.fields["content-type"] == "video/mp4"
        assert middle.told.startswith("bestbefore; hit; ttl=")
        assert middle.body == content[size // 3 : size // 3 + 40_000]

        # As a download manager does: segments at the same time, put together again.
        step = size // 7 + 1
        lines = [f"Range: bytes={at}-{at + step - 1}" for at in range(0, size, step)]
        segments = await asyncio.gather(*(get(proxy, origin.url, line, f"If-Range: {origin.etag}") for line in lines))
        assert {segment.status for segment in segments} == {206}
        whole = hashlib.sha256(b"".join(segment.body for segment in segments))
        assert whole.digest() == hashlib.sha256(content).digest()

        several = await get(proxy, origin.url, f"Range: bytes=-500, 10-19, {size - 600}-{size - 550}, 30-39,38-49")
        assert several.status == 206
        assert several.parts() == [
            (f"bytes {size - 500}-{size - 1}/{size}", content[-500:]),
            (f"bytes 10-19/{size}", content[10:20]),
            (f"bytes {size - 600}-{size - 550}/{size}", content[size - 600 : size - 549]),
            (f"bytes 30-49/{size}", content[30:50]),
        ]

        beyond = await get(proxy, origin.url, f"Range: bytes={size}-")
        assert (beyond.status, beyond.fields["content-range"], beyond.body) == (416, f"bytes */{size}", b"")
        assert beyond.fields["cache-control"] == "no-store"
        for ignored in ("Range: bytes=5-1", "Range: lines=1-2", "Range: bytes=" + ",".join(["0-0"] * 999)):
            assert (await get(proxy, origin.url, ignored)).body == content

        since = MODIFIED.removeprefix("Last-Modified: ")
        assert (await get(proxy, origin.url, "Range: bytes=0-1", f"If-Range: {since}")).status == 206
        assert (await get(proxy, origin.url, "Range: bytes=0-1", 'If-Range: "other"')).body == content
        assert (await get(proxy, origin.url, "Range: bytes=0-1", f"If-Range: W/{origin.etag}")).status == 200
        assert (await get(proxy, origin.url, "Range: bytes=0-1", f"If-None-Match: {origin.etag}")).status == 304
        head = await get(proxy, origin.url, "Range: bytes=0-1", method="HEAD")
        assert (head.status, head.fields["content-length"], head.body) == (200, str(size), b"")
        assert len(origin.asked) == 1
        assert proxy.stop() == 0


async def test_parts_are_stored_served_and_completed(shared_proxy: Any, bestbefore: Callable[..., str]) -> None:
    async with serving(FileOrigin(content_of(MEDIUM))) as origin:
        content = origin.content
        for wanted, (start, end), told in (
            ("500-999", (500, 1000), "fwd=uri-miss; fwd-status=206; stored"),
            ("600-699", (600, 700), "hit; ttl="),
            ("900-1999", (900, 2000), "fwd=partial; fwd-status=206; stored"),
            ("60000-", (60_000, MEDIUM), "fwd=uri-miss; fwd-status=206; stored"),
        ):
            got = await get(shared_proxy, origin.url, f"Range: bytes={wanted}")
            assert (got.status, got.body) == (206, content[start:end])
            assert got.told.startswith(f"bestbefore; {told}")
        await asyncio.to_thread(shared_proxy.has_written)
        shown = await asyncio.to_thread(bestbefore, "show", origin.url, "--state", shared_proxy.state)
        assert f"42kB of 100kB: bytes 500-1999 60000-99999; validators ETag {origin.etag}\n" in shown
        several = await get(shared_proxy, origin.url, "Range: bytes=-9,500-509")
        assert several.parts() == [
            (f"bytes {MEDIUM - 9}-{MEDIUM - 1}/{MEDIUM}", content[-9:]),
            (f"bytes 500-509/{MEDIUM}", content[500:510]),
        ]
        head = await get(shared_proxy, origin.url, method="HEAD")
        assert (head.status, head.fields["content-length"], head.fields["etag"]) == (200, str(MEDIUM), origin.etag)
        assert several.told.startswith("bestbefore; hit")
        assert head.told.startswith("bestbefore; hit")
        whole = await get(shared_proxy, origin.url)
        assert (whole.status, whole.body) == (200, content)
        assert whole.told.startswith("bestbefore; fwd=partial; fwd-status=206; stored")
        assert [asked.range for asked in origin.asked] == [
            "bytes=500-999", "bytes=1000-1999", "bytes=60000-", "bytes=0-59999"
        ]  # fmt: skip
        assert origin.asked[1].fields["if-range"] == origin.etag
        assert (await get(shared_proxy, origin.url)).told.startswith("bestbefore; hit")


async def test_a_large_object_is_stored_as_a_file_and_a_film_left_is_resumed(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(24_000_000))) as origin:
        reader, writer = await asyncio.open_connection("127.0.0.1", shared_proxy.port)
        host = origin.url.split("/")[2]
        writer.write(f"GET {origin.url} HTTP/1.1\r\nHost: {host}\r\nRange: bytes=2000000-\r\n\r\n".encode())
        await reader.readexactly(1_000_000)
        writer.close()
        await asyncio.sleep(0.3)
        seen = await get(shared_proxy, origin.url, "Range: bytes=2100000-2199999")
        assert (seen.status, seen.body) == (206, origin.content[2_100_000:2_200_000])
        for _ in range(2):
            assert (await get(shared_proxy, origin.url)).body == origin.content
        told = (await get(shared_proxy, origin.url, "Range: bytes=-5")).told
        assert told.startswith("bestbefore; hit")
        assert 1 <= len(origin.asked) <= 3


async def test_a_part_without_a_validator_answers_alone_and_is_replaced_by_the_next(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), has_etag=False)) as origin:
        content = origin.content
        for wanted, start, end in (("500-999", 500, 1000), ("600-699", 600, 700), ("900-1999", 900, 2000)):
            got = await get(shared_proxy, origin.url, f"Range: bytes={wanted}")
            assert (got.status, got.body) == (206, content[start:end])
        assert (await get(shared_proxy, origin.url)).body == content
        assert [asked.range for asked in origin.asked] == ["bytes=500-999", "bytes=900-1999", None]
        assert not any("if-range" in asked.fields for asked in origin.asked)


async def test_only_what_is_missing_between_parts_is_fetched(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(LARGE))) as origin:
        for wanted in ("0-999", "1000000-1499999", "2000000-2099999"):
            await get(shared_proxy, origin.url, f"Range: bytes={wanted}")
        whole = await get(shared_proxy, origin.url)
        assert (whole.status, whole.body) == (200, origin.content)
        assert [asked.range for asked in origin.asked[3:]] == [
            "bytes=1000-999999", "bytes=1500000-1999999", "bytes=2100000-"
        ]  # fmt: skip
        assert {asked.fields["if-range"] for asked in origin.asked[3:]} == {origin.etag}
        assert (await get(shared_proxy, origin.url)).told.startswith("bestbefore; hit")


async def test_a_change_between_two_gaps_ends_the_answer_before_its_length(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(LARGE))) as origin:
        await get(shared_proxy, origin.url, "Range: bytes=1000000-1499999")
        origin.changes_to = content_of(LARGE, seed=2)
        reader, writer = await asyncio.open_connection("127.0.0.1", shared_proxy.port)
        writer.write(f"GET {origin.url} HTTP/1.1\r\nHost: {origin.url.split('/')[2]}\r\n\r\n".encode())
        head, _, body = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        assert f"content-length: {LARGE}" in head.decode().lower()
        assert body == content_of(LARGE)[: len(body)]
        assert len(body) == 1_500_000
        for _ in range(2):
            got = await get(shared_proxy, origin.url, "Range: bytes=1000000-1499999")
            assert (got.body, got.fields["etag"]) == (origin.content[1_000_000:1_500_000], origin.etag)
        assert len(origin.asked) == 4


async def test_parts_of_an_earlier_version_are_not_served(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), ("Cache-Control: max-age=0",))) as origin:
        await get(shared_proxy, origin.url, "Range: bytes=500-999")
        confirmed = await get(shared_proxy, origin.url, "Range: bytes=600-699")
        assert (confirmed.status, confirmed.body) == (206, origin.content[600:700])
        assert "if-none-match" in origin.asked[-1].fields
        origin.content = content_of(90_000, seed=2)
        for wanted, (start, end) in (("700-799", (700, 800)), ("0-999", (0, 1000))):
            got = await get(shared_proxy, origin.url, f"Range: bytes={wanted}")
            assert (got.status, got.body) == (206, origin.content[start:end])
            assert got.fields["etag"] == origin.etag


async def test_a_purge_removes_parts_and_their_files(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(LARGE, seed=3))) as origin:
        await get(shared_proxy, origin.url, "Range: bytes=500-199999")
        await asyncio.to_thread(shared_proxy.has_written)
        digest = hashlib.blake2b(origin.content[500:200_000], digest_size=20).hexdigest()
        file = shared_proxy.state / "bodies" / digest[:2] / digest
        assert file.exists()
        assert (await get(shared_proxy, origin.url, method="PURGE")).status == 200
        assert not file.exists()
        assert (await get(shared_proxy, origin.url, method="PURGE")).status == 404
        await get(shared_proxy, origin.url, "Range: bytes=500-599")
        assert len(origin.asked) == 2


async def test_an_answer_from_parts_that_are_purged_meanwhile_gets_the_rest_from_the_origin(shared_proxy: Any) -> None:
    size, ends = 32_000_000, (9_000_000, 31_000_000)
    async with serving(FileOrigin(content_of(size))) as origin:
        await get(shared_proxy, origin.url, f"Range: bytes={ends[0]}-{ends[1] - 1}")
        await get(shared_proxy, origin.url, f"Range: bytes=0-{ends[0] - 1}")  # too short to be merged with that
        await asyncio.to_thread(shared_proxy.has_written)
        slow = socket.socket()
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
        slow.connect(("127.0.0.1", shared_proxy.port))
        reader, writer = await asyncio.open_connection(sock=slow)
        lines = f"Host: {origin.url.split('/')[2]}\r\nConnection: close\r\nRange: bytes=0-{ends[1] - 1}"
        writer.write(f"GET {origin.url} HTTP/1.1\r\n{lines}\r\n\r\n".encode())
        head = await reader.readuntil(b"\r\n\r\n")
        assert b"bestbefore; hit" in head
        assert (await get(shared_proxy, origin.url, method="PURGE")).status == 200
        assert await reader.read() == origin.content[: ends[1]]
        writer.close()
        assert [asked.range for asked in origin.asked[2:]] == [f"bytes={ends[0]}-"]


async def test_an_origin_without_ranges_has_them_once_its_answer_is_stored(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), knows_ranges=False)) as origin:
        first = await get(shared_proxy, origin.url, "Range: bytes=-10")
        assert (first.status, first.body) == (200, origin.content)
        assert "stored" in first.told
        second = await get(shared_proxy, origin.url, "Range: bytes=-10")
        assert (second.status, second.body) == (206, origin.content[-10:])
        assert len(origin.asked) == 1


async def test_a_stale_copy_is_confirmed_first_and_gives_the_part(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), ("Cache-Control: max-age=0",))) as origin:
        await get(shared_proxy, origin.url)
        got = await get(shared_proxy, origin.url, "Range: bytes=70000-70009", f"If-Range: {origin.etag}")
        assert (got.status, got.body) == (206, origin.content[70_000:70_010])
        assert "fwd=stale; fwd-status=304" in got.told
        assert origin.asked[-1].fields["if-none-match"] == origin.etag
        assert origin.asked[-1].range is None


async def test_a_stale_copy_that_has_changed_is_replaced_and_the_part_is_of_the_new(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), ("Cache-Control: max-age=0",))) as origin:
        await get(shared_proxy, origin.url)
        old = origin.etag
        origin.content = content_of(90_000, seed=2)
        origin.lines = (HOUR,)
        got = await get(shared_proxy, origin.url, "Range: bytes=60000-60009")
        assert (got.status, got.body) == (206, origin.content[60_000:60_010])
        assert got.fields["content-range"] == "bytes 60000-60009/90000"
        assert got.fields["etag"] == origin.etag
        assert "fwd=stale; fwd-status=200; stored" in got.told
        resumed = await get(shared_proxy, origin.url, "Range: bytes=95000-", f"If-Range: {old}")
        assert (resumed.status, resumed.body) == (200, origin.content)
        assert "; hit" in resumed.told
        assert len(origin.asked) == 2


async def test_who_wants_parts_shares_one_validation_with_who_wants_the_whole(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(LARGE), ("Cache-Control: max-age=0",))) as origin:
        await get(shared_proxy, origin.url)
        origin.content, starts = content_of(LARGE, seed=2), range(0, LARGE, LARGE // 20)
        origin.ready = AllHaveAsked(shared_proxy, 3 + len(starts))
        wholes, parts = await asyncio.gather(
            asyncio.gather(*(get(shared_proxy, origin.url) for _ in range(3))),
            asyncio.gather(*(get(shared_proxy, origin.url, f"Range: bytes={at}-{at + 99_999}") for at in starts)),
        )
        assert len(origin.asked) == 2
        assert all(got.body == origin.content for got in wholes)
        for at, got in zip(starts, parts, strict=True):
            assert (got.status, got.body) == (206, origin.content[at : at + 100_000])


async def test_segments_that_arrive_at_once_are_all_stored(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(LARGE), delay_s=0.2)) as origin:
        step = LARGE // 12
        lines = [f"Range: bytes={at}-{at + step - 1}" for at in range(0, LARGE, step)]
        got = await asyncio.gather(*(get(shared_proxy, origin.url, line) for line in lines))
        assert b"".join(one.body for one in got) == origin.content
        whole = await get(shared_proxy, origin.url)
        assert whole.body == origin.content
        assert "; hit" in whole.told
        assert len(origin.asked) == 12


async def test_clients_that_want_the_same_range_at_once_share_one_contact(shared_proxy: Any) -> None:
    for lines, contacts in ((HOUR,), 2), (("Cache-Control: private",), 11):
        async with serving(FileOrigin(content_of(LARGE), lines, delay_s=0.3)) as origin:
            ends = [1_999_999] * 10 + [1_999_998]
            origin.ready = AllHaveAsked(shared_proxy, len(ends))
            wanted = (f"Range: bytes=1000000-{end}" for end in ends)
            got = await asyncio.gather(*(get(shared_proxy, origin.url, line) for line in wanted))
            for one, end in zip(got, ends, strict=True):
                assert one.fields["content-range"] == f"bytes 1000000-{end}/{LARGE}"
                assert (one.status, one.body) == (206, origin.content[1_000_000 : end + 1])
            assert len(origin.asked) == contacts


async def test_parts_are_served_stale_while_the_origin_fails(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), ("Cache-Control: max-age=0, stale-if-error=600",))) as origin:
        await get(shared_proxy, origin.url, "Range: bytes=500-999")
        await get(shared_proxy, origin.url, "Range: bytes=60000-60999")
        origin.fails = True
        got = await get(shared_proxy, origin.url, "Range: bytes=600-699")
        assert (got.status, got.body) == (206, origin.content[600:700])
        assert "fwd-status=503" in got.told
        assert "stale-if-error" in got.told
        assert (await get(shared_proxy, origin.url, "Range: bytes=0-699")).status == 503
    covered = await get(shared_proxy, origin.url, "Range: bytes=500-509,60000-60009")
    assert [body for _, body in covered.parts()] == [origin.content[500:510], origin.content[60_000:60_010]]
    assert "stale-if-error" in covered.told
    assert (await get(shared_proxy, origin.url, "Range: bytes=0-9")).status == 502


async def test_a_part_is_served_stale_while_the_origin_is_down(shared_proxy: Any) -> None:
    async with serving(FileOrigin(content_of(MEDIUM), ("Cache-Control: max-age=0, stale-if-error=600",))) as origin:
        await get(shared_proxy, origin.url)
    got = await get(shared_proxy, origin.url, "Range: bytes=-7")
    assert (got.status, got.body) == (206, origin.content[-7:])
    assert "stale-if-error" in got.told


def test_a_part_over_https(shared_proxy: Any, start_origin: Start, authority: Any) -> None:
    origin = start_origin({"/page": [1_000_000_000.0]}, authority.leaf_file)
    origin.extra = {"Cache-Control": "max-age=60"}
    trust = ssl.create_default_context(cafile=shared_proxy.state / "mitmproxy-ca-cert.pem")
    host, port = origin.url.removeprefix("https://").split(":")
    connection = HTTPSConnection("127.0.0.1", shared_proxy.port, timeout=60, context=trust)
    connection.set_tunnel(host, int(port))
    told = []
    for fields in ({}, {"Range": "bytes=6-12"}):
        connection.request("GET", "/page", headers=fields)
        answer = connection.getresponse()
        told.append((answer.status, answer.read(), "; hit" in (answer.headers["Cache-Status"] or "")))
    connection.close()
    assert told == [(200, b"/page version 1\n", False), (206, b"version", True)]
    assert len(origin.contacts) == 1
