import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.baselines.aimd import Aimd
from bestbefore.policies.validation.baselines.stormcrawler import StormCrawler
from bestbefore.policies.validation.machinery.bounds import LIVE_DEFAULTS, Bounded
from bestbefore.policies.validation.machinery.fallback import GroupMember, LastUpdate
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.spec import make_policy
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict
from bestbefore.policies.validation.rules.agghist import AggHist
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.ttl import Ttl
from bestbefore.policies.validation.table import POLICIES

HOUR = 3600.0
DAY = 86400.0
T = 40 * DAY
RULES = (LastUpdate(0.1), GroupMember(0.1))
EMPTY = History.of([], 0.0)
NOON = History.of([d * DAY + 12.5 * HOUR for d in range(40)], 0.0)
GROUP = Group.of_updates(NOON.times_s, [0.0])


@given(st.sampled_from(sorted(POLICIES)), st.lists(st.integers(0, 40 * 86400).map(float), max_size=20))
@settings(max_examples=50, derandomize=True, deadline=None)
def test_without_parameters_the_policy_decides_as_it_does_alone(name: str, times: list[float]) -> None:
    policy, history = make_policy(name, {}), History.of(times, 0.0)
    assert Bounded(policy).verdict(history, GROUP, T) == policy.verdict(history, GROUP, T)


def test_never_ends_after_max_ttl() -> None:
    assert Bounded(IndHist(), max_ttl_s=DAY).verdict(EMPTY, None, T) == Verdict(T + DAY, Reason.MAX_TTL)


def test_an_expiry_is_moved_up_to_min_ttl() -> None:
    just_changed = History.of([T], 0.0)
    assert Bounded(Ttl(), min_ttl_s=30.0).verdict(just_changed, None, T) == Verdict(T + 30.0, Reason.MIN_TTL)


def test_an_expiry_within_the_bounds_stays_with_its_reason() -> None:
    changed = History.of([T - 1000.0], 0.0)
    for least_s, most_s in ((50.0, 200.0), (100.0, 100.0)):
        bounded = Bounded(Ttl(0.1), min_ttl_s=least_s, max_ttl_s=most_s)
        assert bounded.verdict(changed, None, T) == Verdict(T + 100.0, "ttl")


def test_while_fewer_than_three_updates_are_counted_the_fallback_decides() -> None:
    bounded = Bounded(IndHist(), fallback=RULES)
    two = History.of([T - 300.0, T - 200.0], 0.0)
    assert bounded.verdict(two, GROUP, T) == Verdict(T + 20.0, Reason.FALLBACK_TTL)
    assert bounded.verdict(EMPTY, GROUP, T).reason is Reason.FALLBACK_GROUP
    assert bounded.verdict(EMPTY, None, T) == Verdict(T + 60.0, Reason.BOOTSTRAP)
    three = History.of([T - 400.0, T - 300.0, T - 200.0], 0.0)
    assert bounded.verdict(three, GROUP, T).reason == "indhist"


def test_the_rules_are_tried_in_their_order() -> None:
    bounded = Bounded(IndHist(), fallback=RULES[::-1])
    assert bounded.verdict(History.of([T - 200.0], 0.0), GROUP, T).reason is Reason.FALLBACK_GROUP


def test_an_empty_fallback_leaves_the_decision_to_the_policy() -> None:
    assert Bounded(IndHist(), fallback=()).verdict(EMPTY, GROUP, T) == Verdict(math.inf, "indhist")


@pytest.mark.parametrize(("policy", "reason"), [(Ttl(), "ttl"), (AggHist(), "agghist")])
def test_ttl_and_agghist_have_no_fallback(policy: Ttl | AggHist, reason: Reason) -> None:
    assert Bounded(policy, fallback=RULES).verdict(EMPTY, GROUP, T).reason is reason


def test_bounds_hold_for_the_fallback_too() -> None:
    bounded = Bounded(IndHist(), max_ttl_s=10.0, fallback=())
    assert bounded.verdict(EMPTY, None, T).expiry_s == T + 10.0
    bounded = Bounded(IndHist(), max_ttl_s=10.0, fallback=RULES)
    assert bounded.verdict(EMPTY, None, T) == Verdict(T + 10.0, Reason.MAX_TTL)


def test_updates_beyond_the_window_leave_the_rates_and_the_fallbacks_count() -> None:
    old = History.of([d * DAY for d in range(5)], 0.0)
    assert Bounded(IndHist(), history_window_s=28 * DAY).verdict(old, None, T).expiry_s == math.inf
    bounded = Bounded(IndHist(), history_window_s=28 * DAY, fallback=RULES)
    assert bounded.verdict(old, None, T) == Verdict(T + 0.1 * 36 * DAY, Reason.FALLBACK_TTL)


def test_the_window_does_not_bind_the_last_update() -> None:
    old = History.of([DAY], 0.0)
    assert Bounded(Ttl(0.1), history_window_s=DAY).verdict(old, None, T) == Ttl(0.1).verdict(old, None, T)


def test_naming_a_fallback_switches_the_guard_against_hardly_observed_hours() -> None:
    # Observed since 9:00; the hour at 13 has not been seen at all. Three updates in four and a quarter hours.
    history = History.of([9.25 * HOUR, 9.5 * HOUR, 9.75 * HOUR], 9 * HOUR)
    t = 13.25 * HOUR
    bare = Bounded(IndHist(0.5)).verdict(history, None, t)
    assert bare == IndHist(0.5).verdict(history, None, t)
    assert bare.expiry_s > t + 19 * HOUR
    guarded = Bounded(IndHist(0.5), fallback=()).verdict(history, None, t)
    assert guarded.expiry_s == pytest.approx(t + 0.5 / (3 / 4.25) * HOUR, abs=0.01)


def test_an_hour_that_was_observed_for_an_hour_has_its_own_rate() -> None:
    # As above: 3 updates at 9, none at 10, 11 and 12, and the mean of the 4.25 hours in all others.
    history = History.of([9.25 * HOUR, 9.5 * HOUR, 9.75 * HOUR], 9 * HOUR)
    t, mean = 13.25 * HOUR, 3 / 4.25
    until_ten = 19.75 * mean + 3.0
    guarded = Bounded(IndHist(until_ten + 0.1), fallback=()).verdict(history, None, t)
    assert guarded.expiry_s == pytest.approx(37 * HOUR + 0.1 / mean * HOUR, abs=0.01)


def test_live_defaults_bound_every_policy_to_a_day() -> None:
    for name in POLICIES:
        policy = make_policy(name, LIVE_DEFAULTS)
        assert isinstance(policy, Bounded)
        assert policy.verdict(EMPTY, None, T).expiry_s <= T + DAY
        assert policy.history_window_s == 28 * DAY


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"min_ttl_s": -1.0}, "min_ttl must be a finite number of 0 or more, not -1"),
        ({"min_ttl_s": 20.0, "max_ttl_s": 10.0}, r"min_ttl \(20 s\) must not exceed max_ttl \(10 s\)"),
        ({"bootstrap_s": math.inf}, "bootstrap must be a finite number of 0 or more, not inf"),
        ({"history_window_s": 0.0}, "history_window must be a number of 1 or more, or inf, not 0"),
    ],
)
def test_parameters_out_of_range_are_refused(params: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Bounded(Ttl(), **params)


def test_group_hours_may_be_live_counts() -> None:
    live = Group.of_hours({int(u // HOUR): 1 for u in NOON.times_s.tolist()}, {0: 1})
    fresh = History.of([], T)
    exact = Bounded(IndHist(), fallback=RULES).verdict(fresh, GROUP, T)
    assert Bounded(IndHist(), fallback=RULES).verdict(fresh, live, T) == exact
    assert np.isfinite(exact.expiry_s)


def test_a_bound_that_decides_leaves_the_state_to_the_policy() -> None:
    bounded = Bounded(StormCrawler(), min_ttl_s=3600.0, max_ttl_s=7200.0)
    first = bounded.verdict(EMPTY, None, T)
    assert first == Verdict(T + 7200.0, Reason.MAX_TTL, DAY)
    assert bounded.verdict(EMPTY, None, T, ContactOutcome(DAY, changed=False)).state == 1.5 * DAY
    short = Bounded(Aimd(min_s=60.0), min_ttl_s=3600.0)
    assert short.verdict(EMPTY, None, T) == Verdict(T + 3600.0, Reason.MIN_TTL, 60.0)


@pytest.mark.parametrize("name", POLICIES)
def test_it_needs_what_its_policy_needs(name: str) -> None:
    assert Bounded(make_policy(name, {})).needs is make_policy(name, {}).needs
