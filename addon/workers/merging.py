"""Sums the metrics and the health of several workers. Pure."""

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from prometheus_client.core import Metric

LARGEST = frozenset((
    "bestbefore_store_down",
    "bestbefore_store_bytes",
    "bestbefore_store_condition",
    "bestbefore_store_write_lag_seconds",
    "bestbefore_prefetch_budget_per_day",
    "bestbefore_edge_behind_seconds",
    "bestbefore_tunnelled_pairs",
    "bestbefore_build_info",
    "process_start_time_seconds",
    "process_max_fds",
))  # fmt: skip
"""Gauges of something that all workers share: the largest value counts."""
AVERAGED = frozenset((
    "bestbefore_prefetch_price",
    "bestbefore_prefetch_expected_freshness",
    "bestbefore_prefetch_expected_age_seconds",
    "bestbefore_prefetch_expected_delay_seconds",
    "bestbefore_prefetch_measured_freshness",
    "bestbefore_prefetch_measured_age_seconds",
    "bestbefore_prefetch_measured_delay_seconds",
    "bestbefore_hub_client_freshness",
    "bestbefore_hub_data_freshness",
))  # fmt: skip
"""Gauges that are means: averaged, by the number of objects in the schedule of each worker."""
WEIGHT = "bestbefore_prefetch_objects"
"""The gauge of that number. All other gauges are added, as counters and histograms are."""

type _Key = tuple[str, tuple[tuple[str, str], ...]]


def merged(reports: Sequence[Iterable[Metric]]) -> list[Metric]:
    """Return the metrics of all workers as those of one process."""
    families: dict[str, Metric] = {}
    values: dict[str, dict[_Key, list[tuple[float, float]]]] = {}
    for report in map(list, reports):
        weight = _weight(report)
        for family in report:
            if family.name not in families:
                families[family.name] = Metric(family.name, family.documentation, family.type, family.unit)
            found = values.setdefault(family.name, {})
            for sample in family.samples:
                key = sample.name, tuple(sorted(sample.labels.items()))
                found.setdefault(key, []).append((sample.value, weight))
    for name, metric in families.items():
        for (sample_name, labels), weighted in values[name].items():
            metric.add_sample(sample_name, dict(labels), _value(name, sample_name, weighted))
    return list(families.values())


def _weight(report: Iterable[Metric]) -> float:
    return next((sample.value for one in report if one.name == WEIGHT for sample in one.samples), 0.0)


def _value(name: str, sample: str, weighted: Sequence[tuple[float, float]]) -> float:
    known = [(value, weight) for value, weight in weighted if not math.isnan(value)]
    if not known:
        return math.nan
    if sample.endswith("_created"):
        return min(value for value, _ in known)
    if name in LARGEST:
        return max(value for value, _ in known)
    if name in AVERAGED:
        total = sum(weight for _, weight in known)
        if not total:
            return sum(value for value, _ in known) / len(known)
        return sum(value * weight for value, weight in known) / total
    return sum(value for value, _ in known)


def lasting(report: Iterable[Metric]) -> list[Metric]:
    """Return what a worker that has ended leaves behind: its counters and histograms, which must not fall."""
    return [family for family in report if family.type in ("counter", "histogram")]


def merged_health(reports: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the health of all workers together.

    Of words it has the first that is not `ok`, of numbers the sum, of times the longest.
    """
    found: dict[str, Any] = {}
    for report in reports:
        for name, value in report.items():
            before = found.get(name)
            if before is None or (isinstance(value, str) and before == "ok"):
                found[name] = value
            elif not isinstance(value, str):
                found[name] = max(before, value) if name.endswith("_s") else before + value
    return found
