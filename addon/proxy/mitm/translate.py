"""The translation between mitmproxy's messages and those of the engine."""

import mitmproxy.http

from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

Pairs = tuple[tuple[bytes, bytes], ...]


def fields_of(headers: mitmproxy.http.Headers) -> Fields:
    """Header lines as the engine takes them: latin-1 text, which keeps every byte."""
    return Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields)


def pairs_of(fields: Fields) -> Pairs:
    """Header lines as mitmproxy takes them."""
    return tuple((name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in fields.raw)


def request_of(request: mitmproxy.http.Request, *, has_body: bool) -> Request:
    """The engine's view of a request whose destination mitmproxy has settled (scheme, host and port are set)."""
    data = request.data
    return Request(
        data.method.decode("latin-1"),
        Target.of(data.scheme.decode("latin-1"), data.host, data.port, data.path.decode("latin-1")),
        fields_of(data.headers),
        has_body=has_body,
    )


def response_of(head: Head, *, now_s: float) -> mitmproxy.http.Response:
    """A response for mitmproxy to send, without content. Built directly: `Response.make` would re-encode the body."""
    return mitmproxy.http.Response(
        http_version=b"HTTP/1.1",
        status_code=head.status,
        reason=head.reason.encode("latin-1", "replace"),
        headers=mitmproxy.http.Headers(pairs_of(head.fields)),
        content=None,
        trailers=None,
        timestamp_start=now_s,
        timestamp_end=now_s,
    )
