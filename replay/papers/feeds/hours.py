"""Figures 10 and 12 (the hours at which feeds post), and a comparison of estimates of a feed's pattern."""

from collections.abc import Callable, Mapping
from functools import partial

import numpy as np

from bestbefore.addon.charts.lines import Line, Scale, drawn
from bestbefore.policies.models.patterns import Clusters
from bestbefore.policies.prefetch.timing.exact import retrieval_points
from bestbefore.policies.prefetch.timing.points import Intensity, delay_slopes
from bestbefore.policies.units import BINS, FloatArray
from bestbefore.replay.papers.feeds.learnt_rates import STRENGTH, LearntRates
from bestbefore.replay.papers.feeds.runs import BUDGETS
from bestbefore.replay.papers.feeds.strategies import timed, uniform
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page

LEVEL = 1e-6
"""The tolerance of a slope of the delay, in postings of a day."""
MAJOR = 6
"""The number of clusters that the paper shows, of twelve."""

PATTERNS: Mapping[str, Callable[[LearntRates], FloatArray]] = {
    "of all feeds together": lambda learnt: learnt.of_all,
    "the feed's own": lambda learnt: learnt.own,
    "its cluster's, of 12 of all feeds (paper)": lambda learnt: learnt.nearest,
    "its cluster's, of 12 of daily feeds": lambda learnt: learnt.likeliest,
    "its own, drawn to that (ours)": lambda learnt: learnt.drawn,
}


def mean_minutes(learnt: LearntRates, run: tuple[str, int]) -> float:
    """The mean delay, minutes, under strategy 2 for a pair of a pattern and retrievals a day."""
    name, per_day = run
    return learnt.spans.measured(timed(PATTERNS[name](learnt), per_day)).mean_s / 60.0


def theorem_3(found: Clusters) -> tuple[int, int]:
    """Return the number of best points for the clusters that satisfy equation 2, and the number of all."""
    fulfilled = points = 0
    for pattern in found.centroids:
        intensity = Intensity.hourly(pattern)
        for per_day in BUDGETS:
            before, after = delay_slopes(intensity, retrieval_points(intensity, per_day))
            fulfilled += int(np.sum((before <= LEVEL) & (after >= -LEVEL)))
            points += per_day
    return fulfilled, points


def write(work: Work, page: Page, learnt: LearntRates, everything: LearntRates) -> None:
    """Write the section on hours."""
    page.section("Figures 10 and 12: the hours at which feeds post")
    daily = everything.clusters_of_daily
    page.text(
        f"""Figure 10 adds up the days of all feeds, figure 12 shows six of twelve k-means clusters of hourly profiles,
        with sizes such as 384 and 377 feeds, peaks in the morning or the afternoon, and some within two hours (10 to
        12, 23 to 1). Ours are of the {daily.sizes.sum():,} feeds of `all` that posted once a day or more in their two
        weeks, in UTC. The six largest hold
        {100 * daily.sizes[:MAJOR].sum() / daily.sizes.sum():.0f} % of the feeds."""
    )
    page.figure("figure_10", "Figure 10: the hours of all postings", drawn(
        [Line(f"all feeds, {everything.spans.learnt.sum():,} postings", _by_hour(everything.common))],
        Scale("hour of the day (UTC)"), Scale("share of the postings")))
    page.figure("figure_12", "Figure 12: the six largest of twelve clusters", drawn(
        [Line(f"{size} feeds", _by_hour(pattern), marked=True)
         for pattern, size in zip(daily.centroids[:MAJOR], daily.sizes[:MAJOR].tolist(), strict=True)],
        Scale("hour of the day (UTC)"), Scale("share of the postings")))
    page.table(("cluster", "feeds", "peak hour", "share of the peak", "hours with half of the postings"), _rows(daily))
    fulfilled, points = theorem_3(daily)
    page.text(
        f"""Theorem 3 on these twelve clusters at {", ".join(map(str, BUDGETS))} retrievals a day: of the {points}
        points of `retrieval_points` {fulfilled} fulfil equation 2. As the rates are constant within hours, that is to
        say that the slope of the delay is not above 0 before the point nor below 0 after it."""
    )
    runs = [(name, per_day) for name in PATTERNS for per_day in BUDGETS]
    found = dict(zip(runs, work.each(partial(mean_minutes, learnt), runs, "patterns"), strict=True))
    page.text(
        f"""By which pattern a feed should be retrieved: the mean delay in minutes of the feeds like the paper's, each
        as often, at the best points (exact). Drawn: {STRENGTH:.0f} hours with postings of its
        cluster's pattern are added to the feed's own, in which a burst within an hour counts once."""
    )
    even = [learnt.spans.measured(uniform(len(learnt.spans), b)) for b in BUDGETS]
    page.table(("pattern", *(f"{b} a day" for b in BUDGETS)), [
        ("none, evenly spaced", *(f"{one.mean_s / 60:.1f}" for one in even)),
        *((name, *(f"{found[name, b]:.1f}" for b in BUDGETS)) for name in PATTERNS),
    ])


def _by_hour(pattern: FloatArray) -> list[tuple[float, float]]:
    return [(hour + 0.5, share) for hour, share in enumerate(pattern.tolist())]


def _rows(found: Clusters) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for number, (pattern, size) in enumerate(zip(found.centroids, found.sizes.tolist(), strict=True)):
        half = int(np.searchsorted(np.cumsum(np.sort(pattern)[::-1]), 0.5)) + 1
        peak = int(np.argmax(pattern))
        rows.append((str(number + 1), str(size), f"{peak} to {(peak + 1) % BINS}", f"{pattern[peak]:.2f}", str(half)))
    return rows
