"""What a plan costs to compute: `python tests/bench/allocation.py [--record]`.

Beside scipy's general solver and the greedy rule with a heap. With --record the tables become
docs/results/allocation.md.
"""

import heapq
import math
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from results_page import write_page
from scipy.optimize import minimize

from bestbefore.policies.models.renewal.laws import Pareto, RenewalLaw, Weibull
from bestbefore.policies.prefetch.allocation import continuous, objectives
from bestbefore.policies.prefetch.allocation.objectives import weighted_mean
from bestbefore.policies.prefetch.checked import IntArray
from bestbefore.policies.prefetch.discrete.best import best_visits
from bestbefore.policies.prefetch.discrete.gains import MixedGains, PoissonGains, TabulatedGains
from bestbefore.policies.prefetch.table import OBJECTIVES
from bestbefore.policies.units import FloatArray

PAGE = Path(__file__).parents[2] / "docs" / "results" / "allocation.md"
TABULATED = 8

EXPLANATION = """Objects have log-normal rates (sigma 1.5) and Zipf weights (exponent 0.8, shuffled); the budget is \
N/5 refreshes, or 2.5 N visits, per period. Times are of the processor, one core, the best of several runs; the first \
call in a process also makes the tables, which takes some 0.1 s. *Memory* is what was allocated beyond rates and \
weights at the peak, the answer (8 bytes an object) included.

*General solver*: scipy's SLSQP with exact gradients, from the uniform allocation, until it stops or for 200, 30 or 3 \
steps, as each costs N^3; *behind* is by how much its freshness or age is worse. *Greedy* takes the best visit from a \
heap, one after the other, in Python; its visits are the same. *Other laws*: 60 percent Poisson, 30 percent Pareto \
(shape 1.5), 10 percent Weibull (shape 0.5), tabulated up to 8 visits."""


def objects(n: int) -> tuple[FloatArray, FloatArray]:
    rng = np.random.default_rng(1)
    weights = np.arange(1.0, n + 1.0) ** -0.8
    rng.shuffle(weights)
    return np.exp(rng.normal(0.0, 1.5, n)), weights * (n / weights.sum())


def best_s(work: Callable[[], object], runs: int) -> float:
    times = []
    for _ in range(runs):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def in_real_numbers() -> Iterator[str]:
    yield f"{'objects':>10s}{'objective':>12s}{'ms':>10s}{'ns each':>10s}{'bytes each':>12s}{'budget error':>14s}"
    for n in (10_000, 100_000, 1_000_000, 10_000_000):
        rates, weights = objects(n)
        for name, allocate in (("freshness", continuous.freshness), ("age", continuous.age)):
            seconds = best_s(partial(allocate, rates, weights, n / 5), 3 if n > 10**6 else 7)
            tracemalloc.start()
            error = allocate(rates, weights, n / 5).sum() / (n / 5) - 1.0
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            yield f"{n:10d}{name:>12s}{seconds * 1e3:10.1f}{seconds / n * 1e9:10.1f}{peak / n:12.1f}{error:14.0e}"


def freshness_gradient(rates: FloatArray, f: FloatArray) -> FloatArray:
    r = rates / f
    return (1.0 - (1.0 + r) * np.exp(-r)) / rates


def age_gradient(rates: FloatArray, f: FloatArray) -> FloatArray:
    r = rates / f
    return -(r * r / 2.0 - 1.0 + (1.0 + r) * np.exp(-r)) / rates**2


def general(n: int, steps: int, name: str, gradient: objectives.Measure, sign: float) -> str:
    allocate, measure, _ = OBJECTIVES[name]
    rates, weights = objects(n)
    share = weights / weights.sum()
    began = time.process_time()
    found = minimize(
        lambda f: sign * weighted_mean(measure(rates, f), weights), np.full(n, 0.2), method="SLSQP",
        jac=lambda f: sign * share * gradient(rates, f), bounds=[(1e-9, None)] * n,
        constraints={"type": "eq", "fun": lambda f: f.sum() - n / 5, "jac": lambda f: np.ones(n)},
        options={"ftol": 1e-12, "maxiter": steps},
    )
    seconds = time.process_time() - began
    ours_s = best_s(partial(allocate, rates, weights, n / 5), 7)
    ours = sign * weighted_mean(measure(rates, allocate(rates, weights, n / 5)), weights)
    behind = (found.fun - ours) / abs(ours)
    return f"{n:10d}{name:>12s}{ours_s * 1e3:10.1f}{seconds:14.1f}{found.nit:8d}{behind:14.0e}"


def general_solver() -> Iterator[str]:
    yield f"{'objects':>10s}{'objective':>12s}{'ours, ms':>10s}{'SLSQP, s':>14s}{'steps':>8s}{'behind':>14s}"
    for n, steps in ((100, 200), (300, 30), (1000, 3)):
        yield general(n, steps, "freshness", freshness_gradient, -1.0)
        yield general(n, steps, "age", age_gradient, 1.0)


def greedy(rates: list[float], weights: list[float], budget: int) -> IntArray:
    def gained(i: int, n: int) -> float:
        fresh = n / rates[i] * -math.expm1(-rates[i] / n)
        return weights[i] * ((n + 1) / rates[i] * -math.expm1(-rates[i] / (n + 1)) - fresh)

    waiting = [(-gained(i, 1), i, 0) for i in range(len(rates))]
    heapq.heapify(waiting)
    for _ in range(budget):
        _, i, x = waiting[0]
        heapq.heapreplace(waiting, (-gained(i, x + 2), i, x + 1))
    counts = np.zeros(len(rates), np.int64)
    for _, i, x in waiting:
        counts[i] = x
    return counts


def discrete() -> Iterator[str]:
    yield f"{'objects':>10s}{'visits':>10s}{'':>24s}{'s':>8s}{'greedy, s':>12s}"
    for n in (100_000, 1_000_000):
        rates, weights = objects(n)
        budget = n * 5 // 2
        gains = PoissonGains(rates, weights, "interval")
        seconds = best_s(partial(best_visits, gains, budget), 5)
        beside = ""
        if n == 100_000:
            began = time.process_time()
            same = (greedy(rates.tolist(), weights.tolist(), budget) == best_visits(gains, budget)).all()
            beside = f"{time.process_time() - began:12.2f}" + ("" if same else "  DIFFERENT")
        yield f"{n:10d}{budget:10d}{'Poisson':>24s}{seconds:8.3f}{beside}"
        bounded = best_s(partial(best_visits, gains, budget, 1, 10), 5)
        yield f"{n:10d}{budget:10d}{'Poisson, 1 <= x <= 10':>24s}{bounded:8.3f}"
        equal = PoissonGains(np.full(n, 1.5), np.ones(n), "interval")
        ties = best_s(partial(best_visits, equal, budget), 5)
        yield f"{n:10d}{budget:10d}{'Poisson, all equal':>24s}{ties:8.3f}"
        yield from other_laws(n, rates, weights)


def other_laws(n: int, rates: FloatArray, weights: FloatArray) -> Iterator[str]:
    kinds = np.random.default_rng(2).choice(3, n, p=[0.6, 0.3, 0.1])
    random, others = np.flatnonzero(kinds == 0), np.flatnonzero(kinds)
    began = time.process_time()
    laws: list[RenewalLaw] = [
        Pareto(1.5, 0.5 / rates[i]) if kinds[i] == 1 else Weibull(0.5, 0.5 / rates[i]) for i in others.tolist()
    ]
    made = time.process_time()
    table = TabulatedGains.of_laws(laws, weights[others], 1.0, "interval", TABULATED)
    tabulated = time.process_time()
    gains = MixedGains([(random, PoissonGains(rates[random], weights[random], "interval")), (others, table)])
    seconds = best_s(partial(best_visits, gains, n * 5 // 2), 3)
    yield f"{n:10d}{n * 5 // 2:10d}{'other laws':>24s}{seconds:8.3f}"
    yield f"{len(others):10d}{'':>34s}{tabulated - made:8.3f}  to tabulate ({made - began:.1f} to make the laws)"


def main() -> None:
    """Print the tables, and write the page if asked to."""
    lines = []
    for title, rows in (
        ("Refreshes, in real numbers", in_real_numbers()), ("Beside a general solver", general_solver()),
        ("Visits, in whole numbers", discrete()),
    ):
        lines += ["", title, ""] if lines else [title, ""]
        print(f"\n{title}\n", flush=True)
        for row in rows:
            print(row, flush=True)
            lines.append(row)
    if "--record" in sys.argv[1:]:
        write_page(PAGE, "Allocation: what a plan costs to compute", EXPLANATION, "\n".join(lines))


if __name__ == "__main__":
    main()
