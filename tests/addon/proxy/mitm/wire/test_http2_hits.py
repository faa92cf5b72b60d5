"""What a client of the library h2 gets, where some requests are answered past h2: each its answer, to its end."""

import random
from collections import defaultdict
from contextlib import suppress
from typing import Any

import h2.config
import h2.connection
import h2.events
import h2.exceptions
import pytest
from h2.settings import SettingCodes
from hpack import Decoder, Encoder
from hpack.exceptions import HPACKError
from hypothesis import given
from hypothesis import strategies as st
from mitmproxy.proxy import commands, events
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.http2 import CalmHttp2Server
from bestbefore.addon.proxy.mitm.layer import CachingHttpLayer
from bestbefore.addon.proxy.mitm.wire.http2_hits import leaves_table
from bestbefore.addon.proxy.mitm.wire.internals import is_between_frames
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from tests.addon.proxy.mitm.fixed_gateway import FixedGateway


class Memory(FixedGateway):
    """Has everything, in a size that the path names; its answers are repeated until `version` is another."""

    version = 0
    repeated = 0

    def hit(self, request: Request, *_: Any) -> Answer | None:
        size = 0 if request.method == "HEAD" else int(request.target.path.partition("=")[2])
        lines = [("Path", request.target.path), ("Seen", request.fields.get("seen") or ""), ("V", str(self.version))]
        answer = Answer(Head(200, Fields(lines)), bytes(size))
        answer.repeat = Repeat(self)
        return answer


class Repeat:
    def __init__(self, memory: Memory) -> None:
        self.memory, self.version = memory, memory.version

    def begin(self) -> bool:
        return self.version == self.memory.version

    def finish(self) -> None:
        self.memory.repeated += 1


class Wire:
    """A client and a server, whose data is given to the hits first if nothing waits."""

    def __init__(self, context: Context, memory: Memory) -> None:
        context.client.alpn, context.client.tls = b"h2", True
        context.server.address, context.server.tls = ("a", 443), True
        self.layer = CachingHttpLayer(context, HTTPMode.transparent, memory)
        self.client = h2.connection.H2Connection(h2.config.H2Configuration(header_encoding="utf-8"))
        self.client.initiate_connection()
        self.heads: dict[int, dict[str, str]] = {}
        self.sizes = defaultdict[int, int](int)
        self.ended = set[int]()
        self.take(self.layer.handle_event(events.Start()))

    def send(self) -> None:
        data, server = self.client.data_to_send(), self.layer.connections[self.layer.context.client]
        assert isinstance(server, CalmHttp2Server)
        if is_between_frames(self.layer) and (written := server.hits(data)) is not None:
            self.note(written.response)
            written.finish()
            data = data[written.end :]
        if data:
            self.take(self.layer.handle_event(events.DataReceived(self.layer.context.client, data)))

    def take(self, issued: Any) -> None:
        for command in issued:
            assert isinstance(command, commands.SendData), command
            self.note(command.data)

    def note(self, data: bytes) -> None:
        for event in self.client.receive_data(data):
            if isinstance(event, h2.events.ResponseReceived):
                self.heads[event.stream_id] = dict(event.headers)  # type: ignore[index]
            elif isinstance(event, h2.events.DataReceived):
                self.sizes[event.stream_id] += len(event.data)  # type: ignore[index]
            elif isinstance(event, h2.events.StreamEnded):
                self.ended.add(event.stream_id)  # type: ignore[arg-type]
            assert not isinstance(event, (h2.events.StreamReset, h2.events.ConnectionTerminated)), event


def disturb(wire: Wire, memory: Memory, chosen: random.Random, last: int) -> None:
    """Let the client send other frames, or the answers change."""
    client = wire.client
    match chosen.randrange(12):
        case 0:
            client.update_settings({SettingCodes.INITIAL_WINDOW_SIZE: chosen.choice((1_000, 65_535))})
        case 1:
            client.update_settings({SettingCodes.HEADER_TABLE_SIZE: chosen.choice((0, 4096))})
        case 2:
            client.ping(b"12345678")
        case 3:
            memory.version += 1
        case 4:  # late frames for a stream that has ended
            with suppress(h2.exceptions.StreamClosedError):
                client.increment_flow_control_window(7, last)


@pytest.mark.parametrize("seed", range(2))
def test_each_request_is_answered_once_past_h2_or_by_it(context: Context, seed: int) -> None:
    memory, chosen = Memory(), random.Random(seed)
    wire = Wire(context, memory)
    client = wire.client
    asked: dict[int, tuple[str, str, int]] = {}
    for _ in range(120):
        for _ in range(chosen.choice((1, 1, 1, 3))):
            number, method = client.get_next_available_stream_id(), chosen.choice(("GET", "GET", "GET", "HEAD"))
            path = f"/{chosen.choice('ab')}={chosen.choice((0, 5, 5, 3_000))}"
            pseudo = [(":method", method), (":scheme", "https"), (":authority", "a"), (":path", path)]
            seen = "x" if chosen.random() < 0.9 else str(chosen.random())
            client.send_headers(number, [*pseudo, ("seen", seen)], end_stream=True)
            asked[number] = (path, seen, 0 if method == "HEAD" else int(path[3:]))
        wire.send()
        disturb(wire, memory, chosen, max(asked))
        if client.inbound_flow_control_window < 200_000 and chosen.random() < 0.5:
            client.increment_flow_control_window(chosen.choice((100, 50_000)))
        for number in set(asked) - wire.ended:
            with suppress(h2.exceptions.ProtocolError):
                client.increment_flow_control_window(20_000, number)
    for _ in range(200):  # open all windows, until all is sent
        client.increment_flow_control_window(50_000)
        for number in set(asked) - wire.ended:
            client.increment_flow_control_window(20_000, number)
        wire.send()
    assert wire.ended == set(asked)
    for number, (path, seen, size) in asked.items():
        head = wire.heads[number]
        assert (head[":status"], head["path"], head["seen"], wire.sizes[number]) == ("200", path, seen, size)
    assert memory.repeated > 10


@pytest.mark.parametrize("size", [16_384, 16_385, 32_768, 40_000, 65_535, 65_536, 200_000])
def test_a_stream_ends_after_content_of_any_size(context: Context, size: int) -> None:
    memory = Memory()
    wire = Wire(context, memory)
    for _ in range(3):  # the last is repeated
        number = wire.client.get_next_available_stream_id()
        pseudo = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", f"/a={size}")]
        wire.client.send_headers(number, pseudo, end_stream=True)
        wire.client.increment_flow_control_window(size)
        wire.send()
        if number not in wire.ended:
            wire.client.increment_flow_control_window(size, number)
            wire.send()
        assert (number in wire.ended, wire.sizes[number]) == (True, size)


FIELD = st.tuples(st.sampled_from(["a", "b", ":path", "cookie"]), st.text("xyz", max_size=150), st.booleans())


@given(st.lists(st.lists(FIELD, max_size=4), max_size=6), st.binary(max_size=12))
def test_a_block_that_leaves_the_table_means_the_same_again(
    blocks: list[list[tuple[str, str, bool]]], end: bytes
) -> None:
    encoder, decoder = Encoder(), Decoder()
    for fields in blocks:
        block = encoder.encode(fields, huffman=len(fields) % 2 == 0)
        before = list(decoder.header_table.dynamic_entries)
        decoder.decode(block)
        after = list(decoder.header_table.dynamic_entries)
        if leaves_table(block):
            assert after == before
        elif block[0] & 0xE0 != 0x20:  # a size as before changes nothing
            assert after != before or any(len(value) > 100 for _, value, _ in fields)
    before, is_left = list(decoder.header_table.dynamic_entries), leaves_table(end)
    with suppress(HPACKError):
        decoder.decode(end)
        assert not is_left or list(decoder.header_table.dynamic_entries) == before


def test_a_malformed_block_is_read_to_its_end_at_once() -> None:
    for block in (b"\x0f" + 40 * b"\xff", 60_000 * b"\xff", b"\x00", b"\x00\x7f"):
        leaves_table(block)


def test_blocks_of_usual_clients() -> None:
    encoder = Encoder()
    fields = [(":method", "GET"), (":scheme", "https"), (":authority", "a"), (":path", "/x")]
    assert [leaves_table(encoder.encode(fields)) for _ in range(2)] == [False, True]
    as_nghttp2 = b"\x82\x87\x04\x02/x"  # the path as a literal that is not indexed
    assert leaves_table(as_nghttp2)
