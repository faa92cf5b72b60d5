from collections.abc import Callable

import pytest

from bestbefore.addon.rfc9111.caching.bypass import Bypass, bypass_reason, is_malformed, is_unusual
from bestbefore.addon.rfc9111.message import Request, Target

type MakeRequest = Callable[..., Request]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("X-Forwarded-Host: evil", Bypass.UNKEYED),
        ("x-forwarded-anything: 1", Bypass.UNKEYED),
        ("Forwarded: host=evil", Bypass.UNKEYED),
        ("X-Original-URL: /admin", Bypass.UNKEYED),
        ("X-Rewrite-URL: /admin", Bypass.UNKEYED),
        ("X-HTTP-Method-Override: DELETE", Bypass.UNKEYED),
        ("X_Original_URL: /admin", Bypass.UNKEYED),
        ("X_FORWARDED_HOST: evil", Bypass.UNKEYED),
        ("X-Forwarded: for=evil", Bypass.UNKEYED),
        ("X-Host: evil", Bypass.UNKEYED),
        *(
            (f"{name}: evil", Bypass.UNKEYED)
            for name in (
                "X-Real-IP", "True-Client-IP", "X-Client-IP", "X-Cluster-Client-IP", "X-Originating-IP", "Client-IP",
                "CF-Connecting-IP", "Fastly-Client-IP", "CloudFront-Forwarded-Proto", "X-Original-URI", "X-Url-Scheme",
                "X-Scheme", "X-HTTP-DestinationURL", "X-Forward-For", "Rsc", "RSC", "Next-Router-State-Tree",
                "Next-Router-Prefetch", "X-Middleware-Prefetch", "X-Middleware-Subrequest", "X-Now-Route-Matches",
                "X-React-Router-SPA-Mode", "Surrogate-Capability", "Proxy", "X_Real_IP",
            )
        ),
        ("Upgrade: websocket", Bypass.UPGRADE),
        ('If-Match: "a"', Bypass.PRECONDITION),
        ("If-Unmodified-Since: Tue, 26 May 2026 20:26:40 GMT", Bypass.PRECONDITION),
        ('If-None-Match: "a"', None),
        ("Range: bytes=0-1", None),
        ("Cookie: a=b", None),
        ("If-Range: x", None),
    ],
)
def test_fields_that_lead_past_the_cache(request_to: MakeRequest, line: str, reason: Bypass | None) -> None:
    many = [f"N{number}: x" for number in range(100)]
    assert bypass_reason(request_to(line)) is bypass_reason(request_to(line, *many)) is reason
    assert bypass_reason(request_to(line, method="HEAD")) is reason


def test_what_usual_clients_send_leads_nowhere(request_to: MakeRequest) -> None:
    browsers = (
        "Host", "User-Agent", "Accept", "Accept-Language", "Accept-Encoding", "Connection", "Proxy-Connection", "DNT",
        "Cookie", "Origin", "Referer", "Upgrade-Insecure-Requests", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-GPC",
        "Sec-CH-UA", "Sec-CH-UA-Platform", "Sec-Purpose", "Purpose", "Priority", "Pragma", "Cache-Control", "Range",
        "Save-Data", "X-Requested-With", "X-Client-Data", "X-Wap-Profile", "X-Moz", "TE", "Early-Data",
    )  # fmt: skip
    others = (
        "From", "A-IM", "Via", "X-GitHub-Api-Version", "X-CSRF-Token", "X-Request-ID", "X-Amz-Date", "X-Amzn-Trace-Id",
        "Traceparent", "B3", "X-Envoy-Attempt-Count", "X-Goog-Api-Client", "NPM-Command", "Git-Protocol", "Docker-X",
    )  # fmt: skip
    assert bypass_reason(request_to(*(f"{name}: x" for name in (*browsers, *others)))) is None


def test_only_get_and_head_without_a_body_may_be_answered(request_to: MakeRequest) -> None:
    assert bypass_reason(request_to()) is None
    assert bypass_reason(request_to(method="HEAD")) is None
    assert bypass_reason(request_to(has_body=True)) is Bypass.BODY
    for method in ("POST", "get", "QUERY", "OPTIONS", ""):
        assert bypass_reason(request_to(method=method)) is Bypass.METHOD


@pytest.mark.parametrize(
    ("lines", "unusual"),
    [
        ([], False),
        (["Cookie: a=1", "Accept: */*"], False),
        (["X: " + "x" * 4000], False),
        (["X: " + "x" * (4096 - 5)], False),
        (["X: " + "x" * (4096 - 4)], True),
        ([f"X-{n}: y" for n in range(1000)], True),
        (["X: 1", "x: 2"], True),
    ],
)
def test_which_requests_an_error_may_be_about(request_to: MakeRequest, lines: list[str], unusual: bool) -> None:
    assert is_unusual(request_to(*lines).fields) is unusual


@pytest.mark.parametrize("value", ["\x00", "a\rb", "a\nb", "a\r\n b", "a\x1fb", "\x7f"])
def test_a_value_with_a_control_character_is_malformed(request_to: MakeRequest, value: str) -> None:
    assert is_malformed(request_to("A: 1", f"X: {value}"))


@pytest.mark.parametrize("value", ["", "a\tb", "\x80\xff", "~!"])
def test_a_tab_and_bytes_beyond_ascii_are_none(request_to: MakeRequest, value: str) -> None:
    assert not is_malformed(request_to("A: 1", f"X: {value}"))


@pytest.mark.parametrize("path", ["/a b", "/a HTTP/1.1", "/a\tb", "/?\x0b", "/\x7f"])
def test_so_is_a_target_with_one_or_with_a_space(path: str) -> None:
    assert is_malformed(Request("GET", Target.of("http", "example.org", None, path)))


def test_any_other_target_is_not() -> None:
    assert not is_malformed(Request("GET", Target.of("http", "example.org", None, "/a%20b/\xff?c=[d]|{e}")))
