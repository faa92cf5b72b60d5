"""Conversion between mitmproxy's messages and those of the engine."""

import mitmproxy.http

from bestbefore.addon.engine.error_page import error_content
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

Pairs = tuple[tuple[bytes, bytes], ...]


def fields_of(headers: mitmproxy.http.Headers) -> Fields:
    """Convert field lines for the engine: to latin-1 text, which keeps every byte."""
    return Fields((name.decode("latin-1"), value.decode("latin-1")) for name, value in headers.fields)


def pairs_of(fields: Fields) -> Pairs:
    """Convert field lines for mitmproxy."""
    return tuple((name.encode("latin-1"), value.encode("latin-1", "replace")) for name, value in fields.raw)


def request_of(request: mitmproxy.http.Request, *, has_body: bool) -> Request:
    """Convert a request for the engine. mitmproxy must have set its scheme, host and port."""
    data = request.data
    return Request(
        data.method.decode("latin-1"),
        Target.of(data.scheme.decode("latin-1"), data.host, data.port, data.path.decode("latin-1")),
        fields_of(data.headers),
        has_body=has_body,
        version=data.http_version.decode("latin-1"),
    )


def error_response(
    request: mitmproxy.http.Request,
    status: int,
    message: str,
    *fields: tuple[str, str],
    detail: str = "not-allowed",
    advice: str = "",
) -> mitmproxy.http.Response:
    """Return an error response of the proxy's own to a request that mitmproxy would forward."""
    media_type, content = error_content(fields_of(request.headers), request.pretty_url, status, detail, message, advice)
    lines = Fields((("Content-Type", media_type), ("X-Content-Type-Options", "nosniff"), *fields))
    return mitmproxy.http.Response.make(status, content, mitmproxy.http.Headers(pairs_of(lines)))


def response_of(head: Head, *, now_s: float) -> mitmproxy.http.Response:
    """Return a response without content for mitmproxy. Built directly, as `Response.make` would re-encode the body."""
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
