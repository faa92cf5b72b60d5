"""The figures of a proxy since its start, from its metrics."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from prometheus_client.core import Metric

from bestbefore.addon.engine.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums of all processes since they have started; of gauges the present values."""

    requests: int
    hits: int
    contacts: int
    background: int
    """Contacts for which no client waited."""
    stale: int
    """Requests that got a stale copy, since the origin failed."""
    unnecessary: int
    """Validations that found the object unchanged."""
    sent_bytes: float
    received_bytes: float
    by_reason: tuple[tuple[str, str, int], ...]
    """How requests were answered and why, and how many, in descending order."""
    latencies: tuple[tuple[str, int, float | None, float | None], ...]
    """What kind of request, how many, and the median and the 99th percentile of their durations, s."""
    values: dict[str, float] = field(default_factory=dict)
    """All other sums by the names of their metrics, without `bestbefore_`."""
    conditions: tuple[str, ...] = ()
    """The present conditions of the store."""


def figures(families: Iterable[Metric]) -> Figures:
    """Return the figures that metrics show."""
    values: dict[str, float] = {}
    by_reason: dict[tuple[str, str], int] = {}
    buckets: dict[str, dict[float, float]] = {}
    conditions: list[str] = []
    for family in families:
        name = family.name.removeprefix("bestbefore_")
        for sample in family.samples:
            if sample.name.endswith("_created"):
                continue
            if name == "requests":
                by_reason[sample.labels["outcome"], sample.labels["reason"]] = round(sample.value)
            elif name == "request_duration_seconds" and "le" in sample.labels:
                of_kind = buckets.setdefault(sample.labels["contact"], {})
                of_kind[float(sample.labels["le"])] = sample.value
            elif name == "store_condition" and sample.value:
                conditions.append(sample.labels["condition"])
            if not math.isnan(sample.value) and "le" not in sample.labels:
                values[name] = values.get(name, 0.0) + sample.value
    requests = sum(by_reason.values())
    hits = sum(count for (outcome, _), count in by_reason.items() if outcome == Outcome.HIT)
    contacts = round(values.get("contacts", 0.0))
    waited = round(buckets.get("yes", {math.inf: 0.0})[math.inf])
    return Figures(
        requests=requests,
        hits=hits,
        contacts=contacts,
        # The counts of processes that are not read at one moment may differ a little.
        background=max(contacts - waited, 0),
        stale=sum(count for (outcome, _), count in by_reason.items() if outcome == Outcome.STALE),
        unnecessary=round(values.get("unnecessary_validations", 0.0)),
        sent_bytes=values.get("sent_bytes", 0.0),
        received_bytes=values.get("received_bytes", 0.0),
        by_reason=tuple(
            (outcome, reason, count)
            for (outcome, reason), count in sorted(by_reason.items(), key=lambda item: (-item[1], item[0]))
        ),
        latencies=tuple(
            (kind, round(max(of_kind.values())), quantile(of_kind, 0.5), quantile(of_kind, 0.99))
            for contact, kind in (("no", "without contact"), ("yes", "with contact"))
            for of_kind in [buckets.get(contact, {math.inf: 0.0})]
            if of_kind[math.inf]
        ),
        values=values,
        conditions=tuple(sorted(conditions)),
    )


def quantile(buckets: dict[float, float], share: float) -> float | None:
    """Return a quantile from cumulative counts by upper bound, linear within a bucket; None of nothing.

    In the last bucket, which has no bound, it is the bound before it.

    >>> quantile({0.1: 5, 1.0: 10, math.inf: 10}, 0.75), quantile({math.inf: 0}, 0.5)
    (0.55, None)
    """
    bounds = sorted(buckets)
    wanted = share * buckets[bounds[-1]]
    if not wanted:
        return None
    low_s, below = 0.0, 0.0
    for bound_s in bounds:
        if buckets[bound_s] >= wanted:
            if math.isinf(bound_s):
                return low_s
            return low_s + (bound_s - low_s) * (wanted - below) / (buckets[bound_s] - below)
        low_s, below = bound_s, buckets[bound_s]
    return None
