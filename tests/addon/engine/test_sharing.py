"""Which requests may share one answer."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from bestbefore.addon.engine.sharing import distinctions, is_shareable, may_join, patience_s, shared_use
from bestbefore.addon.engine.site import Site
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule

NOW_S = 1_706_300_000.0
AT_ONCE = {"arrived_s": NOW_S, "now_s": NOW_S}
MakeRequest = Callable[..., Request]
MakeCopy = Callable[..., Copy]
ETAG = ("ETag", '"1"')


def test_plain_requests_may_wait_for_each_other(request_for: MakeRequest, rule: DomainRule) -> None:
    assert may_join(request_for(), rule)
    assert may_join(request_for(("If-None-Match", '"1"')), rule)
    assert may_join(request_for(("Range", "bytes=0-1"), ("If-Range", '"1"')), rule)
    assert not may_join(request_for(("Range", "bytes=0-1"), ("If-None-Match", '"1"')), rule)


@pytest.mark.parametrize(
    "field", [("Cache-Control", "no-cache"), ("Cache-Control", "max-age=0"), ("Cache-Control", "no-store"),
              ("X-Forwarded-For", "1"), ("If-Match", '"1"')],
)
def test_who_insists_on_the_origin_gets_a_contact_of_its_own(
    field: tuple[str, str], request_for: MakeRequest, rule: DomainRule
) -> None:
    assert not may_join(request_for(field), rule)


def test_only_get_is_shared(request_for: MakeRequest, rule: DomainRule) -> None:
    assert not may_join(request_for(method="HEAD"), rule)


def test_a_rule_that_ignores_the_clients_wishes_lets_all_wait(request_for: MakeRequest, rule: DomainRule) -> None:
    assert may_join(request_for(("Cache-Control", "no-cache")), replace(rule, honour_client_cc=False))


def test_a_fresh_answer_is_shared(request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site) -> None:
    use = shared_use(request_for(), copy_with(("Cache-Control", "max-age=9")), rule, site, **AT_ONCE)
    assert use is not None
    assert use.reason == "max-age"


@pytest.mark.parametrize("fields", [(ETAG,), (ETAG, ("Cache-Control", "max-age=0")), (("Last-Modified", "x"),)])
def test_a_new_answer_without_lifetime_is_shared_too(
    fields: tuple[tuple[str, str], ...], request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    use = shared_use(request_for(), copy_with(*fields), rule, site, **AT_ONCE)
    assert use is not None
    assert use.reason == "collapsed"


def test_an_answer_without_lifetime_is_not_for_who_asks_after_it_has_come(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    """Its head may have been all of it (a 204), and the same client asks again."""
    late_s = NOW_S + 0.001
    assert shared_use(request_for(), copy_with(ETAG), rule, site, arrived_s=late_s, now_s=late_s) is None
    fresh = copy_with(ETAG, ("Cache-Control", "max-age=9"))
    assert shared_use(request_for(), fresh, rule, site, arrived_s=late_s, now_s=late_s) is not None


def test_credentials_keep_an_answer_without_lifetime_to_its_owner(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    cookie = ("Cookie", "me")
    theirs = copy_with(ETAG, request=request_for(cookie))
    assert shared_use(request_for(), theirs, rule, site, **AT_ONCE) is None
    assert shared_use(request_for(cookie), copy_with(ETAG), rule, site, **AT_ONCE) is None
    public = copy_with(ETAG, ("Cache-Control", "public"), request=request_for(cookie))
    assert shared_use(request_for(cookie), public, rule, site, **AT_ONCE) is not None


def test_no_cache_and_other_variants_are_not_shared(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    assert shared_use(request_for(), copy_with(ETAG, ("Cache-Control", "no-cache")), rule, site, **AT_ONCE) is None
    german = copy_with(ETAG, ("Vary", "Accept-Language"), request=request_for(("Accept-Language", "de")))
    assert shared_use(request_for(("Accept-Language", "en")), german, rule, site, **AT_ONCE) is None


def test_a_page_bound_to_a_cookie_stays_with_it(
    request_for: MakeRequest, copy_with: MakeCopy, rule: DomainRule, site: Site
) -> None:
    url = "https://example.org/page"
    mine, yours = (request_for(("Cookie", name), url=url) for name in ("me", "you"))
    copy = copy_with(ETAG, ("Cache-Control", "max-age=60"), request=mine)
    assert shared_use(mine, copy, rule, site, **AT_ONCE) is not None
    assert shared_use(yours, copy, rule, site, **AT_ONCE) is None


def test_requests_with_other_credentials_or_ranges_are_told_apart(request_for: MakeRequest) -> None:
    wanted = ("Range", "bytes=0-1")
    fields = (
        (("Cookie", "me"),), (("Cookie", "you"),), (("Authorization", "me"),),
        (wanted,), (("Range", "bytes=0-2"),), (wanted, ("If-Range", '"1"')), (),
    )  # fmt: skip
    assert len({distinctions(request_for(*each)) for each in fields}) == len(fields)
    assert distinctions(request_for(("Accept", "a"))) == distinctions(request_for())


@pytest.mark.parametrize(
    ("fields", "expected"),
    [((ETAG,), True), ((("Cache-Control", "max-age=9"),), True), ((ETAG, ("Cache-Control", "no-cache")), False)],
)
def test_a_response_is_shareable_if_it_answers_an_equal_request_that_came_with_it(
    fields: tuple[tuple[str, str], ...],
    expected: bool,
    request_for: MakeRequest,
    copy_with: MakeCopy,
    rule: DomainRule,
    site: Site,
) -> None:
    assert is_shareable(request_for(), copy_with(*fields), rule, site, NOW_S + 1.0) is expected


def test_the_more_requests_wait_the_longer_the_last_of_them_does() -> None:
    assert [patience_s(number) for number in (1, 2, 3, 4, 500)] == [10.0, 20.0, 20.0, 30.0, 90.0]
