"""How mitmproxy reads the requests of an HTTP/1 client, less what it cannot read."""

from typing import Any

import h11
from h11._readers import ChunkedReader
from mitmproxy.proxy import events, layer
from mitmproxy.proxy.layers.http import Http1Server


class Http1ServerWithoutTrailers(Http1Server):
    """Drops the trailer fields of requests (RFC 9110 6.5.1). mitmproxy 12 fails at them, and the client would wait."""

    def read_body(self, event: events.Event) -> layer.CommandGenerator[None]:
        """As mitmproxy's."""
        if isinstance(self.body_reader, ChunkedReader):
            self.body_reader = _WithoutTrailers(self.body_reader)  # type: ignore[assignment]
        yield from super().read_body(event)


class _WithoutTrailers:
    """Chunked content that ends without trailer fields."""

    def __init__(self, reader: ChunkedReader) -> None:
        self._reader = reader
        self.read_eof = reader.read_eof

    def __call__(self, data: Any) -> h11.Data | h11.EndOfMessage | None:
        event = self._reader(data)
        return h11.EndOfMessage() if isinstance(event, h11.EndOfMessage) else event
