from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.addon.rfc9111.caching.reuse import Action, Expiry, Reuse, decide, expiry, without_origin
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields.cache_status import Fwd
from bestbefore.addon.rfc9111.fields.directives import NO_DIRECTIVES, of_request, parse_cache_control
from bestbefore.addon.rfc9111.message import Request

type MakeCopy = Callable[..., Copy]
type MakeRequest = Callable[..., Request]
type Decide = Callable[..., Reuse]

RECEIVED_S = 1_779_827_200.0
ETAG = 'ETag: "a"'


@dataclass(frozen=True, slots=True)
class Rule:
    obey: str = "strict"
    override: frozenset[str] = frozenset()
    learn_without_validator: str = "learn"
    stale_if_down_s: float | None = None


STRICT, SHORTEN, OVERRIDE = Rule(), Rule("shorten"), Rule("override")


@pytest.fixture(scope="session")
def reused(request_to: MakeRequest) -> Decide:
    """The decision for a copy `after_s` seconds past its receipt."""

    def reused_after(copy: Copy, after_s: float, *asked: str, rule: Rule = STRICT) -> Reuse:
        request = request_to(*asked)
        return decide(request, of_request(request.fields), copy, RECEIVED_S + after_s, rule)

    return reused_after


def learned(copy: Copy, after_s: float) -> Copy:
    return copy.with_verdict(RECEIVED_S + after_s, "indttl", "")


def test_a_copy_is_fresh_until_its_age_reaches_its_lifetime(
    stored: MakeCopy, reused: Decide
) -> None:
    copy = stored("Cache-Control: max-age=60", "Age: 10")
    assert reused(copy, 49) == Reuse(Action.FRESH, "max-age", 59, 1)
    assert reused(copy, 50) == Reuse(Action.VALIDATE, "max-age", 60, 0, Fwd.STALE)


def test_an_age_beyond_expires_less_date_is_stale_with_a_slow_and_with_a_fast_date(
    stored: MakeCopy, reused: Decide
) -> None:
    slow = stored("Date: Tue, 26 May 2026 20:26:30 GMT", "Expires: Tue, 26 May 2026 20:26:50 GMT", "Age: 25")
    fast = stored("Date: Tue, 26 May 2026 20:26:50 GMT", "Expires: Tue, 26 May 2026 20:27:00 GMT", "Age: 15")
    assert reused(slow, 0).action is reused(fast, 0).action is Action.VALIDATE


def test_nothing_about_freshness_and_no_validator_is_never_reused_unasked(
    stored: MakeCopy, reused: Decide
) -> None:
    copy = learned(stored(), 9999)
    for rule in (STRICT, SHORTEN, OVERRIDE):
        assert reused(copy, 0, rule=rule) == Reuse(Action.VALIDATE, "no-lifetime", 0, None, Fwd.STALE)


def test_the_verdict_supplies_heuristic_freshness_where_the_origin_gives_none(
    stored: MakeCopy, reused: Decide
) -> None:
    assert reused(learned(stored(ETAG), 60), 59) == Reuse(Action.FRESH, "indttl", 59, 1)
    assert reused(learned(stored(ETAG), 60), 60).action is Action.VALIDATE
    assert reused(stored(ETAG), 0).reason == "no-lifetime"
    assert reused(learned(stored(ETAG, status=302), 60), 0).reason == "no-lifetime"
    assert reused(learned(stored(ETAG, "Cache-Control: public", status=302), 60), 0).action is Action.FRESH
    opted_in = Rule(learn_without_validator="always")
    assert reused(learned(stored(), 60), 0, rule=opted_in).action is Action.FRESH


@pytest.mark.parametrize(
    ("obey", "cache_control", "verdict_s", "expiry_s", "reason"),
    [
        ("strict", "max-age=60", 10, 60, "max-age"),
        ("strict", "max-age=60", 600, 60, "max-age"),
        ("shorten", "max-age=60", 10, 10, "indttl"),
        ("shorten", "max-age=60", 600, 60, "max-age"),
        ("shorten", "max-age=60, immutable", 10, 60, "max-age"),
        ("override", "max-age=60", 10, 10, "indttl"),
        ("override", "max-age=60", 600, 600, "indttl"),
        ("override", "max-age=0", 600, 600, "indttl"),
        ("override", "s-maxage=60", 600, 600, "indttl"),
        ("override", "s-maxage=0", 600, 0, "s-maxage"),
        ("override", "max-age=60, must-revalidate", 600, 60, "max-age"),
        ("override", "max-age=60, must-revalidate", 10, 10, "indttl"),
        ("override", "max-age=60, proxy-revalidate", 600, 60, "max-age"),
        ("override", "max-age=60, no-cache", 600, None, "no-cache"),
        ("override", "no-cache", 600, None, "no-cache"),
        ("shorten", "no-cache", 600, None, "no-cache"),
        ("strict", "", 600, 600, "indttl"),
        ("shorten", "", 600, 600, "indttl"),
        ("override", "", 600, 600, "indttl"),
        ("override", "max-age=60", None, 60, "max-age"),
        ("shorten", "max-age=60", None, 60, "max-age"),
    ],
)
def test_what_rules_when_the_origin_and_the_policy_both_speak(
    stored: MakeCopy,
    request_to: MakeRequest,
    obey: str,
    cache_control: str,
    verdict_s: float | None,
    expiry_s: float | None,
    reason: str,
) -> None:
    copy = stored(ETAG, f"Cache-Control: {cache_control}")
    if verdict_s is not None:
        copy = learned(copy, verdict_s)
    found = expiry(request_to(), copy, Rule(obey))
    assert found == Expiry(None if expiry_s is None else RECEIVED_S + expiry_s, reason)


@pytest.mark.parametrize(
    ("cache_control", "named"),
    [
        ("no-cache", "no-cache"),
        ("max-age=60, no-cache", "no-cache"),
        ("max-age=60, must-revalidate", "must-revalidate"),
        ("max-age=60, proxy-revalidate", "proxy-revalidate"),
        ("s-maxage=0", "s-maxage"),
    ],
)
def test_a_rule_may_name_the_directives_that_override_lengthens_too(
    stored: MakeCopy, request_to: MakeRequest, cache_control: str, named: str
) -> None:
    copy = learned(stored(ETAG, f"Cache-Control: {cache_control}"), 600)
    naming = Rule("override", frozenset((named,)))
    assert expiry(request_to(), copy, naming) == Expiry(RECEIVED_S + 600, "indttl")
    # Not for a request with credentials, and not in another mode.
    assert expiry(request_to("Cookie: a=b"), copy, naming) == expiry(request_to("Cookie: a=b"), copy, STRICT)
    assert expiry(request_to(), copy, replace(naming, obey="shorten")).expiry_s != RECEIVED_S + 600


def test_credentials_keep_learned_freshness_away_but_not_an_earlier_validation(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    personal = request_to("Cookie: a=b")
    assert expiry(personal, learned(stored(ETAG), 600), STRICT) == Expiry(None, "no-lifetime")
    fresh = learned(stored(ETAG, "Cache-Control: max-age=60"), 10)
    assert expiry(personal, fresh, SHORTEN).expiry_s == RECEIVED_S + 10
    assert expiry(personal, fresh, OVERRIDE).expiry_s == RECEIVED_S + 60


@pytest.mark.parametrize(
    ("asked", "after_s", "action", "reason"),
    [
        ("no-cache", 0, Action.VALIDATE, "request-no-cache"),
        ("max-age=0", 0.0, Action.FRESH, "max-age"),
        ("max-age=0", 0.5, Action.VALIDATE, "request-max-age"),
        ("max-age=5", 5, Action.FRESH, "max-age"),
        ("max-age=5", 6, Action.VALIDATE, "request-max-age"),
        ("min-fresh=50", 10, Action.FRESH, "max-age"),
        ("min-fresh=51", 10, Action.VALIDATE, "request-min-fresh"),
        ("max-stale", 10, Action.FRESH, "max-age"),
        ("no-store", 10, Action.FRESH, "max-age"),
        ("max-stale=10", 70, Action.STALE, "request-max-stale"),
        ("max-stale=10", 71, Action.VALIDATE, "max-age"),
        ("max-stale", 10**6, Action.STALE, "request-max-stale"),
        ("max-stale=100, max-age=65", 66, Action.VALIDATE, "max-age"),
        ("max-stale=100, min-fresh=1", 61, Action.VALIDATE, "max-age"),
        ("max-stale=100, no-cache", 61, Action.VALIDATE, "max-age"),
    ],
)
def test_the_request_may_ask_for_more_or_for_less(
    stored: MakeCopy,
    reused: Decide,
    asked: str,
    after_s: float,
    action: Action,
    reason: str,
) -> None:
    decision = reused(stored("Cache-Control: max-age=60"), after_s, f"Cache-Control: {asked}")
    assert (decision.action, decision.reason) == (action, reason)
    if action is Action.VALIDATE:
        assert decision.fwd is (Fwd.REQUEST if after_s < 60 else Fwd.STALE)


def test_a_stale_copy_is_served_while_it_is_revalidated_within_the_window(
    stored: MakeCopy, reused: Decide
) -> None:
    copy = stored("Cache-Control: max-age=60, stale-while-revalidate=30")
    assert reused(copy, 60).action is reused(copy, 90).action is Action.STALE_WHILE_REVALIDATE
    assert reused(copy, 91).action is Action.VALIDATE
    assert reused(copy, 70, "Cache-Control: max-age=0").action is Action.VALIDATE
    heuristic = learned(stored(ETAG, "Cache-Control: stale-while-revalidate=30"), 60)
    assert reused(heuristic, 61).action is Action.STALE_WHILE_REVALIDATE


@pytest.mark.parametrize("directive", ["must-revalidate", "proxy-revalidate", "s-maxage=60", "no-cache"])
def test_neither_the_window_nor_the_client_goes_against_what_forbids_stale(
    stored: MakeCopy, reused: Decide, directive: str
) -> None:
    copy = stored(ETAG, f"Cache-Control: max-age=60, stale-while-revalidate=30, stale-if-error=30, {directive}")
    assert reused(copy, 61).action is Action.VALIDATE
    assert reused(copy, 61, "Cache-Control: max-stale").action is Action.VALIDATE


def test_a_clock_set_back_makes_a_copy_wait_for_the_origin(
    stored: MakeCopy, reused: Decide
) -> None:
    copy = stored("Cache-Control: max-age=60")
    assert reused(copy, -61).reason == "clock"
    assert reused(copy, -61).action is Action.VALIDATE
    assert reused(copy, -5) == Reuse(Action.FRESH, "max-age", 0, 65)


def test_a_clock_set_back_makes_nothing_fresh_while_the_origin_is_down(
    stored: MakeCopy, request_to: MakeRequest
) -> None:
    strict, lenient = stored("Cache-Control: max-age=60, must-revalidate"), stored("Cache-Control: max-age=60")
    rule = Rule(stale_if_down_s=100.0)
    assert without_origin(request_to(), NO_DIRECTIVES, strict, RECEIVED_S - 61, rule) is None
    decision = without_origin(request_to(), NO_DIRECTIVES, lenient, RECEIVED_S - 61, rule)
    assert decision is not None
    assert decision.reason == "stale-if-down"


def test_a_copy_that_a_head_has_outdated_is_validated(stored: MakeCopy, reused: Decide) -> None:
    copy = replace(learned(stored("Cache-Control: max-age=60"), 60), outdated=True)
    assert reused(copy, 0, rule=OVERRIDE).reason == "outdated"


@pytest.mark.parametrize(
    ("cache_control", "asked", "rule", "last_s"),
    [
        ("max-age=60", "", STRICT, 59.9),
        ("max-age=60, stale-if-error=30", "", STRICT, 90),
        ("max-age=60", "stale-if-error=30", STRICT, 90),
        ("max-age=60", "", Rule(stale_if_down_s=100.0), 160),
        ("max-age=60, stale-if-error=30", "max-age=0", Rule(stale_if_down_s=100.0), 160),
        ("max-age=60, stale-if-error=30", "no-cache", Rule(stale_if_down_s=100.0), None),
        ("max-age=60, stale-if-error=30, must-revalidate", "", Rule(stale_if_down_s=100.0), 59.9),
        ("max-age=60, stale-if-error=30, proxy-revalidate", "", Rule(stale_if_down_s=100.0), 59.9),
        ("s-maxage=60, stale-if-error=30", "", Rule(stale_if_down_s=100.0), 59.9),
        ("max-age=60, stale-if-error=30, no-cache", "", Rule(stale_if_down_s=100.0), None),
        ("", "", Rule(stale_if_down_s=100.0), 100),
        ("", "", STRICT, None),
    ],
)
def test_how_long_a_copy_may_stand_in_for_an_origin_that_is_down(
    stored: MakeCopy,
    request_to: MakeRequest,
    cache_control: str,
    asked: str,
    rule: Rule,
    last_s: float | None,
) -> None:
    copy = stored(f"Cache-Control: {cache_control}")
    directives = parse_cache_control([asked])

    def served(after_s: float) -> bool:
        return without_origin(request_to(), directives, copy, RECEIVED_S + after_s, rule) is not None

    if last_s is None:
        assert not served(0)
    else:
        assert served(last_s)
        assert not served(last_s + 0.2)


def test_a_copy_that_the_policy_wants_validated_may_still_stand_in_while_the_origin_calls_it_fresh(
    stored: MakeCopy, request_to: MakeRequest, reused: Decide
) -> None:
    copy = learned(stored(ETAG, "Cache-Control: max-age=60, must-revalidate"), 10)
    assert reused(copy, 20, rule=SHORTEN).action is Action.VALIDATE
    decision = without_origin(request_to(), NO_DIRECTIVES, copy, RECEIVED_S + 20, SHORTEN)
    assert decision == Reuse(Action.FRESH, "indttl", 20, 40)


response_directives = st.lists(
    st.sampled_from([
        "max-age=0", "max-age=60", "s-maxage=0", "s-maxage=60", "no-cache", "must-revalidate", "proxy-revalidate",
        "public", "immutable", "stale-while-revalidate=30", "stale-if-error=30", "max-age=x",
    ]),
    max_size=4,
).map(", ".join)  # fmt: skip
request_directives = st.lists(
    st.sampled_from(["no-cache", "max-age=0", "max-age=30", "min-fresh=10", "max-stale", "max-stale=5"]), max_size=2
).map(", ".join)
rules = st.builds(
    Rule,
    st.sampled_from(["strict", "shorten", "override"]),
    st.frozensets(st.sampled_from(["no-cache", "must-revalidate", "proxy-revalidate", "s-maxage"])),
    st.booleans(),
    st.sampled_from([None, 50.0]),
)


@given(
    response_directives, request_directives, rules, st.booleans(), st.booleans(), st.booleans(),
    st.one_of(st.none(), st.floats(-10, 200)), st.floats(-100, 200),
)  # fmt: skip
@settings(max_examples=500, derandomize=True)
def test_whatever_is_said_what_rfc_9111_forbids_is_not_done(
    stored: MakeCopy,
    request_to: MakeRequest,
    said: str,
    asked: str,
    rule: Rule,
    validator: bool,
    cookie: bool,
    sets_cookie: bool,
    verdict_s: float | None,
    after_s: float,
) -> None:
    lines = [f"Cache-Control: {said}", *([ETAG] if validator else []), *(["Set-Cookie: a=b"] if sets_cookie else [])]
    copy = stored(*lines)
    copy = copy if verdict_s is None else learned(copy, verdict_s)
    request, directives = request_to(*(["Cookie: a=b"] if cookie else [])), parse_cache_control([asked])
    now_s = RECEIVED_S + after_s
    decision, cache_control = decide(request, directives, copy, now_s, rule), copy.cache_control
    served = decision.action is not Action.VALIDATE
    assert decision.age_s >= 0
    assert (decision.fwd is None) == served
    http_fresh = copy.http_expiry_s is not None and now_s < copy.http_expiry_s
    if served:
        assert not directives.no_cache
        assert directives.max_age is None or decision.age_s <= directives.max_age
        assert not (cache_control.no_cache and "no-cache" not in rule.override)
    if served and not http_fresh:
        if rule.obey != "override" and copy.lifetime is not None:
            assert decision.action in (Action.STALE, Action.STALE_WHILE_REVALIDATE)
        if sets_cookie or (cookie and not cache_control.public):
            assert decision.action is not Action.FRESH
        if not validator and rule.learn_without_validator != "always":
            assert decision.action is not Action.FRESH
        if cache_control.must_revalidate and copy.lifetime is not None and "must-revalidate" not in rule.override:
            raise AssertionError("served stale against must-revalidate")
    in_need = without_origin(request, directives, copy, now_s, rule)
    if in_need is not None and not http_fresh and cache_control.must_revalidate:
        assert in_need.action is Action.FRESH


def test_what_a_feed_says_for_good_is_believed_without_a_validator(stored: MakeCopy, reused: Decide) -> None:
    copy = learned(stored(status=301), 3600)
    assert reused(copy, 60).action is Action.VALIDATE
    assert reused(replace(copy, for_good=True), 60).action is Action.FRESH
    assert reused(replace(copy, for_good=True), 3600).action is Action.VALIDATE
