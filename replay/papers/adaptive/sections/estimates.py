"""Figure 5: the errors of three policies in estimating the number of updates of a cached object."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

import numpy as np

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.models.intensity import HOURLY_S, exposure_h, mass, observed_rates_per_hour
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.estimates import set_group_pattern
from bestbefore.policies.validation.machinery.history_features import HistoryFeatures
from bestbefore.replay.papers.adaptive.formatting import NOT_REACHED, share
from bestbefore.replay.papers.adaptive.paired import Paired
from bestbefore.replay.papers.claims import Claim, verdict
from bestbefore.replay.papers.work import Work
from bestbefore.replay.report.page import Page
from bestbefore.replay.simulate.scenario import Cache, Scenario

ALPHA = 0.05
"""The paper's, for this figure."""
POLICIES = ("TTL", "AggHist", "IndHist")
NEARLY_TWICE = 1.75
FARTHEST = 3
"""Errors from this one on are counted together."""


def ttl_estimate(last_update_s: float, cached_s: float, asked_s: float) -> float:
    """(t - t_lastmod) / (TTL - t_lastmod), section 5.3.1.1; 0 for a copy made at the time of its update."""
    lifetime_s = cached_s + ALPHA * (cached_s - last_update_s) - last_update_s
    return (asked_s - last_update_s) / lifetime_s if lifetime_s > 0.0 else 0.0


def individual_rates_per_hour(history: History, t: float) -> list[float]:
    """lambda_k of IndHist at t."""
    return observed_rates_per_hour(history.counts(-math.inf, t), exposure_h(HOURLY_S, history.since_s, t), 0.0)


def aggregate_rates_per_hour(history: History, group: Group, t: float) -> list[float]:
    """lambda_k of AggHist at t; all 0 without an update."""
    known = HistoryFeatures(history, group, t)
    updates, hours = known.set_group_counts(), (t - history.since_s) / HOUR_S
    if not updates or hours <= 0.0 or known.group_since_s() >= t:
        return [0.0] * (len(group.edges_s) - 1)
    set_group_pattern(known, updates)
    own_per_hour = history.count(-math.inf, t) / hours
    return [own_per_hour * relative for relative in known.by_bin.rates]


def intervals(scenario: Scenario) -> dict[str, list[tuple[float, float]]]:
    """Return for each object the times of each two successive requests of one client."""
    requests = scenario.requests
    order = np.lexsort((requests.times_s, requests.client_ids, requests.object_ids))
    objects, clients, times = (column[order] for column in (requests.object_ids, requests.client_ids, requests.times_s))
    same = np.flatnonzero((objects[1:] == objects[:-1]) & (clients[1:] == clients[:-1]))
    found: dict[str, list[tuple[float, float]]] = {}
    for i, begin, end in zip(objects[same].tolist(), times[same].tolist(), times[same + 1].tolist(), strict=True):
        found.setdefault(requests.objects[i], []).append((begin, end))
    return found


def errors(
    scenario: Scenario, spans: Mapping[str, Sequence[tuple[float, float]]], name: str
) -> dict[str, Counter[int]]:
    """Return for one object the distribution of each policy's errors, actual updates less estimated whole ones."""
    history, group = scenario.known.history(name), scenario.known.group(name)
    found: dict[str, Counter[int]] = {policy: Counter() for policy in POLICIES}
    for cached_s, asked_s in spans[name]:
        actual = history.count(cached_s, asked_s)
        for policy, estimate in zip(POLICIES, _estimates(history, group, cached_s, asked_s), strict=True):
            found[policy][max(-FARTHEST, min(FARTHEST, actual - math.floor(estimate)))] += 1
    return found


def _estimates(history: History, group: Group, cached_s: float, asked_s: float) -> Iterator[float]:
    last_update_s = history.last_update_s(cached_s)
    yield ttl_estimate(history.since_s if last_update_s is None else last_update_s, cached_s, asked_s)
    yield mass(group.edges_s, aggregate_rates_per_hour(history, group, cached_s), cached_s, asked_s)
    yield mass(HOURLY_S, individual_rates_per_hour(history, cached_s), cached_s, asked_s)


def write(work: Work, page: Page, cyclic: Paired) -> list[Claim]:
    """Write the section of the figure, and return the paper's finding with our result."""
    scenario = cyclic.scenario(Cache.CLIENT, 8)
    spans = intervals(scenario)
    names = list(spans)
    counted = dict(zip(names, work.each(partial(errors, scenario, spans), names, "Figure 5"), strict=True))
    busiest = max(spans, key=lambda name: len(spans[name]), default=NOT_REACHED)
    page.section("Figure 5: errors of the estimated number of updates")
    page.text(
        f"""At each request for a cached cyclic object, without `{busiest}`, in the days of the test: the updates since
        the same client asked before, less those that a policy estimates for that time; 0 is accurate. TTL estimates as
        the paper says, (t - t_lastmod) / (TTL - t_lastmod) with alpha = {ALPHA:g}; AggHist and IndHist estimate the
        expected number of updates. Assumed: the copy was current at the client's previous request, and estimates are
        rounded down to whole updates. (If they were rounded to the nearest number, TTL, whose estimate begins at 1 / (1
        + alpha), would be accurate only where an update came, which is rare.)"""
    )
    without = _write_table(page, [own for name, own in counted.items() if name != busiest])
    page.text(f"With object `{busiest}`, which is asked for most:")
    whole = _write_table(page, [*counted.values()])
    return [
        Claim(
            "Figure 5",
            "AggHist and IndHist have nearly twice as many accurate estimates as TTL",
            f"{_ratios(without)} times as many ({_ratios(whole)} with the most requested object)",
            f"{NEARLY_TWICE:g} times as many or more; partly, if more than once as many",
            verdict(*(without[name] > n * without["TTL"] for n in (1.0, NEARLY_TWICE) for name in POLICIES[1:])),
        )
    ]


def _ratios(accurate: Mapping[str, float]) -> str:
    if not accurate["TTL"]:
        return NOT_REACHED
    return " and ".join(f"{accurate[name] / accurate['TTL']:.2f}" for name in POLICIES[1:])


def _write_table(page: Page, counted: Sequence[Mapping[str, Counter[int]]]) -> dict[str, float]:
    """Write the table, and return the share of accurate estimates of each policy."""
    heads = [f"{error:+d}" if error else "0: accurate" for error in range(-FARTHEST, FARTHEST + 1)]
    heads[0], heads[-1] = f"{heads[0]} and less", f"{heads[-1]} and more"
    totals = {policy: sum((errors_[policy] for errors_ in counted), Counter[int]()) for policy in POLICIES}
    n = totals[POLICIES[0]].total() or 1
    rows = [
        (policy, *(share(total[error] / n) for error in range(-FARTHEST, FARTHEST + 1)))
        for policy, total in totals.items()
    ]
    page.table(("actual less estimated", *heads), rows)
    return {policy: total[0] / n for policy, total in totals.items()}
