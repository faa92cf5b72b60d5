"""HTTP/2 connections of clients, closed when their peer makes work without asking for anything.

That is a stream that is opened and reset at once, or opened such that we must reset it (CVE-2023-44487, CVE-2025-8671),
and frames that need an answer or a look but carry nothing. Each connection may have some of these, as clients do that
change their mind; one that has more is ended with ENHANCE_YOUR_CALM (RFC 9113 7).
"""

from collections.abc import Callable, Iterable
from typing import Any

import h2.errors
import h2.exceptions
from hyperframe import frame as frames
from mitmproxy.proxy import layer
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import Http2Server
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

RESETS, RESETS_PER_S = 200, 10
IDLE_FRAMES, IDLE_FRAMES_PER_S = 1000, 50

_IDLE = (frames.PingFrame, frames.SettingsFrame, frames.PriorityFrame, frames.ExtensionFrame)


class Allowance:
    """A rate limit: a burst, and so many per second."""

    def __init__(self, most: float, per_s: float) -> None:
        self._most, self._per_s = most, per_s
        self._left, self._at_s = most, 0.0

    def take(self, now_s: float) -> bool:
        """Take one; False if there was none left."""
        passed_s = max(0.0, now_s - self._at_s)
        self._left, self._at_s = min(self._most, self._left + passed_s * self._per_s) - 1, now_s
        if self._left < 0:
            self._left = 0
            return False
        return True


class CountingConnection(BufferedH2Connection):
    """mitmproxy's, with a count of resets and of frames that carry nothing."""

    def __init__(self, config: Any, now: Callable[[], float]) -> None:
        super().__init__(config)
        self._now = now
        self._resets = Allowance(RESETS, RESETS_PER_S)
        self._idle_frames = Allowance(IDLE_FRAMES, IDLE_FRAMES_PER_S)
        self.is_flooded = False

    def _receive_frame(self, frame: frames.Frame) -> list[Any]:
        if isinstance(frame, frames.RstStreamFrame):
            self._count(self._resets)
        elif isinstance(frame, _IDLE) or _is_empty(frame):
            self._count(self._idle_frames)
        if self.is_flooded:
            raise h2.exceptions.DenialOfServiceError("too many resets, or frames that carry nothing")
        received: list[Any] = super()._receive_frame(frame)
        return received

    def _prepare_for_sending(self, sent: Iterable[frames.Frame]) -> None:
        sent = list(sent)
        for frame in sent:
            if isinstance(frame, frames.RstStreamFrame):
                self._count(self._resets)
        super()._prepare_for_sending(sent)

    def _count(self, allowance: Allowance) -> None:
        if not allowance.take(self._now()):
            self.is_flooded = True


def _is_empty(frame: frames.Frame) -> bool:
    return isinstance(frame, frames.DataFrame) and not frame.data and "END_STREAM" not in frame.flags


class CalmHttp2Server(Http2Server):
    """mitmproxy's side of a client's HTTP/2 connection, ended when it is flooded."""

    def __init__(self, context: Context, now: Callable[[], float]) -> None:
        super().__init__(context)
        self.h2_conn = self._counting = CountingConnection(self.h2_conf, now)

    def protocol_error(
        self, message: str, error_code: int = h2.errors.ErrorCodes.PROTOCOL_ERROR
    ) -> layer.CommandGenerator[None]:
        """Handle a protocol error as mitmproxy does, with the reason that h2 gave."""
        code = h2.errors.ErrorCodes.ENHANCE_YOUR_CALM if self._counting.is_flooded else error_code
        yield from super().protocol_error(message, code)
