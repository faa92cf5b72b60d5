"""The worked examples of the definition, limits of the rule, and a second implementation that shares no steps."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad

from bestbefore.policies.models.demand import CopyDemand, RequestRates, first_request, rates_at, requested
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.hazard import forecast
from bestbefore.policies.models.hazard.forecast import Forecast, Profile, forecast_at, weekend_share
from bestbefore.policies.models.hazard.gaps import GapLaw
from bestbefore.policies.models.hazard.memory import UpdateMemory, memory_since, updated_at, updated_within
from bestbefore.policies.models.history import History
from bestbefore.policies.units import DAY_S, HOUR_S
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.policies.validation.machinery.tolerance import Mass, Price
from bestbefore.policies.validation.rules import renewal
from bestbefore.policies.validation.rules.indhist import IndHist
from bestbefore.policies.validation.rules.renewal import MassRenewal, Renewal, estimates, passage_s
from bestbefore.policies.validation.rules.ttl import MassTtl

EXAMPLES = json.loads((Path(__file__).parents[3] / "data" / "renewal_examples.json").read_text())


def remembered(example: Any) -> UpdateMemory:
    memory = memory_since(example["t0"])
    for kind, *moments in example["events"]:
        if kind == "exact":
            memory = updated_at(memory, moments[0], max(moments[-1], memory.at_s))
        else:
            memory = updated_within(memory, max(moments[0], memory.at_s), moments[1])
    return memory


def asked(times_s: list[float]) -> CopyDemand:
    demand = first_request(times_s[0])
    for time_s in times_s[1:]:
        demand = requested(demand, time_s)
    return demand


@pytest.mark.parametrize("example", EXAMPLES)
def test_it_decides_as_the_worked_examples(example: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (forecast, renewal):  # the examples give counts that are smoothed already
        monkeypatch.setattr(module, "smoothed", lambda counts, k: counts[k])
    t, group, expected = example["t"], example["group"], example["memory"]
    memory = remembered(example)
    last_s = example["t0"] if expected["last"] is None else expected["last"]
    assert memory == pytest.approx((
        expected["as_of"], last_s, expected["n"], expected["E"], expected["A"], expected["X"], expected["gaps"],
        expected["gap_mean"], expected["gap_dev"], expected["weekend"], *expected["logw"],
    ))
    of_group = weekend_share(group["n"], group["weekend"], 2 / 7, 2 / 7)
    at_weekends = weekend_share(memory.updates, memory.weekend_updates, of_group, 2 / 7)
    profile = Profile(expected["hours"], group["hours"], expected["n"], group["n"], at_weekends)
    rates = rates_at(asked(example["requests"]), t)
    assert rates[:2] == pytest.approx(example["demand"]["rho"])
    requests = RequestRates(rates.day_per_s, rates.minutes_per_s, example["b"])
    for tolerance, after_s in (
        (Price(example["price"]), example["expiry_after_s"]),
        (Mass(example["theta"]), example["expiry_after_theta_s"]),
    ):
        expiry_s = passage_s(t, forecast_at(memory, t, group["r0"]), profile, requests, tolerance)
        assert expiry_s - t == (math.inf if after_s is None else pytest.approx(after_s, rel=1e-6))


class Plain:
    """A second implementation for complete histories since 0: sums over updates, and quadrature."""

    def __init__(self, times_s: list[float]) -> None:
        self.times_s = times_s
        self.start_s = times_s[-1] if times_s else 0.0

    def mean(self, t: float) -> float:
        return (len(self.times_s) + 0.5) / (t + 0.5 * DAY_S)

    def of_a_day(self, t: float, mean: float) -> float:
        count = sum(math.exp((u - t) / DAY_S) for u in self.times_s)
        return (count + 1) / (DAY_S * (1 - math.exp(-t / DAY_S)) + 1 / mean)

    def of_gaps(self, t: float) -> float:
        logs = np.log(np.diff(self.times_s))
        shares = 0.95 ** np.arange(len(logs))[::-1]
        mu = ((shares * logs).sum() - 0.5 * (math.log(self.mean(self.start_s)) + 0.5772)) / (shares.sum() + 0.5)
        deviation = (shares * (logs - np.average(logs, weights=shares)) ** 2).sum() if len(logs) else 0.0
        beta = 1.8138 / max(math.sqrt((deviation + 0.5 * 1.645) / (shares.sum() + 0.5)), 0.1)
        age = max(t - self.start_s, 1e-6)
        return beta / age / (1 + math.exp(-beta * (math.log(age) - mu)))

    def quiet(self, t: float) -> list[float]:
        mean = self.mean(self.start_s)
        of_gaps = self.of_gaps if self.times_s else self.mean
        experts = [self.mean, lambda s: self.of_a_day(s, mean), of_gaps]
        points = [self.start_s + d for d in (1e-3, 1.0, 60.0, HOUR_S, DAY_S) if d < t - self.start_s]
        return [quad(rate, self.start_s, t, points=points or None, limit=500)[0] for rate in experts]

    def at_update(self, t: float) -> list[float]:
        mean = self.mean(t)
        return [mean, self.of_a_day(t, mean), self.of_gaps(t) if self.times_s else mean]

    def log_weights(self) -> list[float]:
        logs = np.zeros(3)
        for i, u in enumerate(self.times_s):
            before = Plain(self.times_s[:i])
            weights = np.exp(logs - before.quiet(u) + np.log(before.at_update(u)))
            logs = np.log(0.98 * weights / weights.sum() + 0.02 / 3)
        return logs.tolist()


histories = st.lists(st.floats(60.0, 5 * DAY_S), min_size=1, max_size=5).map(lambda gaps: np.cumsum(gaps).tolist())


@given(histories)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_the_memory_is_that_of_a_second_implementation(times_s: list[float]) -> None:
    memory = History.of(times_s, 0.0).memory_at(times_s[-1])
    assert memory[-3:] == pytest.approx(Plain(times_s).log_weights(), rel=1e-3, abs=1e-3)


@given(histories, st.floats(0.0, 3 * DAY_S), st.sampled_from([0.05, 0.3, 1.0]))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_the_expiry_is_that_of_a_second_implementation_with_small_steps(
    times_s: list[float], quiet_s: float, theta: float
) -> None:
    t = times_s[-1] + quiet_s
    memory, plain = History.of(times_s, 0.0).memory_at(t), Plain(times_s)
    flat = Profile([0.0] * 24, [0.0] * 24, 0.0, 0.0, 2 / 7)  # all factors are 1
    expiry_s = passage_s(t, forecast_at(memory, t, 1 / DAY_S), flat, RequestRates(0.0, 0.0, 1.0), Mass(theta))
    step_s, s, mass = 20.0, t, 0.0
    logs = [w - q for w, q in zip(plain.log_weights(), plain.quiet(t) if quiet_s else (0.0, 0.0, 0.0), strict=True)]
    weights = np.exp([*logs, math.log(0.003) - 0.3 * math.log(quiet_s / HOUR_S + 1)])
    while mass < theta and s < expiry_s + DAY_S:
        step_s = max(20.0, (s - t) / 50)
        middle = s + step_s / 2
        ended = 0.3 / (middle - times_s[-1] + HOUR_S)
        rates = np.array([plain.mean(t), plain.of_a_day(middle, plain.mean(t)), plain.of_gaps(middle), ended])
        mass += step_s * float((weights * rates).sum() / weights.sum())
        weights *= np.exp(-rates * step_s)
        s += step_s
    assert expiry_s - t == pytest.approx(s - t, rel=0.1, abs=60.0)


def test_without_updates_and_requests_the_mass_is_that_of_the_prior_rate() -> None:
    """A limit: with equal experts at one update a day, theta is reached after theta days."""
    group = Group.of_members([np.empty(0)], [0.0])
    expiry_s = MassRenewal(0.25).verdict(History.of([], 0.0), group, 0.0).expiry_s
    assert expiry_s == pytest.approx(0.25 * DAY_S, rel=0.05)  # the memory of a day expects less meanwhile


def test_a_higher_price_and_more_requests_make_a_copy_expire_earlier() -> None:
    history = History.of([DAY_S * k for k in range(1, 9)], 0.0)
    group, t = Group.of_members([history.times_s], [0.0]), 8.3 * DAY_S

    def lifetime_s(price: float, gap_s: float) -> float:
        demand = asked([t - gap_s * k for k in range(100, -1, -1)])
        return Renewal(price).verdict(history, group, t, None, demand).expiry_s - t

    assert lifetime_s(10.0, 600.0) < lifetime_s(3.0, 600.0) < lifetime_s(1.0, 600.0)
    assert lifetime_s(3.0, 60.0) < lifetime_s(3.0, 600.0) < lifetime_s(3.0, 6000.0)
    assert lifetime_s(1e-6, 6000.0) == math.inf


def test_a_copy_of_what_changes_at_noon_lasts_until_the_next_noon_whatever_the_time_of_the_contact() -> None:
    history = History.of([DAY_S * (day + 0.5) for day in range(30)], 0.0)
    group, next_noon_s = Group.of_members([history.times_s], [0.0]), 30.5 * DAY_S
    for hour in (14, 20, 28, 34):
        expiry_s = MassRenewal(0.3).verdict(history, group, 29 * DAY_S + HOUR_S * hour).expiry_s
        assert expiry_s == pytest.approx(next_noon_s, abs=1.5 * HOUR_S)


NO_REQUESTS = RequestRates(0.0, 0.0, 1.0)


def test_the_mean_alone_without_constants_is_indhist(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal, "LASTING_STRENGTH", 0.0)
    monkeypatch.setattr(renewal, "smoothed", lambda counts, k: counts[k])
    hours = (*range(24), 9.25, 10.25)
    history = History.of([DAY_S * day + HOUR_S * (0.5 + hour) for day in range(12) for hour in hours], 0.0)
    t = 12 * DAY_S
    rate = history.times_s.size / t
    mean_alone = Forecast(1.0, 0.0, 0.0, 0.0, rate, 0.0, 0.0, False, GapLaw(0.0, 1.0), 0.0)
    counts = history.counts(0.0, t)
    profile = Profile(counts, [0.0] * 24, sum(counts), 0.0, 2 / 7)
    for theta in (0.1, 3.0, 10.0):
        expected_s = IndHist(theta).verdict(history, None, t).expiry_s
        assert passage_s(t, mean_alone, profile, NO_REQUESTS, Mass(theta)) - t == pytest.approx(expected_s - t, rel=0.1)


def test_the_hazard_in_inverse_proportion_to_the_age_is_ttl() -> None:
    history, t = History.of([5 * DAY_S], 0.0), 6 * DAY_S
    gaps_alone = Forecast(0.0, 0.0, 1.0, 0.0, 1 / DAY_S, 0.0, 0.0, True, GapLaw(0.0, 1.0), t - 5 * DAY_S)
    flat = Profile([0.0] * 24, [0.0] * 24, 0.0, 0.0, 2 / 7)
    for theta in (0.05, 0.3, 1.0):
        expected_s = MassTtl(theta).verdict(history, None, t).expiry_s
        assert passage_s(t, gaps_alone, flat, NO_REQUESTS, Mass(theta)) - t == pytest.approx(expected_s - t, rel=0.02)


def test_the_estimates_are_those_of_the_experts_at_the_hour_of_the_week() -> None:
    times_s = [4 * DAY_S + HOUR_S * hour for hour in (9.0, 9.2, 9.4, 9.6, 9.8)]  # a Monday
    history = History.of(times_s, 0.0)
    at_9, at_15, on_saturday = (
        estimates(HistoryFeatures(history, None, 4 * DAY_S + HOUR_S * hour)) for hour in (9.9, 15.9, 5 * 24 + 9.9)
    )
    for found in (at_9, at_15, on_saturday):
        assert sum(weight for weight, _ in found) == pytest.approx(1.0)
    (_, lasting), (_, day), (_, gaps), (_, ended) = at_9
    assert ended == pytest.approx(0.3 / 1.1 / HOUR_S)
    assert lasting < day < gaps, "the shorter the memory, the more the last hour counts"
    assert all(here > 2 * there for (_, here), (_, there) in zip(at_9[:3], at_15[:3], strict=True))
    assert at_15[2][0] < at_9[2][0], "by gaps of twelve minutes an update was due long ago"
    assert on_saturday[0][1] < lasting
