"""How near refreshing without a plan comes to the best plan: `python tests/bench/online.py [--record]`.

With --record the table also becomes docs/results/online.md.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from compared.index_scheduler import IndexScheduler
from results_page import write_page

from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.prefetch.online.spacing import DueDates
from bestbefore.policies.units import HOUR_S, FloatArray

PAGE = Path(__file__).parents[2] / "docs" / "results" / "online.md"
SETTLING_H, END_H = 360.0, 1080.0
DECISIONS = 5000

Take = Callable[[float], int | None]

EXPLANATION = """\
Objects with log-normal rates (median one update in 20 hours, standard deviation of the logarithm 1.5) and weights that
are equal or Zipf's, refreshed at moments that are evenly spaced, a fifth of the objects a day. *Freshness* is the
expected one under Poisson updates, weighted, in the days 16 to 45; *short of* compares with the best allocation at
exact regular intervals, which no schedule with one contact at a time quite keeps. (Where it is negative, the days
measured happen to contain some refreshes more than their share.) The last column is the time of one decision, in
microseconds; below, the same for many objects, and the time of the first decision, for which the index looks at all.

The due dates are those of the best allocation; the index policy knows only rates, weights and last refreshes. What they
are: [rates of change, and refreshing without a plan](../rates.md)."""


def expected_freshness(
    take: Take, rates: FloatArray, weights: FloatArray, refreshed_h: FloatArray, per_hour: float
) -> tuple[float, float]:
    """The weighted mean freshness while `take` is asked at each moment, and the seconds that one answer took."""
    last_h, fresh_h = refreshed_h.copy(), np.zeros(rates.size)
    spent = 0.0
    moments = round(END_H * per_hour)
    for k in range(moments):
        now_h = (k + 1) / per_hour
        began = time.perf_counter()
        number = take(now_h * HOUR_S)
        spent += time.perf_counter() - began
        if number is None:
            continue
        if now_h > SETTLING_H:
            fresh_h[number] += fresh_within(rates[number], last_h[number], now_h)
        last_h[number] = now_h
    fresh_h += fresh_within(rates, last_h, END_H)
    return float(weights @ fresh_h / weights.sum()) / (END_H - SETTLING_H), spent / moments


def fresh_within(rates: FloatArray, refreshed_h: FloatArray, until_h: float) -> FloatArray:
    """The hours after the settling in which an object refreshed last at that time is expected to be fresh."""
    since_h = np.maximum(refreshed_h, SETTLING_H) - refreshed_h
    hours: FloatArray = (np.exp(-rates * since_h) - np.exp(-rates * (until_h - refreshed_h))) / rates
    return hours


def problem(n: int, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Rates, the best frequencies for them, last refreshes, and the contacts per hour."""
    random = np.random.default_rng(2)
    rates = random.lognormal(-3.0, 1.5, n)
    per_hour = n / 5 / 24
    frequencies = continuous.freshness(rates, weights, per_hour)
    return rates, frequencies, -random.random(n) / np.maximum(frequencies, 1e-3), per_hour


def schedulers(
    rates: FloatArray, weights: FloatArray, refreshed_h: FloatArray, frequencies: FloatArray
) -> dict[str, Take]:
    return {
        "index": IndexScheduler(rates, weights, refreshed_h * HOUR_S).take,
        "due dates": DueDates(frequencies.tolist(), 0.0).take,
    }


def near_the_best() -> Iterator[str]:
    yield " objects  weights  scheduler  freshness     best  short of    us"
    for n in (300, 1000, 10_000):
        for law, weights in (("equal", np.ones(n)), ("Zipf", 1.0 / np.arange(1, n + 1))):
            rates, frequencies, refreshed_h, per_hour = problem(n, weights)
            best = float(weights @ objectives.freshness(rates, frequencies) / weights.sum())
            for name, take in schedulers(rates, weights, refreshed_h, frequencies).items():
                reached, seconds = expected_freshness(take, rates, weights, refreshed_h, per_hour)
                yield (
                    f"{n:8d} {law:>8s} {name:>10s} {reached:10.5f} {best:8.5f} {1 - reached / best:9.4%} "
                    f"{seconds * 1e6:5.0f}"
                )


def of_many_objects() -> Iterator[str]:
    for n in (100_000, 1_000_000):
        weights = 1.0 / np.arange(1, n + 1)
        rates, frequencies, refreshed_h, per_hour = problem(n, weights)
        for name, take in schedulers(rates, weights, refreshed_h, frequencies).items():
            began = time.perf_counter()
            take(HOUR_S / per_hour)
            first = time.perf_counter()
            for k in range(DECISIONS):
                take((k + 2) / per_hour * HOUR_S)
            each = (time.perf_counter() - first) / DECISIONS
            yield f"{n:8d} {'Zipf':>8s} {name:>10s} {each * 1e6:5.0f} us, the first {(first - began) * 1e3:.1f} ms"


def main() -> None:
    printed = "\n".join([*near_the_best(), "", *of_many_objects()])
    print(printed)
    if "--record" in sys.argv:
        write_page(PAGE, "Refreshing without a plan: how near it comes", EXPLANATION, printed)


main()
