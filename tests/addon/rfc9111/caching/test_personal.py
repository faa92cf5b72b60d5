from collections.abc import Callable

import pytest

from bestbefore.addon.rfc9111.caching.personal import begins_session, binding, cookie_hash, may_use_learned_freshness
from bestbefore.addon.rfc9111.caching.storing import NoStore, why_not_store
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.directives import of_response
from bestbefore.addon.rfc9111.message import Fields, Head, Request

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]
type MakeHead = Callable[..., Head]
type MakeFields = Callable[..., Fields]

HTTPS = "https://example.org/page"
RECEIVED_S = 1_779_827_200.0


def test_the_hash_distinguishes_cookies_without_showing_them(fields: MakeFields) -> None:
    alice, bob, nobody = (cookie_hash(fields(*lines), b"salt") for lines in (["Cookie: a=1"], ["Cookie: a=2"], []))
    assert len({alice, bob, nobody, ""}) == 4
    assert "a=1" not in alice
    assert cookie_hash(fields("Cookie: a=1"), b"other") != alice
    assert cookie_hash(fields("Cookie: a=1", "Cookie: b=2"), b"") == cookie_hash(fields("cookie: a=1; b=2"), b"")


@pytest.mark.parametrize(
    ("cookie", "lines", "bound"),
    [
        (True, ["Cache-Control: max-age=60"], True),
        (True, ['ETag: "a"', "Content-Type: image/png"], True),
        (False, ["Cache-Control: max-age=60"], False),
        (False, ["Cache-Control: max-age=60", "Set-Cookie: a=b"], True),
        (True, ["Cache-Control: max-age=60, public"], False),
        (True, ["Cache-Control: s-maxage=60"], False),
        (False, ["Cache-Control: max-age=60, public", "Set-Cookie: a=b"], False),
        (True, ["Cache-Control: max-age=60", "Content-Type: IMAGE/png"], False),
        (True, ["Cache-Control: max-age=60", "Content-Type: text/css; charset=utf-8"], False),
        (True, ["Expires: Tue, 26 May 2026 21:26:40 GMT", "Content-Type: font/woff2"], False),
        (True, ["Cache-Control: max-age=60", "Content-Type: application/javascript"], False),
        (True, ["Cache-Control: max-age=60", "Content-Type: text/html"], True),
        (True, ["Cache-Control: max-age=60", "Content-Type: application/json"], True),
        (True, ["Cache-Control: max-age=60", "Content-Type: image/png", "Set-Cookie: a=b"], True),
    ],
)
def test_over_https_what_was_fetched_with_a_cookie_or_sets_one_is_bound_to_that_cookie(
    request_to: MakeRequest, response: MakeHead, cookie: bool, lines: list[str], bound: bool
) -> None:
    asked = ["Cookie: a=1"] if cookie else []
    head = response(*lines)
    expected = cookie_hash(request_to(*asked).fields, b"salt") if bound else ""
    assert binding(request_to(*asked, url=HTTPS), head, of_response(head.fields), b"salt") == expected
    assert binding(request_to(*asked), head, of_response(head.fields), b"salt") == ""


@pytest.mark.parametrize(
    ("url", "asked", "lines", "begins"),
    [
        (HTTPS, [], ["Cache-Control: max-age=60", "Set-Cookie: a=b"], True),
        (HTTPS, ["Cookie: a=1"], ["Cache-Control: max-age=60", "Set-Cookie: a=b"], False),
        (HTTPS, [], ["Cache-Control: max-age=60"], False),
        (HTTPS, [], ["Cache-Control: max-age=60, public", "Set-Cookie: a=b"], False),
        (HTTPS, [], ["Cache-Control: s-maxage=60", "Set-Cookie: a=b"], False),
        ("http://example.org/", [], ["Cache-Control: max-age=60", "Set-Cookie: a=b"], False),
    ],
)
def test_over_https_a_response_that_sets_a_first_cookie_is_not_stored(
    request_to: MakeRequest, response: MakeHead, url: str, asked: list[str], lines: list[str], begins: bool
) -> None:
    request, head = request_to(*asked, url=url), response(*lines)
    assert begins_session(request, head.fields, of_response(head.fields)) is begins
    assert why_not_store(request, head, RECEIVED_S) is (NoStore.SET_COOKIE if begins else None)


@pytest.mark.parametrize(
    ("fetched", "asked", "lines", "allowed"),
    [
        ([], [], [], True),
        (["Cookie: a=1"], [], [], False),
        (["Authorization: x"], [], ["Cache-Control: must-revalidate"], False),
        ([], ["Cookie: a=1"], [], False),
        ([], ["Authorization: x"], [], False),
        (["Cookie: a=1"], ["Cookie: a=1"], ["Cache-Control: public"], True),
        ([], [], ["Set-Cookie: a=b"], False),
        ([], [], ["Set-Cookie: a=b", "Cache-Control: public"], False),
    ],
)
def test_learned_freshness_keeps_away_from_credentials(
    request_to: MakeRequest,
    stored: MakeCopy,
    fetched: list[str],
    asked: list[str],
    lines: list[str],
    allowed: bool,
) -> None:
    copy = stored('ETag: "a"', *lines, request=request_to(*fetched))
    assert may_use_learned_freshness(request_to(*asked), copy) is allowed
