"""Retrieval points and crawl times: `python tests/bench/timing.py [--record]` compares the methods, and their cost.

With --record the tables also become docs/results/timing.md.
"""

import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from compared.greedy_crawls import greedy_crawls
from results_page import write_page

from bestbefore.policies.prefetch.timing.exact import (
    points_on_grid,
    polished,
    retrieval_points,
    retrieval_points_of_all,
)
from bestbefore.policies.prefetch.timing.points import Intensity, expected_delay, uniform_points
from bestbefore.policies.prefetch.timing.quasideterministic import (
    PotentialUpdates,
    least_staleness,
    staleness,
)
from bestbefore.policies.units import FloatArray
from bestbefore.replay.papers.feeds.point_search import exhaustive_points, refined_points

PAGE = Path(__file__).parents[2] / "docs" / "results" / "timing.md"
FEEDS = 40
MANY_FEEDS = 1000
HALF_HOURS = np.arange(48) / 2.0
FINE = np.arange(480) / 20.0
PAGES = 100

EXPLANATION = """*Retrieval points*: the expected delay of daily retrievals over that of `retrieval_points` (exact on \
its own grid, polished), mean and worst of 40 feeds. Smooth feeds post around one or two hours of the day; rough ones \
have independent gamma-distributed hourly rates (shape 1/2). *uniform* starts at the best of 48 phases. *exhaustive* \
and *refined* are the two methods of the feeds paper, *exact* the dynamic programme, all three on half hours, among \
which 48 retrievals have no choice; *fine* is the exact method on a grid of 3 minutes, polished: what \
`retrieval_points` could still gain (not tried at 48). The exhaustive search tries all pairs of first points; each \
further one is the grid point nearest to where the condition of theorem 3 puts it, which is necessary and not \
sufficient, so that it can fall behind even spacing. *us* is the processor time of a call.

*Crawl times*: pages with 24 potential updates a day. Staleness under the paper's greedy choice over the least one, \
and the freshness that is lost, over 100 pages and all numbers of crawls from 1 to 23. The paper's guarantee is that \
freshness is at least 63 percent of the best."""

Method = Callable[[Intensity, int], FloatArray]


def uniform(intensity: Intensity, retrievals: int) -> FloatArray:
    phases = np.arange(48)[:, None] / 48.0 * 24.0 / retrievals
    sets = phases + uniform_points(24.0, retrievals)
    return np.asarray(sets[int(np.argmin(expected_delay(intensity, sets)))])


METHODS: dict[str, Method] = {
    "uniform": uniform,
    "exhaustive": lambda intensity, m: exhaustive_points(intensity, m, HALF_HOURS),
    "refined": lambda intensity, m: refined_points(intensity, m, HALF_HOURS),
    "exact": lambda intensity, m: points_on_grid(intensity, m, HALF_HOURS),
    "fine": lambda intensity, m: polished(intensity, points_on_grid(intensity, m, FINE)),
}


def smooth(rng: np.random.Generator) -> Intensity:
    hours = np.arange(24)
    rates = np.full(24, 0.02)
    for peak, weight in zip(rng.uniform(0.0, 24.0, 2), (1.0, rng.uniform(0.0, 1.0)), strict=True):
        rates += weight * np.exp(-((((hours - peak + 12.0) % 24.0) - 12.0) ** 2) / rng.uniform(4.0, 30.0))
    return Intensity.hourly(rates)


def rough(rng: np.random.Generator) -> Intensity:
    return Intensity.hourly(rng.gamma(0.5, 1.0, 24))


def timed(method: Method, feeds: list[Intensity], retrievals: int) -> tuple[FloatArray, float]:
    began = time.process_time()
    points = [method(feed, retrievals) for feed in feeds]
    seconds = time.process_time() - began
    return np.array([float(expected_delay(f, p)) for f, p in zip(feeds, points, strict=True)]), seconds / len(feeds)


def retrievals_table(draw: Callable[[np.random.Generator], Intensity]) -> Iterator[str]:
    rng = np.random.default_rng(1)
    feeds = [draw(rng) for _ in range(FEEDS)]
    yield f"{draw.__name__:8s}" + "".join(f"{name:>16s}" for name in METHODS) + f"{'us':>8s}"
    for retrievals in (1, 2, 4, 8, 16, 24, 48):
        best, seconds = timed(retrieval_points, feeds, retrievals)
        cells = []
        for method in METHODS.values():
            if method is not METHODS["fine"] or retrievals <= 24:
                ratio = timed(method, feeds, retrievals)[0] / best
                cells.append(f"{np.mean(ratio):8.3f} {np.max(ratio):7.3f}")
        yield f"{retrievals:8d}" + "".join(cells).ljust(16 * len(METHODS)) + f"{seconds * 1e6:8.0f}"


def many_feeds() -> str:
    rng = np.random.default_rng(2)
    rates, retrievals = rng.gamma(0.5, 1.0, (MANY_FEEDS, 24)), rng.integers(1, 49, MANY_FEEDS)
    began = time.process_time()
    retrieval_points_of_all(rates, retrievals)
    own = time.process_time() - began
    shared = rates[rng.integers(0, 12, MANY_FEEDS)]
    began = time.process_time()
    retrieval_points_of_all(shared, retrievals)
    return (
        f"{MANY_FEEDS} feeds with 1 to 48 retrievals a day: {own:.2f} s of processor time with a profile each, "
        f"{time.process_time() - began:.2f} s with one of 12"
    )


def crawls_table() -> Iterator[str]:
    yield f"{'':24s}{'staleness: mean':>18s}{'worst':>8s}{'freshness lost: mean':>24s}{'worst':>8s}"
    for boundary in ("interval", "periodic"):
        for kind in ("hourly", "irregular"):
            rng = np.random.default_rng(3)
            ratios, lost = [], []
            for _ in range(PAGES):
                times = np.arange(24.0) if kind == "hourly" else np.sort(rng.uniform(0.0, 24.0, 24))
                page = PotentialUpdates.of(times, rng.uniform(0.0, 1.0, 24), 24.0)
                least = least_staleness(page, boundary)
                for crawls in range(1, 24):
                    greedy = staleness(page, greedy_crawls(page, crawls, boundary), boundary)
                    ratios.append(greedy / least[crawls])
                    lost.append(1.0 - (1.0 - greedy) / (1.0 - least[crawls]))
            yield (
                f"{boundary:12s}{kind:12s}{np.mean(ratios):18.3f}{np.max(ratios):8.3f}"
                f"{np.mean(lost):24.4f}{np.max(lost):8.4f}"
            )


def main() -> None:
    lines = ["Retrieval points"]
    for draw in (smooth, rough):
        lines += ["", *retrievals_table(draw)]
    lines += ["", many_feeds(), "", "Crawl times at potential updates", "", *crawls_table()]
    printed = "\n".join(lines)
    print(printed)
    if "--record" in sys.argv:
        write_page(PAGE, "Timing: methods and their delays", EXPLANATION, printed)


main()
