"""In order of time, too, the fast engine decides what the plain one decides: the same number at each contact."""

import itertools
import math
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

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

from bestbefore.addon.engine import learning as live
from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.replay.kernels import learning
from bestbefore.replay.kernels.arrays import stream_codes, stream_ids
from bestbefore.replay.simulate import fast_observed_engine, plain_engine
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.fast_observed_engine import FastObservedReplay, Loops, loops
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario


def is_told_the_past(spec: str) -> bool:
    """To the others it is the same what histories are observed."""
    return Needs.FUTURE not in parse_spec(spec).needs


PAST_SPECS = [spec for spec in SPECS if is_told_the_past(spec)]
SIBLINGS = f"{COMPILED_SPECS[0]},siblings=0.02"
"""The kernel is that of the policy without siblings."""
LOOPS = {
    "as it stands": loops(compiles=False),
    "compiled": loops(compiles=True)._replace(cores=1),  # which decides in order of time
}

Decisions = list[tuple[float, float]]
"""The moment and the expiry of each contact, in the order of the requests."""


class Recorded:
    """A policy that keeps what it answers."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.name, self.needs = policy.name, policy.needs
        self.siblings, self.stale_rate = policy.siblings, policy.stale_rate
        self.decisions: Decisions = []

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
        self.decisions.append((t, verdict.expiry_s))
        return verdict


def by_plain(scenario: Scenario, policy: Policy) -> tuple[dict[str, Counts], Decisions]:
    recorded = Recorded(policy)
    counts = plain_engine.replay_objects(scenario, recorded)
    return {name: own for name, own in counts.items() if own.requests}, recorded.decisions


def by_loops(which: Loops, scenario: Scenario, policy: Policy) -> tuple[dict[str, Counts], Decisions]:
    decisions: Decisions = []

    def replay(*arguments: Any) -> int:
        rows = np.empty((len(arguments[0]) + 1, 2))
        n = which.replay(*arguments[:-1], rows)
        decisions.extend((t, expiry_s) for t, expiry_s in rows[:n].tolist())
        return n

    engine = FastObservedReplay(scenario)
    engine._loops = lambda compiles: which._replace(replay=replay)
    return engine.replay_objects(policy), decisions


@pytest.mark.parametrize(
    ("spec", "names"),
    [
        *fast_or_slow(
            [spec for spec in [*SPECS, *MORE_SPECS, "ttl:stale_rate=0.1"] if is_told_the_past(spec)], 1
        ),
        pytest.param(SIBLINGS, ["as it stands"], id="siblings-as it stands"),
        pytest.param(SIBLINGS, ["compiled"], id="siblings-compiled", marks=pytest.mark.slow),
    ],
)
@given(
    traces,
    st.sampled_from(Warm),
    st.sampled_from(Cache),
    st.sampled_from(Grouping),
    st.sampled_from([0.0, 5 * HOUR, 2 * DAY]),
    st.sampled_from([0.0, HOUR, DAY]),
    st.booleans(),
    st.sampled_from([2, live.DETAILED_UPDATES]),
)
@settings(max_examples=16, derandomize=True, deadline=None)
def test_on_random_traces(
    spec: str,
    names: Sequence[str],
    trace: Trace,
    warm: Warm,
    cache: Cache,
    grouping: Grouping,
    origin_s: float,
    before_s: float,
    tells_times: bool,
    detailed: int,
) -> None:
    scenario = Scenario.of(
        *columns(trace), origin_s=origin_s, test_start_s=origin_s + before_s, cache=cache, grouping=grouping, warm=warm,
        tells_times=tells_times, warn=lambda _: None,
    )
    policy = parse_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(live, "DETAILED_UPDATES", detailed)
        patch.setattr(learning, "DETAILED_UPDATES", detailed)
        patch.setattr(fast_observed_engine, "ROWS_AT_ONCE", 7)
        patch.setattr(stream_ids, "ROWS_AT_ONCE", 7)
        patch.setattr(stream_codes, "ROWS_AT_ONCE", 7)
        expected = by_plain(scenario, policy)
        for name in names:
            assert (name, by_loops(LOOPS[name], scenario, policy)) == (name, expected)


@pytest.mark.parametrize(
    "spec", [SIBLINGS, "renewal:stale_rate=0.1,siblings=0.02", "oracle:siblings=0", "indttl", "nutch:siblings=0"]
)
@given(traces, st.sampled_from(Cache), st.sampled_from(Grouping), st.sampled_from([0.0, HOUR, DAY]))
@settings(max_examples=15, derandomize=True, deadline=None)
def test_complete_histories_in_order_of_time(
    spec: str, trace: Trace, cache: Cache, grouping: Grouping, before_s: float
) -> None:
    scenario = Scenario.of(
        *columns(trace), origin_s=0.0, test_start_s=before_s, cache=cache, grouping=grouping, warn=lambda _: None
    )
    policy = parse_spec(spec)
    assert by_loops(LOOPS["as it stands"], scenario, policy) == by_plain(scenario, policy)


@cache
def recorded_scenario(
    updates: Path, requests: Path, cache: Cache, grouping: Grouping, warm: Warm | None, every: int = 1
) -> Scenario:
    return Scenario.of(
        *recorded_trace(updates, requests, every), origin_s=EXCERPT_ORIGIN_S, test_start_s=EXCERPT_TEST_START_S,
        cache=cache, grouping=grouping, warm=warm, warn=pytest.fail,
    )


def check(scenario: Scenario, spec: str) -> None:
    policy = parse_spec(spec)
    expected = by_plain(scenario, policy)
    counts, decisions = by_loops(LOOPS["compiled"], scenario, policy)
    assert decisions == expected[1]
    assert counts == expected[0]


@pytest.mark.parametrize(("spec", "cache", "warm"), compiled(PAST_SPECS, itertools.product(Cache, Warm), 1))
def test_on_the_excerpt(spec: str, cache: Cache, warm: Warm, data: Path) -> None:
    grouping = Grouping.PREFIX if warm is Warm.COMPLETE else Grouping.ALL
    paths = data / "excerpt.updates.csv", data / "excerpt.requests.csv.gz"
    check(recorded_scenario(*paths, cache, grouping, warm), spec)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("where", "grouping", "warm"),
    [(Cache.CLIENT, Grouping.PREFIX, Warm.CONTACTS), (Cache.SHARED, Grouping.ALL, Warm.COMPLETE)],
)
def test_with_siblings_on_the_excerpt(where: Cache, grouping: Grouping, warm: Warm, data: Path) -> None:
    paths = data / "excerpt.updates.csv", data / "excerpt.requests.csv.gz"
    scenario = recorded_scenario(*paths, where, grouping, warm)
    check(scenario, SIBLINGS)
    specs = SIBLINGS, COMPILED_SPECS[0]
    decided, without = (by_loops(LOOPS["compiled"], scenario, parse_spec(spec))[1] for spec in specs)
    assert len(decided) > len(without)


def test_a_site_with_more_objects_than_are_kept_is_left_to_the_plain_engine(
    data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    paths = data / "excerpt.updates.csv", data / "excerpt.requests.csv.gz"
    scenario = recorded_scenario(*paths, Cache.SHARED, Grouping.ALL, Warm.CONTACTS)
    assert fast_observed_engine.obstacle(scenario, parse_spec(SIBLINGS)) is None
    monkeypatch.setattr(fast_observed_engine, "NAMES_KEPT", 3)
    assert "a group has more than 3 objects" in str(fast_observed_engine.obstacle(scenario, parse_spec(SIBLINGS)))
    assert fast_observed_engine.obstacle(scenario, parse_spec(COMPILED_SPECS[0])) is None


@pytest.mark.slow
@pytest.mark.parametrize(
    ("spec", "cache", "warm"),
    [
        (SIBLINGS, Cache.SHARED, Warm.CONTACTS),
        (SIBLINGS, Cache.CLIENT, None),
        ("indhist:theta=0.2", Cache.CLIENT, Warm.NONE),
        ("agghist:theta=0.2", Cache.SHARED, Warm.CONTACTS),
        (
            "indagg:theta=0.1,max_ttl=1d,fallback=group+ttl,history_window=2d,bootstrap=7m", Cache.SHARED,
            Warm.COMPLETE,
        ),
    ],
)
def test_on_the_paired_trace(spec: str, cache: Cache, warm: Warm | None, traces: Path) -> None:
    paths = traces / "paired" / "dev.updates.csv.gz", traces / "paired" / "dev.requests.csv.gz"
    check(recorded_scenario(*paths, cache, Grouping.ALL, warm, PAIRED_EVERY), spec)
