"""HTTP/2 connections of clients, closed when the client floods them with resets or empty frames.

Counted are streams that the client opens and resets at once, or opens such that the proxy must reset them
(CVE-2023-44487, CVE-2025-8671), and frames that cost processing but carry no data. A client that cancels requests
causes some of these. A connection that exceeds the rate is closed with ENHANCE_YOUR_CALM (RFC 9113 7).
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import h2.errors
import h2.events
import h2.exceptions
from hyperframe import frame as frames
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import Http2Server

from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.mitm.translate import pairs_of
from bestbefore.addon.proxy.mitm.wire.http2_hits import Http2Hits
from bestbefore.addon.proxy.mitm.wire.kept import KeptRoom
from bestbefore.addon.proxy.mitm.wire.open_http2 import BufferedH2Connection, OpenHttp2, normalize_h1_headers
from bestbefore.addon.proxy.mitm.wire.written import Written

RESETS, RESETS_PER_S = 200, 10
IDLE_FRAMES, IDLE_FRAMES_PER_S = 1000, 50

type StreamAnswerer = Callable[[int, Sequence[tuple[bytes, bytes]]], Answer | None]

_IDLE = (frames.PingFrame, frames.SettingsFrame, frames.PriorityFrame, frames.ExtensionFrame)


class TokenBucket:
    """A token bucket: permits a burst of `capacity` events, and `per_s` events per second in the long run."""

    def __init__(self, capacity: float, per_s: float) -> None:
        self._capacity, self._per_s = capacity, per_s
        self._tokens, self._filled_at_s = capacity, 0.0

    def take(self, now_s: float) -> bool:
        """Take a token; False if none was left."""
        passed_s = max(0.0, now_s - self._filled_at_s)
        self._tokens, self._filled_at_s = min(self._capacity, self._tokens + passed_s * self._per_s) - 1, now_s
        if self._tokens < 0:
            self._tokens = 0
            return False
        return True


class CountingConnection(BufferedH2Connection):
    """mitmproxy's HTTP/2 connection with limits on the rates of resets and of empty frames."""

    def __init__(self, config: Any, now: Callable[[], float], room: KeptRoom) -> None:
        super().__init__(config)
        self._now = now
        self._resets = TokenBucket(RESETS, RESETS_PER_S)
        self._idle_frames = TokenBucket(IDLE_FRAMES, IDLE_FRAMES_PER_S)
        self.is_flooded = False
        self.hits = Http2Hits(OpenHttp2(self), room)

    def _receive_frame(self, frame: frames.Frame) -> list[Any]:
        if isinstance(frame, frames.RstStreamFrame):
            self._count(self._resets)
        elif isinstance(frame, _IDLE) or _is_empty(frame):
            self._count(self._idle_frames)
        if self.is_flooded:
            raise h2.exceptions.DenialOfServiceError("too many resets, or frames that carry nothing")
        if isinstance(frame, frames.HeadersFrame):
            self.hits.received(frame.stream_id, bytes(frame.data), is_whole="END_STREAM" in frame.flags)
        received: list[Any] = super()._receive_frame(frame)
        return received

    def _prepare_for_sending(self, sent: Iterable[frames.Frame]) -> None:
        sent = list(sent)
        for frame in sent:
            if isinstance(frame, frames.RstStreamFrame):
                self._count(self._resets)
        super()._prepare_for_sending(sent)

    def _count(self, bucket: TokenBucket) -> None:
        if not bucket.take(self._now()):
            self.is_flooded = True


def _is_empty(frame: frames.Frame) -> bool:
    return isinstance(frame, frames.DataFrame) and not frame.data and "END_STREAM" not in frame.flags


class CalmHttp2Server(Http2Server):
    """mitmproxy's server side of an HTTP/2 connection, which closes a connection that is flooded."""

    def __init__(self, context: Context, now: Callable[[], float], room: KeptRoom, answer: StreamAnswerer) -> None:
        """`answer` gets the number of a stream and the fields of its request, which has no content.

        It returns an answer that is to be sent at once, or None.
        """
        super().__init__(context)
        self.h2_conn = self._counting = CountingConnection(self.h2_conf, now, room)
        self._answer = answer

    def handle_h2_event(self, event: h2.events.Event) -> layer.CommandGenerator[bool]:
        """Answer a request if it is a hit; else handle the event as mitmproxy does."""
        if isinstance(event, h2.events.RequestReceived):
            if event.stream_ended and self._has_sent_hit(event):
                return False  # mitmproxy sends what is pending after all events
            self._counting.hits.forget()
        return (yield from super().handle_h2_event(event))

    def _has_sent_hit(self, event: h2.events.RequestReceived) -> bool:
        stream_id = event.stream_id
        if stream_id is None or not event.headers or not self.is_open_for_us(stream_id):
            return False  # a frame behind it may have reset it already
        answer = self._answer(stream_id, event.headers)
        if answer is None:
            return False
        fields = normalize_h1_headers(list(pairs_of(answer.head.fields)), is_client=False)
        lines = [(b":status", b"%d" % answer.head.status), *fields]
        self.h2_conn.send_headers(stream_id, lines, end_stream=not answer.body)
        if answer.body:
            is_one_frame = len(answer.body) <= self.h2_conn.max_outbound_frame_size
            self.h2_conn.send_data(stream_id, answer.body, end_stream=is_one_frame)
            if not is_one_frame:  # mitmproxy ends no stream with data that it divides
                self.h2_conn.end_stream(stream_id)
        self._counting.hits.keep(stream_id, answer.repeat, lines, answer.body)
        answer.finish(len(answer.body), complete=True)
        return True

    def hits(self, data: bytes) -> Written | None:
        """Answer the requests at the beginning of data that were answered before."""
        return self._counting.hits.answer(data)

    def protocol_error(
        self, message: str, error_code: int = h2.errors.ErrorCodes.PROTOCOL_ERROR
    ) -> layer.CommandGenerator[None]:
        """Handle a protocol error as mitmproxy does, with ENHANCE_YOUR_CALM as the code for a flood."""
        code = h2.errors.ErrorCodes.ENHANCE_YOUR_CALM if self._counting.is_flooded else error_code
        yield from super().protocol_error(message, code)
