"""What the tests of the engine decide about: one site, one rule, and copies of one object."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.caching.storing import copy_of
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.fields.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request, Target
from bestbefore.addon.rules import DomainRule, Pattern
from bestbefore.policies.validation.machinery.spec import make_policy

NOW_S = 1_706_300_000.0
URL = "http://example.org/page"


@pytest.fixture
def site() -> Site:
    """A forward proxy."""
    return Site(name="bestbefore-1", salt=b"salt", max_cached_body=1000)


@pytest.fixture
def rule() -> DomainRule:
    """A rule with a plain TTL policy."""
    policy: Any = make_policy("ttl", {"alpha": 0.1, "max_ttl": "1d"})
    return DomainRule(Pattern.parse("*"), policy)


@pytest.fixture
def request_for() -> Callable[..., Request]:
    """Makes requests for the page."""

    def make(*fields: tuple[str, str], method: str = "GET", url: str = URL) -> Request:
        return Request(method, Target.parse(url), Fields(fields))

    return make


@pytest.fixture
def copy_with() -> Callable[..., Copy]:
    """Makes copies of the page, received at `at_s` in answer to `request`."""

    def make(
        *fields: tuple[str, str],
        status: int = 200,
        at_s: float = NOW_S,
        request: Request | None = None,
        expiry_s: float | None = None,
    ) -> Copy:
        asked = request or Request("GET", Target.parse(URL))
        head = Head(status, Fields((("Date", format_http_date(at_s)), *fields)))
        copy = copy_of(asked, head, BodyRef("d", 4), request_time_s=at_s, response_time_s=at_s, salt=b"salt")
        return replace(copy, expiry_s=expiry_s, reason="ttl")

    return make
