"""Between mitmproxy's messages and the engine's."""

import mitmproxy.http
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.proxy.mitm.translate import error_response, fields_of, pairs_of, request_of, response_of
from bestbefore.addon.rfc9111.message import Fields, Head


def a_request(path: bytes = b"/a?b", *fields: tuple[bytes, bytes]) -> mitmproxy.http.Request:
    return mitmproxy.http.Request(
        host="Example.ORG", port=8080, method=b"GET", scheme=b"http", authority=b"", path=path,
        http_version=b"HTTP/1.1", headers=mitmproxy.http.Headers(fields), content=None, trailers=None,
        timestamp_start=0.0, timestamp_end=None,
    )


@given(st.lists(st.tuples(st.binary(min_size=1), st.binary())))
def test_fields_keep_every_byte_both_ways(pairs: list[tuple[bytes, bytes]]) -> None:
    assert pairs_of(fields_of(mitmproxy.http.Headers(pairs))) == tuple(pairs)


def test_a_request_names_its_object() -> None:
    request = request_of(a_request(), has_body=False)
    assert (request.method, request.target.url) == ("GET", "http://example.org:8080/a?b")
    assert request.version == "HTTP/1.1"


def test_an_error_has_the_form_that_the_client_asks_for() -> None:
    browser = a_request(b"/", (b"Accept", b"text/html"))
    response = error_response(browser, 407, "credentials are required", ("Proxy-Authenticate", "Basic"))
    assert (response.status_code, response.headers["content-type"]) == (407, "text/html; charset=utf-8")
    assert (response.headers["proxy-authenticate"], response.headers["x-content-type-options"]) == ("Basic", "nosniff")
    assert error_response(a_request(), 403, "it is barred").text == (
        "bestbefore: it is barred; ask the operator of the proxy\n"
    )


def test_a_response_is_built_without_touching_its_fields() -> None:
    response = response_of(Head(304, Fields([("Content-Length", "5"), ("X", "é")]), "Fine"), now_s=1.0)
    assert (response.status_code, response.reason) == (304, "Fine")
    assert response.headers.fields == ((b"Content-Length", b"5"), (b"X", b"\xe9"))
    assert response.raw_content is None
