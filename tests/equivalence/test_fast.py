"""The fast engine decides what the plain engine decides: each expiry is the same number, and so are the counts."""

import importlib.util
import math
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import FloatArray, History
from bestbefore.policies.validation.policy import Outcome, Policy
from bestbefore.policies.validation.spec import parse_spec
from bestbefore.policies.validation.verdict import Verdict
from bestbefore.replay import plain
from bestbefore.replay.complete import Grouping
from bestbefore.replay.counts import Counts
from bestbefore.replay.kernels import vectorised, walk
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.packed import SPARSE_STRIDE, Packed
from bestbefore.replay.kernels.rule import rule_of
from bestbefore.replay.kernels.streams import Streams
from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.traces import files
from bestbefore.replay.traces.columns import Requests, Updates

HOUR = 3600.0
DAY = 86400.0
EXCERPT_ORIGIN_S = 1706227200.0
EXCERPT_TEST_START_S = 1706918400.0

SPECS = [
    "ttl:alpha=0.2",
    "indhist:theta=0.2",
    "agghist:theta=0.2",
    "indagg:theta=0.2,threshold=0.5",
    "indttl:theta=0.2,alpha=0.2,window=1d,threshold=2",
    "indttl:theta=0.1,max_ttl=1d,min_ttl=10m,fallback=ttl+group,history_window=5d",
    "indagg:theta=0.1,max_ttl=1d,fallback=group+ttl,history_window=2d,bootstrap=7m",
    "agghist:theta=0.1,max_ttl=1d,fallback=none,history_window=5d",
    "oracle",
    "squid",
    "miniflux",
    "agghist:theta=0.2,segment_penalty=1",
    "nutch:initial=1d,max=3d",
    "stormcrawler:initial=1d,max=3d",
    "aimd",
]
MORE_SPECS = [
    "ttl:alpha=0",
    "ttl:alpha=3,max_ttl=2h",
    "ttl:alpha=0.1,min_ttl=1d,fallback=group",
    "indhist:theta=0",
    "indhist:theta=5",
    "indhist:theta=0.3,history_window=3h",
    "indhist:theta=0.3,fallback=group",
    "indhist:theta=1,fallback=ttl,bootstrap=0",
    "agghist:theta=0",
    "agghist:theta=2.5,history_window=6h",
    "indagg:threshold=0",
    "indagg:threshold=1",
    "indttl:threshold=0",
    "indttl:threshold=inf",
    "indttl:window=1,threshold=0.5",
    "indttl:window=9d,threshold=1,history_window=1d,fallback=none",
    "always",
    "never",
    "never:max_ttl=1h",
    "fixed:interval=90",
    "squid:min=60,percent=120,max=5h",
    "miniflux:factor=0",
    "miniflux:factor=2,min=1m,max=3h",
    "agghist:theta=0.5,segment_penalty=0.3,history_window=1d,fallback=ttl",
    "nutch:initial=2h,increase=3,decrease=0.9,sync=1,min=1m,max=1d",
    "nutch:initial=2h,sync=0,max_ttl=5h,min_ttl=1h",
    "stormcrawler:initial=2h,increase=2,decrease=0.9,min=1m,max=1d,max_ttl=12h",
    "aimd:step=2h,factor=0.2,min=1m,max=9h,history_window=1d",
]


def interpreted(*arguments: Any) -> int:
    """What `compiled` compiles, as it stands."""
    return walk.replay(*arguments, walk.ByBin.empty())


KERNELS: dict[str, Callable[..., int]] = {"walk": interpreted, "vectorised": vectorised.replay}
if importlib.util.find_spec("numba"):
    from bestbefore.replay.kernels import compiled

    KERNELS["compiled"] = compiled.replay


class Recorded:
    """A policy that keeps what it answers, by the request that is at hand."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name, self.wants_fallback, self.needs = policy.name, policy.wants_fallback, policy.needs
        self.rows: list[plain.Row] = []
        self.decisions: list[tuple[plain.Row, float]] = []

    def watch(self, rows: Iterator[plain.Row]) -> Iterator[plain.Row]:
        for row in rows:
            self.rows.append(row)
            yield row

    def verdict(self, history: History, group: Group | None, t: float, outcome: Outcome | None = None) -> Verdict:
        verdict = self.policy.verdict(history, group, t, outcome)
        self.decisions.append((self.rows[-1], verdict.expiry_s))
        return verdict


def by_plain(scenario: Scenario, policy: Policy) -> tuple[dict[str, Counts], list[tuple[float, float]]]:
    """The counts of each object, and the moment and expiry of each contact that a request of its stream follows.

    They are in the order of streams: by object, then by client, by the numbers that these have.
    """
    recorded = Recorded(policy)
    counts = plain.replay_objects(scenario, recorded, recorded.watch)
    objects = {name: number for number, name in enumerate(scenario.requests.objects)}
    clients = {name: number for number, name in enumerate(scenario.requests.clients)}

    def stream(row: plain.Row) -> tuple[int, int]:
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


def by_kernel(
    kernel: Callable[..., int], scenario: Scenario, policy: Policy, stride: int | None = None
) -> tuple[dict[str, Counts], list[tuple[float, float]]]:
    """The same by a kernel."""
    requests = scenario.requests
    streams = Streams.of(requests, scenario.cache)
    known = Histories.of(scenario.updates, requests, scenario.origin_s)
    known = known.grouped(scenario.updates, requests, scenario.grouping)
    if stride is not None:
        updates = scenario.updates
        objects = Packed.of(updates.times_s, updates.object_ids, len(updates.objects) + 1, stride)
        known = known._replace(objects=objects)
    rule = rule_of(policy)
    assert rule is not None
    counts = np.zeros((len(requests.objects), 5), dtype=np.int64)
    decisions: FloatArray = np.full((len(requests) + 1, 2), math.nan)
    first = int(streams.object_ids[0]) if len(streams) else 0
    n = kernel(
        streams.times_s, streams.firsts, streams.object_ids, 0, len(streams), known, rule, counts[first:], decisions
    )
    named = {name: Counts(*row) for name, row in zip(requests.objects, counts.tolist(), strict=True) if any(row)}
    return named, [(t, expiry_s) for t, expiry_s in decisions[:n].tolist()]


times = st.one_of(
    st.integers(0, 15).map(lambda n: n * 2 * HOUR),  # so that much happens at one instant, and at the edge of a bin
    st.integers(0, 3 * 24 * 60).map(lambda minutes: minutes * 60.0),
    st.floats(0.0, 9 * DAY),
)
traces = st.tuples(
    st.lists(st.tuples(times, st.sampled_from(["p/a", "p/b", "q/c", "q/e"])), max_size=80),
    st.lists(st.tuples(times, st.sampled_from("xy"), st.sampled_from(["q/c", "p/a", "p/b", "r/d"])), max_size=80),
)


def scenario_of(
    trace: tuple[list[tuple[float, str]], list[tuple[float, str, str]]],
    cache: Cache,
    grouping: Grouping,
    origin_s: float | None,
) -> Scenario:
    changed = sorted({name for _, name in trace[0]})
    clients, asked = sorted({c for _, c, _ in trace[1]}), list(dict.fromkeys(name for *_, name in trace[1]))
    return Scenario.of(
        Updates.of(
            np.array([t for t, _ in trace[0]]),
            np.array([changed.index(name) for _, name in trace[0]], dtype=np.int32),
            tuple(changed),
        ),
        Requests.of(
            np.array([t for t, *_ in trace[1]]),
            np.array([clients.index(client) for _, client, _ in trace[1]], dtype=np.int32),
            np.array([asked.index(name) for *_, name in trace[1]], dtype=np.int32),
            tuple(clients),
            tuple(asked),
        ),
        origin_s=origin_s,
        test_start_s=None if origin_s is None else origin_s + HOUR,
        cache=cache,
        grouping=grouping,
        warn=lambda _: None,
    )


@pytest.mark.parametrize("spec", SPECS + MORE_SPECS)
@given(
    traces,
    st.sampled_from(Cache),
    st.sampled_from([Grouping.ALL, Grouping.PREFIX]),
    st.sampled_from([None, 0.0, 5 * HOUR, 2 * DAY]),
    st.sampled_from([0, 1, 2, 16]),
    st.integers(1, 4),
)
@settings(max_examples=25, derandomize=True, deadline=None)
def test_on_random_traces(
    spec: str,
    trace: tuple[list[tuple[float, str]], list[tuple[float, str, str]]],
    cache: Cache,
    grouping: Grouping,
    origin_s: float | None,
    stride: int,
    fewest_at_once: int,
) -> None:
    scenario = scenario_of(trace, cache, grouping, origin_s)
    policy = parse_spec(spec)
    expected = by_plain(scenario, policy)
    with pytest.MonkeyPatch.context() as patch:
        # So that few requests are many windows and cuts, and contacts are followed both together and one at a time.
        patch.setattr(vectorised, "REQUESTS_AT_ONCE", 16)
        patch.setattr(vectorised, "REQUESTS_PER_CUT", 3)
        patch.setattr(vectorised, "FEWEST_AT_ONCE", fewest_at_once)
        patch.setattr(vectorised, "FEWEST_STREAMS", fewest_at_once)
        for name, kernel in KERNELS.items():
            assert (name, by_kernel(kernel, scenario, policy, stride)) == (name, expected)


@cache
def recorded_trace(updates: Path, requests: Path) -> tuple[Updates, Requests]:
    return files.read_updates(updates, pytest.fail), files.read_requests(requests, pytest.fail)


def check(updates: Path, requests: Path, spec: str, cache: Cache, grouping: Grouping) -> None:
    scenario = Scenario.of(
        *recorded_trace(updates, requests), origin_s=EXCERPT_ORIGIN_S, test_start_s=EXCERPT_TEST_START_S, cache=cache,
        grouping=grouping, warn=pytest.fail,
    )
    policy = parse_spec(spec)
    expected = by_plain(scenario, policy)
    for name, kernel in KERNELS.items():
        if name == "walk" and "compiled" in KERNELS:  # which is the same, and faster
            continue
        counts, decisions = by_kernel(kernel, scenario, policy, stride=1 if cache is Cache.CLIENT else SPARSE_STRIDE)
        assert decisions == expected[1], name
        assert counts == expected[0], name


@pytest.mark.parametrize("grouping", [Grouping.ALL, Grouping.PREFIX])
@pytest.mark.parametrize("cache", Cache)
@pytest.mark.parametrize("spec", SPECS)
def test_on_the_excerpt(spec: str, cache: Cache, grouping: Grouping, data: Path) -> None:
    check(data / "excerpt.updates.csv", data / "excerpt.requests.csv.gz", spec, cache, grouping)


@pytest.mark.parametrize("cache", Cache)
@pytest.mark.parametrize("spec", [spec for spec in SPECS if "penalty" not in spec])  # plain takes minutes for that one
def test_on_the_paired_trace(spec: str, cache: Cache, traces: Path) -> None:
    paired = traces / "paired"
    check(paired / "dev.updates.csv.gz", paired / "dev.requests.csv.gz", spec, cache, Grouping.ALL)
