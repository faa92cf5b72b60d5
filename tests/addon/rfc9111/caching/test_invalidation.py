from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.invalidation import invalidated, invalidated_groups
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target

type MakeRequest = Callable[..., Request]


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "M-SEARCH", "post"])
def test_an_unsafe_request_that_succeeded_invalidates_its_target(request_to: MakeRequest, method: str) -> None:
    for status, urls in ((200, 1), (204, 1), (399, 1), (400, 0), (500, 0), (199, 0)):
        assert invalidated(request_to(method=method), Head(status)) == ("http://example.org/page",) * urls


@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "TRACE"])
def test_a_safe_request_invalidates_nothing(request_to: MakeRequest, method: str) -> None:
    assert invalidated(request_to(method=method), Head(200, Fields([("Location", "/other")]))) == ()


@pytest.mark.parametrize(
    ("reference", "url"),
    [
        ("/other?a#b", "http://example.org/other?a"),
        ("other", "http://example.org/other"),
        ("HTTP://EXAMPLE.org:80/other", "http://example.org/other"),
        ("https://example.org/other", None),
        ("http://example.org:8080/other", None),
        ("http://example.com/other", None),
        ("//example.com/other", None),
        ("mailto:a@b", None),
        ("http://[::1", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("name", ["Location", "content-location"])
def test_what_the_answer_names_is_invalidated_within_the_same_origin(
    request_to: MakeRequest, name: str, reference: str, url: str | None
) -> None:
    urls = invalidated(request_to(method="POST"), Head(201, Fields([(name, reference)])))
    assert urls == (("http://example.org/page",) if url is None else ("http://example.org/page", url))


@given(st.one_of(st.text(max_size=30), st.text(st.sampled_from("htp:/[]@?#%.\n\t "), max_size=20)))
def test_no_reference_makes_it_fail_or_leave_the_origin(reference: str) -> None:
    request = Request("POST", Target.parse("http://example.org/page"))
    for url in invalidated(request, Head(200, Fields([("Location", reference)]))):
        assert url.startswith("http://example.org/")


def test_the_groups_named_in_response_to_an_unsafe_request_are_invalidated(request_to: MakeRequest) -> None:
    named = Fields([("Cache-Group-Invalidation", '"a", "b"'), ("Cache-Groups", '"c"')])
    keys = ('"a"@http://example.org', '"b"@http://example.org')
    for method, status, expected in (
        *(("POST", 200, keys), ("DELETE", 303, keys), ("POST", 400, ()), ("POST", 500, ())),
        *(("GET", 200, ()), ("HEAD", 200, ())),
    ):
        assert invalidated_groups(request_to(method=method), Head(status, named)) == expected
