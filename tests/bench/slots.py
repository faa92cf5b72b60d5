"""Crawls to slots: `python tests/bench/slots.py [--record]` times the assignment and shows how far it is from ideal.

With --record the tables also become docs/results/slots.md. Needs about 1 GB.
"""

import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from results_page import write_page
from scipy.optimize import linear_sum_assignment

from bestbefore.policies.prefetch.slots.assignment import Slots, assign
from bestbefore.policies.units import FloatArray

PAGE = Path(__file__).parents[2] / "docs" / "results" / "slots.md"
DAY_S = 86400.0
CRAWLERS = 10
RELEASED = 0.2
WITHIN = (1, 2, 5, 10, 20, 50, 100, 200)

EXPLANATION = """Figure 10 of the crawling paper: one day, 10 equal crawlers with one million slots each (86.4 ms), \
10 million crawls, 20 percent of them with a release time. The paper took about two minutes on its machine, with a \
network flow library, and says that virtually all crawls lie within 20 slots of their ideal time. It does not say how \
the ideal times were drawn, which determines the figure: with every slot taken, each crawl is late or early by the \
crawls before it that are too many or too few:

- *independent*: each ideal time uniform in the day, on its own; the surplus is a random walk over 10 million crawls;
- *spaced*: pages with 1 to 4 crawls at equal distances from a random phase on;
- *paced*: one ideal time for each slot, up to 10 slots before or after it.

Columns: processor time (seconds, and over that of sorting the ideal times once); the percentage of crawls, of both \
kinds, within so many slots of the ideal time; *rel. 20*, of those with a release time alone, within 20 slots: none \
of them is early, and they go first. With slack the assignment is a least-cost flow instead of a sorted matching; \
there a tenth of the crawls is used, and *x sort* shows how the cost grows. The last table compares with \
`scipy.optimize.linear_sum_assignment`, which needs all pairs."""


def independent(rng: np.random.Generator, n: int, _: int) -> FloatArray:
    return rng.uniform(0.0, DAY_S, n)


def spaced(rng: np.random.Generator, n: int, _: int) -> FloatArray:
    numbers = rng.integers(1, 5, n)
    first = np.cumsum(numbers) - numbers
    pages = int(np.searchsorted(first, n))
    of_page = np.repeat(np.arange(pages), numbers[:pages])[:n]
    nth = np.arange(n) - first[of_page]
    return np.asarray((rng.random(pages)[of_page] + nth) / numbers[of_page] * DAY_S)


def paced(rng: np.random.Generator, n: int, slots: int) -> FloatArray:
    return (np.arange(n) / n + rng.uniform(-10.0, 10.0, n) / slots) * DAY_S


def row(name: str, ideal_s: FloatArray, slots_each: int, rng: np.random.Generator) -> str:
    slot_s = DAY_S / slots_each
    # The last slot starts one slot before midnight, and nothing could be released after it.
    ideal_s = np.minimum(ideal_s, DAY_S - 5 * slot_s)
    released = rng.random(ideal_s.size) < RELEASED
    began = time.process_time()
    np.sort(ideal_s)
    sorting = time.process_time() - began
    began = time.process_time()
    assignment = assign(Slots.of(DAY_S, [slots_each] * CRAWLERS), ideal_s, released)
    seconds = time.process_time() - began
    off = (assignment.start_s - ideal_s) / slot_s
    if np.any(off[released] < 0.0):
        raise SystemExit("a crawl lies before its release time")
    shares = "".join(f"{100.0 * np.mean(np.abs(off) <= slots):7.1f}" for slots in WITHIN)
    late = 100.0 * np.mean(off[released] <= 20)
    return f"{name:24s}{ideal_s.size:10d}{seconds:7.2f}{seconds / sorting:8.1f}{shares}{late:10.1f}"


def paper_table(slots_each: int) -> Iterator[str]:
    yield f"{'':24s}{'crawls':>10s}{'s':>7s}{'x sort':>8s}" + "".join(f"{s:>7d}" for s in WITHIN) + f"{'rel. 20':>10s}"
    rng = np.random.default_rng(1)
    for draw in (independent, spaced, paced):
        yield row(draw.__name__, draw(rng, CRAWLERS * slots_each, slots_each), slots_each, rng)


def slack_table(slots_each: int) -> Iterator[str]:
    rng = np.random.default_rng(2)
    for free in (0.0, 0.001, 0.01, 0.05, 0.2, 0.5):
        n = round((1.0 - free) * CRAWLERS * slots_each)
        yield row(f"independent, {100 * free:g} % free", independent(rng, n, slots_each), slots_each, rng)


def general_table() -> Iterator[str]:
    yield f"{'crawls':>10s}{'scipy / ours':>14s}{'cost / cost':>14s}"
    rng = np.random.default_rng(3)
    for n in (200, 600, 1800):
        slots = Slots.of(DAY_S, [n // 4] * 5)
        ideal_s, nothing = rng.uniform(0.0, DAY_S, n), np.zeros(n, dtype=np.bool_)
        began = time.process_time()
        cost = np.abs(slots.start_s - ideal_s[:, None])
        least = float(np.sum(cost[linear_sum_assignment(cost)]))
        general = time.process_time() - began
        began = time.process_time()
        ours = float(np.sum(np.abs(assign(slots, ideal_s, nothing).start_s - ideal_s)))
        yield f"{n:10d}{general / (time.process_time() - began):14.1f}{ours / least:14.9f}"


def main() -> None:
    lines = [*paper_table(1_000_000), "", *slack_table(100_000), "", *general_table()]
    printed = "\n".join(lines)
    print(printed)
    if "--record" in sys.argv:
        write_page(PAGE, "Slots: ten million crawls", EXPLANATION, printed)


main()
