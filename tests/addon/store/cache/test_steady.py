"""How long policy time is trusted."""

import pytest

from bestbefore.addon.clock import FastClock, ManualClock
from bestbefore.addon.store.cache.steady import SLACK_S, TRUSTED_AFTER_S, Looked, Steadiness

DAY_S = 86_400.0


def run(steadiness, clock, days, kept=None):
    for _ in range(days):
        clock.advance(DAY_S)
        kept = steadiness.look(kept)
    return kept


def test_a_clock_that_has_run_for_a_week_is_trusted():
    clock = ManualClock(1e9)
    steadiness = Steadiness(clock)
    kept = run(steadiness, clock, 6)
    assert not steadiness.is_trusted()
    assert run(steadiness, clock, 1, kept) == Looked(1e9 + 7 * DAY_S, 1e9)
    assert steadiness.is_trusted()


@pytest.mark.parametrize(("leap_s", "trusted"), [(DAY_S, True), (2.5 * DAY_S, False), (-2.5 * DAY_S, False)])
def test_policy_time_may_run_ahead_of_real_time_by_two_days(leap_s, trusted):
    clock = ManualClock(1e9)
    steadiness = Steadiness(clock)
    kept = run(steadiness, clock, 30)
    clock.set(clock.now() + leap_s)
    steadiness.look(kept)
    assert steadiness.is_trusted() is trusted


@pytest.mark.parametrize("leap_s", [200 * DAY_S, -200 * DAY_S, SLACK_S + DAY_S])
def test_a_leap_begins_the_week_anew_and_so_does_the_way_back(leap_s):
    clock = ManualClock(1e9)
    steadiness = Steadiness(clock)
    kept = run(steadiness, clock, 30)
    for to_s in (leap_s, -leap_s):
        clock.set(clock.now() + to_s)
        kept = steadiness.look(kept)
        assert not steadiness.is_trusted()
        kept = run(steadiness, clock, 6, kept)
        assert not steadiness.is_trusted()
    run(steadiness, clock, 1, kept)
    assert steadiness.is_trusted()


def test_an_adjusted_clock_and_a_night_without_a_proxy_are_no_leaps():
    clock = ManualClock(1e9)
    kept = run(Steadiness(clock), clock, 10)
    clock.set(clock.now() + 3600.0)
    steadiness = Steadiness(clock)  # another process, a while later
    clock.advance(DAY_S)
    steadiness.look(kept)
    assert steadiness.is_trusted()


@pytest.mark.parametrize("gone_s", [200 * DAY_S, -200 * DAY_S])
def test_a_leap_across_a_restart_is_seen_by_what_the_store_remembers(gone_s):
    clock = ManualClock(1e9)
    kept = run(Steadiness(clock), clock, 30)
    clock.set(clock.now() + gone_s)
    steadiness = Steadiness(clock)
    kept = steadiness.look(kept)
    assert kept.steady_s == clock.now()
    run(steadiness, clock, 6, kept)
    assert not steadiness.is_trusted()


def test_a_fast_clock_does_not_leap():
    real_s = [0.0]
    clock = FastClock(1e9, 1e6, lambda: real_s[0])
    steadiness = Steadiness(clock)
    kept = None
    for _ in range(3):
        real_s[0] += 30.0
        kept = steadiness.look(kept)
    assert steadiness.is_trusted()
    assert kept.looked_s - kept.steady_s > TRUSTED_AFTER_S
