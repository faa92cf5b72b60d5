"""The state of an HTTP/2 connection as the answers past the library h2 need it, and change it.

This leans on how h2 keeps its state: it is used with the versions of h2 that are named here. What h2 knows afterwards
is what it knows of a stream that was opened, answered, closed and forgotten.
"""

import h2
from h2.connection import ConnectionState
from h2.stream import StreamClosedBy
from mitmproxy.proxy.layers.http._http2 import normalize_h1_headers
from mitmproxy.proxy.layers.http._http_h2 import BufferedH2Connection

__all__ = ["BufferedH2Connection", "OpenHttp2", "normalize_h1_headers"]

KNOWN_VERSIONS = frozenset(("4.3.0", "4.4.0", "4.4.1"))
"""The versions of h2 with which this was tested. Under another, h2 reads and writes all frames."""
LARGEST_WINDOW = (1 << 31) - 1


def is_known() -> bool:
    """Whether the installed h2 is one that this was tested with."""
    return h2.__version__ in KNOWN_VERSIONS


class OpenHttp2:
    """The side of a server of one connection."""

    def __init__(self, connection: BufferedH2Connection) -> None:
        self._connection = connection

    @property
    def is_idle(self) -> bool:
        """Whether the next data begins a frame, no block of fields is incomplete, and all responses are sent."""
        connection = self._connection
        incoming = connection.incoming_buffer
        return (
            connection.state_machine.state is ConnectionState.SERVER_OPEN
            and not incoming._data  # noqa: SLF001 - there is no public way
            and not incoming._headers_buffer  # noqa: SLF001
            and not connection.stream_buffers
            and not connection._data_to_send  # noqa: SLF001
        )

    @property
    def frame_bytes(self) -> int:
        """The most content of a frame that the client takes."""
        return self._connection.max_outbound_frame_size

    def may_open(self, stream_id: int) -> bool:
        """Whether a request may open this stream now."""
        return stream_id % 2 == 1 and self._connection.highest_inbound_stream_id < stream_id <= LARGEST_WINDOW

    def send(self, stream_id: int, size: int) -> bool:
        """Note a new stream, with a response of this size that ends it; False if the windows do not allow it."""
        connection = self._connection
        window = min(connection.outbound_flow_control_window, connection.remote_settings.initial_window_size)
        if size > window:
            return False
        connection.highest_inbound_stream_id = stream_id
        connection._closed_streams[stream_id] = StreamClosedBy.SEND_END_STREAM  # noqa: SLF001
        connection.outbound_flow_control_window -= size
        return True

    def widen(self, stream_id: int, size: int) -> bool:
        """Note that the client opens a window further; False if h2 must read the frame."""
        connection = self._connection
        if not 0 < size <= LARGEST_WINDOW:
            return False
        if not stream_id:
            window = connection.outbound_flow_control_window + size
            if window > LARGEST_WINDOW:
                return False
            connection.outbound_flow_control_window = window
            return True
        # That of a stream which is closed and forgotten is of no use.
        return stream_id in connection._closed_streams and stream_id not in connection.streams  # noqa: SLF001
