"""New objects borrow: does what they borrow foretell what they do? Judged on recorded postings that were not seen."""

import csv
import gzip
import math
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from bestbefore.addon.prefetcher.estimates import STRENGTH
from bestbefore.policies.models.hazard.experts import lasting_rate_per_s
from bestbefore.policies.models.member_rates import MemberRates, log_interval_micronats
from bestbefore.policies.models.patterns import hourly_counts, profiles
from bestbefore.policies.prefetch.timing.exact import retrieval_points_of_all
from bestbefore.policies.units import DAY_S, HOUR_S, FloatArray
from bestbefore.replay.papers.feeds.learning_windows import delays_at_points_s


def postings(folder: Path, file: str, prefix: str) -> list[FloatArray]:
    """The posting times of each object whose name begins so, by name."""
    times: defaultdict[str, list[float]] = defaultdict(list)
    with gzip.open(folder / file, "rt") as lines:
        for row in csv.DictReader(lines):
            if row["object"].startswith(prefix):
                times[row["object"]].append(float(row["time"]))
    return [np.unique(times[name]) for name in sorted(times)]


def between(times: FloatArray, after_s: float, until_s: float) -> FloatArray:
    return times[slice(*np.searchsorted(times, (after_s, until_s)))]


@pytest.mark.slow
@pytest.mark.parametrize("prefix", ["scoop", "opam"])
def test_a_borrowed_rate_foretells_as_well_as_the_groups_and_as_ones_own_or_better(traces: Path, prefix: str) -> None:
    """Releases of packages in the next 90 days, by the deviance of a Poisson forecast, half of the packages judged.

    However long the history: a day or a year. (Own: at least half an update is counted, lest the forecast be 0.)
    """
    now_s, horizon_s, year_s = 1_650_000_000.0, 90 * DAY_S, 365 * DAY_S
    packages = [times for times in postings(traces, "postings_releases.csv.gz", prefix) if times[0] < now_s - year_s]
    known, new = packages[:400:4], packages[2:400:4]
    counts = [between(times, now_s - year_s, now_s).size for times in known]
    group = MemberRates(len(known), sum(log_interval_micronats(count, year_s) for count in counts)).per_s()
    for days in (1, 7, 28, 90, 365):
        observed_s = days * DAY_S
        deviance = {"own": 0.0, "group": 0.0, "borrowed": 0.0}
        for times in new:
            counted = between(times, now_s - observed_s, now_s).size
            borrowed = lasting_rate_per_s(counted, observed_s, group)
            rates = {"own": max(counted, 0.5) / observed_s, "group": group, "borrowed": borrowed}
            came = between(times, now_s, now_s + horizon_s).size
            for name, rate in rates.items():
                expected = rate * horizon_s
                deviance[name] += expected - came + (came * math.log(came / expected) if came else 0.0)
        assert deviance["borrowed"] <= 1.01 * deviance["group"], days
        assert deviance["borrowed"] <= (0.8 if days <= 28 else 1.1) * deviance["own"], days
    assert deviance["group"] > 1.2 * deviance["borrowed"], "after a year, its own history has taken over"


def test_borrowed_hours_serve_a_new_feed_better_than_its_own_few_or_none(traces: Path) -> None:
    """The delay of a week's postings at one retrieval a day, whose hour was learnt in a feed's first hours."""
    feeds = postings(traces, "postings_feeds.csv.gz", "chp")
    now_s = min(float(times[0]) for times in feeds) + 15 * DAY_S
    known = np.stack([hourly_counts(between(times, now_s - 14 * DAY_S, now_s)) for times in feeds])
    for hours in (1.0, 6.0, 24.0):
        delays: dict[str, list[FloatArray]] = {"borrowed": [], "own": [], "uniform": []}
        for i, times in enumerate(feeds):
            own = hourly_counts(between(times, now_s - hours * HOUR_S, now_s))
            of_group = profiles((own + known.sum(axis=0) - known[i])[None, :], strength=STRENGTH)
            borrowed = profiles(own[None, :], of_group, STRENGTH)[0]
            shapes = np.stack([borrowed, profiles(own[None, :])[0], np.full(24, 1 / 24)])
            to_come = between(times, now_s, now_s + 7 * DAY_S)
            for name, points in zip(delays, retrieval_points_of_all(shapes, np.ones(3, dtype=np.intp)), strict=True):
                delays[name].append(delays_at_points_s(to_come, points))
        mean_h = {name: _mean(parts) / HOUR_S for name, parts in delays.items()}
        assert mean_h["borrowed"] < mean_h["own"], hours
        assert mean_h["borrowed"] < 0.92 * mean_h["uniform"], hours


def _mean(parts: Sequence[FloatArray]) -> float:
    return float(np.concatenate(parts).mean())
