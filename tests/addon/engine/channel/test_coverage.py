"""Which copies a channel vouches for, and what that changes."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.engine.request import Ask, Serve, on_request
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
COVERAGE = Coverage("hub/all", since=10, until_s=NOW_S + 600.0)


@pytest.fixture
def expired(copy_with: Callable[..., Copy]) -> Copy:
    """A copy whose learned lifetime has ended, which the channel covers."""
    return replace(copy_with(("ETag", '"a"'), at_s=NOW_S - 1000.0, expiry_s=NOW_S - 500.0), covered=("hub/all", 10))


def decided(copy: Copy, rule: DomainRule, site: Site, asked: Request, **known: Any) -> Any:
    return on_request(asked, [copy], rule, replace(site, coverage=replace(COVERAGE, **known)), NOW_S)


def test_a_covered_copy_is_current(
    expired: Copy, rule: DomainRule, site: Site, request_for: Callable[..., Request]
) -> None:
    found = decided(expired, rule, site, request_for())
    assert isinstance(found, Serve)
    assert found.reuse.reason == "hub"
    assert found.reuse.ttl_s == 600.0


@pytest.mark.parametrize(
    "changes", [{"channel": "hub/other"}, {"since": 11}, {"until_s": NOW_S - 1.0}], ids=["other", "missed", "late"]
)
def test_where_the_channel_fails_the_policy_decides(
    expired: Copy, rule: DomainRule, site: Site, request_for: Callable[..., Request], changes: dict[str, Any]
) -> None:
    assert isinstance(decided(expired, rule, site, request_for(), **changes), Ask)


def test_a_copy_that_did_not_come_by_it_is_not_covered(
    expired: Copy, rule: DomainRule, site: Site, request_for: Callable[..., Request]
) -> None:
    assert isinstance(decided(replace(expired, covered=None), rule, site, request_for()), Ask)


def test_it_lengthens_no_explicit_lifetime_and_no_verdict_that_is_longer(
    copy_with: Callable[..., Copy], rule: DomainRule, site: Site, request_for: Callable[..., Request]
) -> None:
    explicit = copy_with(("ETag", '"a"'), ("Cache-Control", "max-age=60"), at_s=NOW_S - 61.0)
    assert isinstance(decided(replace(explicit, covered=("hub/all", 10)), rule, site, request_for()), Ask)
    longer = copy_with(("ETag", '"a"'), expiry_s=NOW_S + 900.0)
    assert decided(replace(longer, covered=("hub/all", 10)), rule, site, request_for()).reuse.reason == "ttl"


def test_a_client_may_still_insist_on_the_origin(
    expired: Copy, rule: DomainRule, site: Site, request_for: Callable[..., Request]
) -> None:
    assert isinstance(decided(expired, rule, site, request_for(("Cache-Control", "no-cache"))), Ask)
    cookie = decided(expired, rule, site, request_for(("Cookie", "a=b")))
    assert isinstance(cookie, Ask)  # learned freshness is not for requests with Cookie
