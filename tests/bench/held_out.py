"""Do plans keep what they promise? Learnt on the first days of recorded postings, tried on the days that follow.

    BESTBEFORE_TRACES=FOLDER python tests/bench/held_out.py

Prints mean delays of the later postings, in minutes: at contacts of a uniform plan and of the plan for delay, evenly
spaced, and of the latter at the hours learnt, with what it promises,
and at the hours learnt with the clusters of `plan --clusters` in place of the common pattern.
"""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from bestbefore.policies.models.patterns import CLUSTERS
from bestbefore.policies.units import DAY_S, FloatArray
from bestbefore.replay.papers.feeds.learning_windows import delays_at_points_s
from bestbefore.replay.planning.inputs.trace_objects import learnt
from bestbefore.replay.planning.moments import Crawls, crawls_of, evenly
from bestbefore.replay.planning.plan import Aim, ContactPlan, baseline_plan, best_plan
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import read_updates

CASES = (
    ("postings_feeds.csv.gz", "chp/", 1507593600.0, 26, 13),
    ("postings_feeds.csv.gz", "usgs-2020-02/", 1581033600.0, 20, 10),
    ("postings_commits.csv.gz", "author/", 1612224000.0, 70, 20),
)
"""File, beginning of the names, first day, days to learn from, days that follow."""
PER_FEED = (4, 24)


def main() -> None:
    folder = Path(os.environ["BESTBEFORE_TRACES"])
    print("feeds         per day  uniform  plan  at hours  promised  clusters")
    for file, prefix, start_s, learn, follow in CASES:
        middle_s = start_s + learn * DAY_S
        updates = read_updates(folder / file, print)
        objects = learnt(_part(updates, prefix, start_s, middle_s), DAY_S, with_laws=False)
        rows = {name: row for _, names in objects.ids.parts() for row, name in enumerate(names)}
        later = _part(updates, prefix, middle_s, middle_s + follow * DAY_S).times_by_object()
        postings = {rows[name]: times for name, times in later.items() if name in rows}
        for per_feed in PER_FEED:
            plan = best_plan(objects, Aim("delay", per_feed * len(objects), DAY_S, discrete=True))
            crawls, punctuality = crawls_of(plan)
            assert punctuality is not None
            by_clusters, _ = crawls_of(plan, clustered=CLUSTERS)
            tried = (_evenly(baseline_plan("uniform", plan)), _evenly(plan), crawls)
            shown = (_delay_min(postings, c) for c in tried)
            print(f"{prefix:<14}{per_feed:>7}" + "{:>9.1f}{:>6.1f}{:>10.1f}".format(*shown)
                  + f"{60.0 * punctuality.at_points_h:>10.1f}{_delay_min(postings, by_clusters):>10.1f}")


def _part(updates: Updates, prefix: str, from_s: float, until_s: float) -> Updates:
    wanted = np.array([name.startswith(prefix) for name in updates.objects])[updates.object_ids]
    wanted &= (updates.times_s >= from_s) & (updates.times_s < until_s)
    return Updates(updates.times_s[wanted], updates.object_ids[wanted], updates.objects)


def _evenly(plan: ContactPlan) -> Crawls:
    return evenly(plan.contacts.astype(np.int64), DAY_S, "periodic")


def _delay_min(postings: Mapping[int, FloatArray], crawls: Crawls) -> float:
    delays_s = [delays_at_points_s(t, crawls.at_s[crawls.rows == row] / 3600.0) for row, t in postings.items()]
    return float(np.concatenate(delays_s).mean()) / 60.0


if __name__ == "__main__":
    main()
