from collections.abc import Callable
from dataclasses import replace

from bestbefore.addon.engine.equivalence import equivalent, on_equivalent
from bestbefore.addon.engine.request import Serve
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"
FRESH = ("Cache-Control", "max-age=60")
DECLARED = ("No-Vary-Search", 'params=("utm")')
type Field = tuple[str, str]
type MakeRequest = Callable[..., Request]
type MakeCopy = Callable[..., Copy]


def test_only_the_query_may_differ(request_for: MakeRequest) -> None:
    request = request_for(url=f"{URL}?utm=1")
    other = equivalent(request, URL)
    assert other is not None
    assert (other.target.url, other.fields) == (URL, request.fields)
    for url in ("http://example.org/other", "https://example.org/page", "http://example.com/page"):
        assert equivalent(request, url) is None


def test_a_fresh_copy_that_declares_it_is_served(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    def decide(path: str, *fields: Field, asked: tuple[Field, ...] = (), **known: str) -> Serve | None:
        request, other = request_for(*asked, url=f"{URL}{path}"), request_for(*asked, url=f"{URL}?utm=2&id=4")
        copy = replace(copy_with(*fields, request=other), **known)
        return on_equivalent(request, other, [copy], rule, site, NOW_S)

    assert decide("?id=4", FRESH, DECLARED) is not None
    assert decide("?id=4&utm=3", FRESH, DECLARED) is not None
    assert decide("?id=5", FRESH, DECLARED) is None
    assert decide("?id=4", FRESH) is None, "not declared by this copy"
    assert decide("?id=4", DECLARED) is None, "not fresh"
    assert decide("?id=4", ("Cache-Control", "max-age=0, stale-while-revalidate=60"), DECLARED) is None
    assert decide("?id=4", FRESH, DECLARED, asked=(("Cache-Control", "no-cache"),)) is None
    assert decide("?id=4", FRESH, DECLARED, asked=(("X-Forwarded-For", "1"),)) is None
    assert decide("?id=4", FRESH, DECLARED, personal="another client's cookie") is None
