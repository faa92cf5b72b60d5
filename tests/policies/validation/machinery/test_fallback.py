import math

import numpy as np
import pytest

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.fallback import NO_RULE, GroupMember, LastUpdate, fallback_decision
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.policy import verdict_of
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.tolerance import Mass, Share
from bestbefore.policies.validation.machinery.verdict import Reason, Verdict
from bestbefore.policies.validation.rules.ttl import Ttl

HOUR = 3600.0
DAY = 86400.0
T = 10 * DAY


def group_with(updates: int, members: int = 2) -> Group:
    """All updates in the hour after noon, one a day."""
    return Group.of_updates(np.array([(i % 10) * DAY + 12.5 * HOUR for i in range(updates)]), [0.0] * members)


def verdict_by(
    rule: LastUpdate | GroupMember, history: History, group: Group | None, t: float, window_s: float = math.inf
) -> Verdict | None:
    """By this rule alone; None where it does not apply. The guard against hardly observed hours is off."""
    number, alpha, theta = rule.number, getattr(rule, "alpha", 0.0), getattr(rule, "theta", 0.0)
    known = HistoryFeatures(history, group, t, window_s=window_s)
    decided = fallback_decision(known, number, NO_RULE, Share(alpha), Mass(theta), 1.0)
    verdict = verdict_of(Ttl(), decided)
    return None if verdict.reason is Reason.BOOTSTRAP else verdict


def test_the_time_since_the_last_update_decides_where_one_is_known() -> None:
    verdict = verdict_by(LastUpdate(0.5), History.of([T - 100.0], 0.0), None, T)
    assert verdict == Verdict(T + 50.0, Reason.FALLBACK_TTL)


def test_a_last_modified_is_enough() -> None:
    verdict = verdict_by(LastUpdate(0.5), History.of([], T, last_modified_s=T - 200.0), None, T)
    assert verdict == Verdict(T + 100.0, Reason.FALLBACK_TTL)


def test_without_a_known_update_it_does_not_apply() -> None:
    assert verdict_by(LastUpdate(0.5), History.of([], 0.0), None, T) is None


def test_a_new_object_has_the_rate_of_a_mean_member_in_the_groups_pattern() -> None:
    # R = 20 updates in 2 * 240 member hours. An object never observed: 1 / (1/R) = 1 a day, all in the hour at noon.
    verdict = verdict_by(GroupMember(0.5), History.of([], T), group_with(20), T)
    assert verdict is not None
    assert verdict.reason is Reason.FALLBACK_GROUP
    assert verdict.expiry_s == pytest.approx(T + 12.5 * HOUR, abs=0.01)


def test_its_own_observation_moves_the_rate() -> None:
    # Observed for 72 hours with two updates: 3 / (72 + 24) an hour, 0.75 a day.
    history = History.of([T - 2 * DAY, T - DAY], T - 3 * DAY)
    verdict = verdict_by(GroupMember(0.5), history, group_with(20), T)
    assert verdict is not None
    assert verdict.expiry_s == pytest.approx(T + (12 + 0.5 / 0.75) * HOUR, abs=0.01)


def test_the_groups_updates_in_the_window_of_the_history_count() -> None:
    history = History.of([], 0.0)
    assert verdict_by(GroupMember(0.5), history, group_with(20), T, T - 5 * DAY) is not None
    assert verdict_by(GroupMember(0.5), history, group_with(19), T, T - 5 * DAY - HOUR) is None


def test_hours_beyond_the_window_of_the_history_are_not_observed() -> None:
    # Five days of the group: 10 updates in 2 * 120 member hours, R = 1/24. The object: 1 / (120 + 24) an hour.
    verdict = verdict_by(GroupMember(0.1), History.of([DAY], 0.0), group_with(20), T, T - 5 * DAY)
    assert verdict is not None
    assert verdict.expiry_s == pytest.approx(T + (12 + 0.1 * 144 / 24) * HOUR, abs=0.01)


@pytest.mark.parametrize("group", [None, group_with(9), Group.of_hours({}, {}), group_with(0)])
def test_a_group_with_fewer_than_ten_updates_says_nothing(group: Group | None) -> None:
    assert verdict_by(GroupMember(0.5), History.of([], T), group, T) is None


def test_a_group_observed_since_this_moment_says_nothing() -> None:
    group = Group.of_updates(np.full(10, T), [T])
    assert verdict_by(GroupMember(0.5), History.of([], T), group, T) is None


def test_under_a_price_the_rules_have_the_same_price() -> None:
    """As the policies do; a controlled price is that of the rules too."""
    quiet, member = History.of([T - 4 * HOUR], T - 5 * HOUR), History.of([], T - 5 * HOUR)
    for price in (1.0, 10.0):
        bounded = parse_spec(f"indhist:price={price},fallback=ttl+group")
        by_ttl = bounded.verdict(quiet, group_with(20), T)
        assert by_ttl == Verdict(parse_spec(f"ttl:price={price}").verdict(quiet, None, T).expiry_s, Reason.FALLBACK_TTL)
        assert bounded.verdict(member, group_with(20), T).reason is Reason.FALLBACK_GROUP
        controlled = parse_spec("indhist:stale_rate=0.05,fallback=ttl+group,max_ttl=1d")
        for history in (quiet, member):
            priced = parse_spec(f"indhist:price={price},fallback=ttl+group,max_ttl=1d")
            expected = priced.verdict(history, group_with(20), T)
            assert controlled.verdict(history, group_with(20), T, price=price) == expected
