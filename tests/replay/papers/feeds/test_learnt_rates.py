"""What two weeks tell: rates to come, patterns of feeds that posted little, and online schedules that use them."""

import numpy as np
import pytest

from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.replay.papers.feeds import online
from bestbefore.replay.papers.feeds.learnt_rates import LearntRates
from bestbefore.replay.papers.feeds.runs import ONLINE, PLANNED, STRATEGIES, TIMING, UNIFORM, measure, measured
from bestbefore.replay.papers.feeds.spans import END_S, START_S, Spans
from bestbefore.replay.papers.work import Work


@pytest.fixture(scope="module")
def learnt() -> LearntRates:
    """Forty feeds with two or three postings a day around noon, and twenty with one a fortnight."""
    rng = np.random.default_rng(8)
    times = [
        np.sort(rng.integers(0, 90, 200) * DAY_S + rng.normal(12.0, 1.0, 200) * HOUR_S) for _ in range(40)
    ] + [np.sort(rng.uniform(0.0, END_S, 6)) for _ in range(20)]
    return LearntRates(Spans("made", times))


def test_rates_are_the_mean_of_two_weeks_but_not_0(learnt):
    assert learnt.rates[:40].mean() == pytest.approx(200 / 90, rel=0.1)
    assert learnt.rates.min() >= 0.5 / 14


def test_rates_to_come_are_drawn_together(learnt):
    assert learnt.rates_to_come.sum() == pytest.approx(learnt.spans.learnt.sum() / 14, rel=0.2)
    assert learnt.rates_to_come.min() > learnt.rates.min()
    assert np.all(np.diff(learnt.rates_to_come[np.argsort(learnt.spans.learnt)]) >= 0.0)


def test_a_pattern_is_between_the_feeds_own_and_its_clusters(learnt):
    for profiles in (learnt.of_all, learnt.own, learnt.nearest, learnt.likeliest, learnt.drawn):
        assert profiles.shape == (60, 24)
        assert profiles.sum(axis=1) == pytest.approx(np.ones(60))
    assert np.all(learnt.drawn[:40, 9:15].sum(axis=1) > 0.9)


@pytest.mark.slow
def test_every_strategy_spends_its_budget(learnt):
    for name in STRATEGIES:
        found = measure({"made": learnt}, ("made", name, 2))
        assert 2.0 * 0.98 <= found.retrievals_per_day <= 2.0 * 1.02, name
        assert found.never == 0


@pytest.mark.slow
def test_knowledge_of_the_hours_halves_the_delay(learnt):
    names = (UNIFORM, TIMING, PLANNED, ONLINE)
    found = measured(Work(None, pytest.fail), {"made": learnt}, [("made", name, 1) for name in names])
    even, timed, planned, online_ = (found["made", name, 1].mean_s for name in names)
    assert even == pytest.approx(DAY_S / 2, rel=0.05)
    assert max(timed, planned) < 0.5 * even
    assert online_ < 0.8 * even  # not all feeds can be retrieved at their best hour: the day has retrievals at each


@pytest.mark.slow
def test_online_retrievals_know_only_what_was_posted(learnt):
    moment_s = START_S + 5 * DAY_S
    cut = LearntRates(Spans("cut", [times[times <= moment_s] for times in learnt.spans.times_s]))
    whole, without = (online.by_schedule(one, 1.0).moments_s for one in (learnt, cut))
    for times, others in zip(whole, without, strict=True):
        assert times[times <= moment_s].tolist() == others[others <= moment_s].tolist()
