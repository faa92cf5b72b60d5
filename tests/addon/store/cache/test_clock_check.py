"""How long policy time is trusted."""

import pytest

from bestbefore.addon.clock import FastClock, ManualClock
from bestbefore.addon.store.cache.clock_check import SLACK_S, TRUSTED_AFTER_S, ClockCheck, ClockState

DAY_S = 86_400.0


def run(clock_check, clock, days, kept=None):
    for _ in range(days):
        clock.advance(DAY_S)
        kept = clock_check.check(kept)
    return kept


def test_a_clock_that_has_run_for_a_week_is_trusted():
    clock = ManualClock(1e9)
    clock_check = ClockCheck(clock)
    kept = run(clock_check, clock, 6)
    assert not clock_check.is_trusted()
    assert run(clock_check, clock, 1, kept) == ClockState(1e9 + 7 * DAY_S, 1e9)
    assert clock_check.is_trusted()


@pytest.mark.parametrize(("leap_s", "trusted"), [(DAY_S, True), (2.5 * DAY_S, False), (-2.5 * DAY_S, False)])
def test_policy_time_may_run_ahead_of_real_time_by_two_days(leap_s, trusted):
    clock = ManualClock(1e9)
    clock_check = ClockCheck(clock)
    kept = run(clock_check, clock, 30)
    clock.set(clock.now() + leap_s)
    clock_check.check(kept)
    assert clock_check.is_trusted() is trusted


@pytest.mark.parametrize("leap_s", [200 * DAY_S, -200 * DAY_S, SLACK_S + DAY_S])
def test_a_clock_jump_restarts_the_week_in_both_directions(leap_s):
    clock = ManualClock(1e9)
    clock_check = ClockCheck(clock)
    kept = run(clock_check, clock, 30)
    for to_s in (leap_s, -leap_s):
        clock.set(clock.now() + to_s)
        kept = clock_check.check(kept)
        assert not clock_check.is_trusted()
        kept = run(clock_check, clock, 6, kept)
        assert not clock_check.is_trusted()
    run(clock_check, clock, 1, kept)
    assert clock_check.is_trusted()


def test_an_adjusted_clock_and_a_night_without_a_proxy_are_no_leaps():
    clock = ManualClock(1e9)
    kept = run(ClockCheck(clock), clock, 10)
    clock.set(clock.now() + 3600.0)
    clock_check = ClockCheck(clock)  # another process, a while later
    clock.advance(DAY_S)
    clock_check.check(kept)
    assert clock_check.is_trusted()


@pytest.mark.parametrize("gone_s", [200 * DAY_S, -200 * DAY_S])
def test_a_leap_across_a_restart_is_seen_by_what_the_store_remembers(gone_s):
    clock = ManualClock(1e9)
    kept = run(ClockCheck(clock), clock, 30)
    clock.set(clock.now() + gone_s)
    clock_check = ClockCheck(clock)
    kept = clock_check.check(kept)
    assert kept.steady_since_s == clock.now()
    run(clock_check, clock, 6, kept)
    assert not clock_check.is_trusted()


def test_a_fast_clock_does_not_leap():
    real_s = [0.0]
    clock = FastClock(1e9, 1e6, lambda: real_s[0])
    clock_check = ClockCheck(clock)
    kept = None
    for _ in range(3):
        real_s[0] += 30.0
        kept = clock_check.check(kept)
    assert clock_check.is_trusted()
    assert kept.checked_at_s - kept.steady_since_s > TRUSTED_AFTER_S
