"""How near the schedule without a plan comes to the best plan: `python tests/bench/online.py [--record]`.

With --record the tables also become docs/results/online.md.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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
is what the schedule says of itself, on average over these days, and *swing* how far that is off its mean at most: the
contacts of the first day are followed by waves of them, as the best intervals of most objects are nearly the same, and
the price follows the waves. *Spent* is what it made of its budget.

Below, a million objects: processor time for putting them at once, for the first choice, which solves the price and all
due times, for each later contact (choice and new estimate), and the bytes that the schedule keeps of an object. The
times depend on the processor and on what else it does, all other figures do not.

**Tolerance.** *Freshness*, *best* and *expected* are to agree within {tolerance:.0%}: {agreeing} of {rows} rows do.

What it does: [rates of change, and refreshing without a plan](../rates.md)."""


def problem(n: int, weights: FloatArray) -> tuple[FloatArray, FloatArray, float]:
    """Rates and last contacts, and the contacts per hour."""
    random = np.random.default_rng(2)
    return random.lognormal(-3.0, 1.5, n), -random.random(n) * 240.0, n / 5 / 24


class Run(NamedTuple):
    """What a schedule brought."""

    reached: float
    """The freshness."""
    best: float
    expected: float
    swing: float
    """The largest difference of an expectation from their mean, relative to it."""
    spent: float
    """The part of the budget."""

    @property
    def agrees(self) -> bool:
        return max(abs(self.best / self.reached - 1.0), abs(self.expected / self.reached - 1.0)) <= TOLERANCE


def run(n: int, weights: FloatArray) -> Run:
    rates, last_h, per_hour = problem(n, weights)
    schedule = filled("freshness", rates, last_h, weights, per_hour)
    fresh_h, made, now_s = np.zeros(n), 0, 0.0
    said: list[float] = []
    while now_s < END_H * HOUR_S:
        slot = schedule.take(now_s)
        if now_s >= (SETTLING_H + len(said)) * HOUR_S:
            said.append(schedule.expected().freshness)
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
    return Run(
        weighted_mean(fresh_h / (END_H - SETTLING_H), weights),
        weighted_mean(freshness(rates, best), weights),
        mean := float(np.mean(said)),
        float(np.max(np.abs(np.array(said) / mean - 1.0))),
        spent_per_hour / per_hour,
    )


def filled(objective: str, rates: FloatArray, last_h: FloatArray, weights: FloatArray, per_hour: float) -> Schedule:
    """A schedule with all objects."""
    schedule = Schedule(objective, per_hour, 0.0)
    estimates = [ScheduleEstimate(*one) for one in zip(rates, last_h * HOUR_S, weights, strict=True)]
    schedule.put_many(range(len(estimates)), estimates)
    return schedule


def fresh_within(rates: FloatArray, refreshed_h: FloatArray, until_h: float) -> FloatArray:
    """The hours after the settling in which an object refreshed last at that time is expected to be fresh."""
    since_h = np.maximum(refreshed_h, SETTLING_H) - refreshed_h
    hours: FloatArray = (np.exp(-rates * since_h) - np.exp(-rates * (until_h - refreshed_h))) / rates
    return hours


def near_the_best() -> Iterator[tuple[str, bool]]:
    for n in (300, 1000, 3000):
        for law, weights in (("equal", np.ones(n)), ("Zipf", 1.0 / np.arange(1, n + 1))):
            found = run(n, weights)
            row = f"{n:8d} {law:>8s} {found.reached:10.4f} {found.best:8.4f} {found.expected:9.4f}"
            yield f"{row} {found.swing:7.1%} {found.spent:7.3f}", found.agrees


def of_many_objects(n: int, objective: str) -> str:
    weights = 1.0 / np.arange(1, n + 1)
    rates, last_h, per_hour = problem(n, weights)
    began = time.process_time()
    schedule = filled(objective, rates, last_h, weights, per_hour)
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
    print(head := " objects  weights  freshness     best  expected   swing   spent")
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
