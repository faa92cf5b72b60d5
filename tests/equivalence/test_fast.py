"""The fast engine decides what the plain engine decides: each expiry is the same number, and so are the counts."""

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from drawn import (
    COMPILED_SPECS,
    DAY,
    EXCERPT_ORIGIN_S,
    EXCERPT_TEST_START_S,
    HOUR,
    MORE_SPECS,
    PAIRED_EVERY,
    SPECS,
    Trace,
    columns,
    compiled,
    fast_or_slow,
    recorded_trace,
    traces,
)
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.replay.kernels.arrays.earlier_demand import earlier_demand
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.packed import SPARSE_STRIDE, Packed
from bestbefore.replay.kernels.arrays.stream_codes import codes_of
from bestbefore.replay.kernels.arrays.streams import Streams
from bestbefore.replay.kernels.rule import remembers, rule_of
from bestbefore.replay.simulate import plain_engine
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.fast_engine import loop
from bestbefore.replay.simulate.scenario import Cache, Scenario


class Recorded:
    """A policy that keeps what it answers, by the request that is at hand."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name, self.needs = policy.name, policy.needs
        self.siblings, self.stale_rate = policy.siblings, policy.stale_rate
        self.rows: list[plain_engine.Row] = []
        self.decisions: list[tuple[plain_engine.Row, float]] = []

    def watch(self, rows: Iterator[plain_engine.Row]) -> Iterator[plain_engine.Row]:
        for row in rows:
            self.rows.append(row)
            yield row

    def verdict(
        self,
        history: History,
        group: Group | None,
        t: float,
        outcome: ContactOutcome | None = None,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> Verdict:
        verdict = self.policy.verdict(history, group, t, outcome, demand, price)
        self.decisions.append((self.rows[-1], verdict.expiry_s))
        return verdict


def by_plain(scenario: Scenario, policy: Policy) -> tuple[dict[str, Counts], list[tuple[float, float]]]:
    """The counts of each object, and the moment and expiry of each contact that a request of its stream follows.

    They are in the order of streams: by object, then by client, by the numbers that these have.
    """
    recorded = Recorded(policy)
    counts = plain_engine.replay_objects(scenario, recorded, recorded.watch)
    objects = {name: number for number, name in enumerate(scenario.requests.objects)}
    clients = {name: number for number, name in enumerate(scenario.requests.clients)}

    def stream(row: plain_engine.Row) -> tuple[int, int]:
        return objects[row[2]], clients[row[1]] if scenario.cache is Cache.CLIENT else 0

    left = Counter(map(stream, recorded.rows))
    decisions: dict[tuple[int, int], list[tuple[float, float]]] = {key: [] for key in sorted(left)}
    decided = iter(recorded.decisions)
    at, expiry_s = next(decided, (None, math.nan))
    for row in recorded.rows:
        left[stream(row)] -= 1
        if row is at:
            if left[stream(row)]:
                decisions[stream(row)].append((row[0], expiry_s))
            at, expiry_s = next(decided, (None, math.nan))
    return (
        {name: own for name, own in counts.items() if own.requests},
        [decision for own in decisions.values() for decision in own],
    )


def by_loop(
    which: str, scenario: Scenario, policy: Policy, stride: int | None = None
) -> tuple[dict[str, Counts], list[tuple[float, float]]]:
    """The same by the loop of the fast engine."""
    requests = scenario.requests
    streams = Streams.of(requests, scenario.cache)
    known = PackedHistories.of(scenario.updates, requests, scenario.origin_s)
    known = known.grouped(scenario.updates, requests, scenario.grouping)
    if stride is not None:
        updates = scenario.updates
        objects = Packed.of(updates.times_s, updates.object_ids, len(updates.objects) + 1, stride)
        known = known._replace(objects=objects)
    rule = rule_of(policy)
    assert rule is not None
    codes = np.unique(codes_of(requests, scenario.cache, slice(None)))
    known = known._replace(asked=earlier_demand(scenario.earlier, scenario.cache, codes))
    if remembers(rule):
        known = known.remembering(scenario.updates, scenario.grouping)
    counts = np.zeros((len(requests.objects), 5), dtype=np.int64)
    decisions = np.full((len(requests) + 1, 2), math.nan)
    first = int(streams.object_ids[0]) if len(streams) else 0
    replay, prepared = loop(rule, compiles=which == "compiled")
    n = replay(
        streams.times_s, streams.firsts, streams.object_ids, 0, len(streams), known, prepared, counts[first:], decisions
    )
    named = {name: Counts(*row) for name, row in zip(requests.objects, counts.tolist(), strict=True) if any(row)}
    return named, [(t, expiry_s) for t, expiry_s in decisions[:n].tolist()]


def scenario_of(
    trace: Trace,
    cache: Cache,
    grouping: Grouping,
    origin_s: float | None,
) -> Scenario:
    return Scenario.of(
        *columns(trace),
        origin_s=origin_s,
        test_start_s=None if origin_s is None else origin_s + HOUR,
        cache=cache,
        grouping=grouping,
        warn=lambda _: None,
    )


@pytest.mark.parametrize(("spec", "names"), fast_or_slow(SPECS + MORE_SPECS, 0))
@given(
    traces,
    st.sampled_from(Cache),
    st.sampled_from([Grouping.ALL, Grouping.PREFIX]),
    st.sampled_from([None, 0.0, 5 * HOUR, 2 * DAY]),
    st.sampled_from([0, 1, 2, 16]),
)
@settings(max_examples=16, derandomize=True, deadline=None)
def test_on_random_traces(
    spec: str,
    names: Sequence[str],
    trace: Trace,
    cache: Cache,
    grouping: Grouping,
    origin_s: float | None,
    stride: int,
) -> None:
    scenario = scenario_of(trace, cache, grouping, origin_s)
    policy = parse_spec(spec)
    expected = by_plain(scenario, policy)
    for which in names:
        assert (which, by_loop(which, scenario, policy, stride)) == (which, expected)


def check(updates: Path, requests: Path, spec: str, cache: Cache, grouping: Grouping, every: int = 1) -> None:
    scenario = Scenario.of(
        *recorded_trace(updates, requests, every), origin_s=EXCERPT_ORIGIN_S, test_start_s=EXCERPT_TEST_START_S,
        cache=cache, grouping=grouping, warn=pytest.fail,
    )
    policy = parse_spec(spec)
    expected = by_plain(scenario, policy)
    stride = 1 if cache is Cache.CLIENT else SPARSE_STRIDE
    counts, decisions = by_loop("compiled", scenario, policy, stride)  # as it stands it is the same, and slower
    assert decisions == expected[1]
    assert counts == expected[0]


@pytest.mark.parametrize(
    ("spec", "cache", "grouping"),
    compiled(SPECS, itertools.product(Cache, [Grouping.ALL, Grouping.PREFIX]), 0),
)
def test_on_the_excerpt(spec: str, cache: Cache, grouping: Grouping, data: Path) -> None:
    check(data / "excerpt.updates.csv", data / "excerpt.requests.csv.gz", spec, cache, grouping)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "cache"),
    [
        *((spec, Cache.SHARED) for spec in SPECS if "penalty" not in spec),  # plain takes minutes for that one
        *((spec, Cache.CLIENT) for spec in COMPILED_SPECS),  # of the others random traces and the excerpt have these
    ],
)
def test_on_the_paired_trace(spec: str, cache: Cache, traces: Path) -> None:
    paired = traces / "paired"
    check(paired / "dev.updates.csv.gz", paired / "dev.requests.csv.gz", spec, cache, Grouping.ALL, PAIRED_EVERY)
