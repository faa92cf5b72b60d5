"""How near the schedule without a plan comes to the best plan: `python tests/bench/online.py [--record]`.

With --record the tables also become docs/results/online.md.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from results_page import write_page

from bestbefore.policies.prefetch.allocation.objectives import freshness, weighted_mean
from bestbefore.policies.prefetch.online.estimate import Columns, ScheduleEstimate
from bestbefore.policies.prefetch.online.schedule import Schedule
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.units import HOUR_S, FloatArray

PAGE = Path(__file__).parents[2] / "docs" / "results" / "online.md"
SETTLING_H, END_H = 240.0, 720.0
DECISIONS = 3000
TOLERANCE = 0.01

EXPLANATION = """\
Objects with log-normal rates (median one update in 20 hours, standard deviation of the logarithm 1.5) and weights that
are equal or Zipf's; the budget is a fifth of the objects a day, and the schedule knows rates, weights and last contacts
(`policies/prefetch/online/schedule.py`). *Freshness* is the expected one under Poisson updates, weighted, in the days
11 to 30; *best* is that of the best allocation of as many contacts as were made, at exact regular intervals; *expected*
is what the schedule says of itself at its end; *spent* is what it made of its budget. Below, a million objects:
processor time for putting them, for the first choice, which solves the price and all due times, for each later contact
(choice and new estimate), and the bytes that the schedule keeps of an object.

**Tolerance.** *Freshness*, *best* and *expected* are to agree within {tolerance:.0%}: {agreeing} of {rows} rows do.

What it does: [rates of change, and refreshing without a plan](../rates.md)."""


def problem(n: int, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Rates and last contacts, and the contacts per hour."""
    random = np.random.default_rng(2)
    return random.lognormal(-3.0, 1.5, n), -random.random(n) * 240.0, n / 5 / 24


def run(n: int, weights: FloatArray) -> tuple[float, float, float, float]:
    """The freshness reached, the best one, that expected, and the part of the budget that was spent."""
    rates, last_h, per_hour = problem(n, weights)
    schedule = Schedule("freshness", per_hour, 0.0)
    for slot in range(n):
        schedule.put(slot, ScheduleEstimate(rates[slot], last_h[slot] * HOUR_S, weights[slot]))
    fresh_h, made, now_s = np.zeros(n), 0, 0.0
    while now_s < END_H * HOUR_S:
        slot = schedule.take(now_s)
        if slot is None:
            next_s = schedule.next_s()
            now_s = now_s + HOUR_S if next_s is None else min(max(next_s, now_s), now_s + HOUR_S)
            continue
        now_h = now_s / HOUR_S
        if now_h > SETTLING_H:
            fresh_h[slot] += fresh_within(rates[slot], last_h[slot], now_h)
            made += 1
        last_h[slot] = now_h
        schedule.put(slot, ScheduleEstimate(rates[slot], now_s, weights[slot]))
    fresh_h += fresh_within(rates, last_h, END_H)
    spent_per_hour = made / (END_H - SETTLING_H)
    best = OBJECTIVES["freshness"].allocate(rates, weights, spent_per_hour)
    return (
        weighted_mean(fresh_h / (END_H - SETTLING_H), weights),
        weighted_mean(freshness(rates, best), weights),
        schedule.expected().freshness,
        spent_per_hour / per_hour,
    )


def fresh_within(rates: FloatArray, refreshed_h: FloatArray, until_h: float) -> FloatArray:
    """The hours after the settling in which an object refreshed last at that time is expected to be fresh."""
    since_h = np.maximum(refreshed_h, SETTLING_H) - refreshed_h
    hours: FloatArray = (np.exp(-rates * since_h) - np.exp(-rates * (until_h - refreshed_h))) / rates
    return hours


def near_the_best() -> Iterator[tuple[str, bool]]:
    for n in (300, 1000, 3000):
        for law, weights in (("equal", np.ones(n)), ("Zipf", 1.0 / np.arange(1, n + 1))):
            reached, best, expected, spent = run(n, weights)
            agree = max(abs(best / reached - 1.0), abs(expected / reached - 1.0)) <= TOLERANCE
            yield f"{n:8d} {law:>8s} {reached:10.4f} {best:8.4f} {expected:9.4f} {spent:7.3f}", agree


def of_many_objects(n: int, objective: str) -> str:
    weights = 1.0 / np.arange(1, n + 1)
    rates, last_h, per_hour = problem(n, weights)
    schedule = Schedule(objective, per_hour, 0.0)
    began = time.process_time()
    for slot in range(n):
        schedule.put(slot, ScheduleEstimate(rates[slot], last_h[slot] * HOUR_S, weights[slot]))
    put = time.process_time()
    first = schedule.take(0.0)
    assert first is not None
    schedule.put(first, ScheduleEstimate(rates[first], 0.0, weights[first]))
    chosen, now_s = time.process_time(), 0.0
    for _ in range(DECISIONS):
        while (slot := schedule.take(now_s)) is None:
            now_s = max(schedule.next_s() or 0.0, now_s)
        schedule.put(slot, ScheduleEstimate(rates[slot], now_s, weights[slot]))
    each_s = (time.process_time() - chosen) / DECISIONS
    columns = Columns()
    columns.reserve(1000)
    row = sum(getattr(columns, name).nbytes for name in Columns.NAMES) / len(columns) + 16
    return (
        f"{n:8d} {objective:>9s}: put in {put - began:.1f} s, the first choice {chosen - put:.1f} s, each contact "
        f"{each_s * 1e6:.0f} us, {row:.0f} bytes an object"
    )


def main() -> None:
    print(head := " objects  weights  freshness     best  expected   spent")
    rows = []
    for row, agrees in near_the_best():
        print(row, flush=True)
        rows.append((row, agrees))
    many = [of_many_objects(1_000_000, objective) for objective in ("freshness", "delay")]
    print("\n".join(many))
    if "--record" in sys.argv:
        explanation = EXPLANATION.format(
            tolerance=TOLERANCE, agreeing=sum(agrees for _, agrees in rows), rows=len(rows)
        )
        printed = "\n".join([head, *(row for row, _ in rows), "", *many])
        write_page(PAGE, "Refreshing without a plan: how near it comes", explanation, printed)


if __name__ == "__main__":
    main()
