"""The fast engine around its kernels; what these decide is held to the plain engine in tests/equivalence."""

import json
import re
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

from bestbefore.policies.validation.machinery.features import Features, Needs
from bestbefore.policies.validation.machinery.policy import Formula
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.verdict import Decision, expires
from bestbefore.replay.kernels.rule import rule_of
from bestbefore.replay.simulate import fast_engine, plain_engine
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.fast_engine import Compiling, FastReplay
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.progress import Watch, no_bar
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0
COMPILED = [parse_spec(spec) for spec in ("agghist:theta=0.3,max_ttl=1d,fallback=group+ttl", "nutch:initial=1d")]
POLICIES = [parse_spec("ttl:alpha=0.2"), parse_spec("oracle"), *COMPILED]
NOTHING = Counts(0, 0, 0, 0, 0)


def scenario_of(updates: int, requests: int, objects: int = 7, **given: object) -> Scenario:
    rng = np.random.default_rng(5)
    names = tuple(f"o{i}" for i in range(objects))
    return Scenario.of(
        Updates.of(rng.random(updates) * 9 * DAY, rng.integers(0, objects, updates).astype(np.int32), names),
        Requests.of(
            rng.random(requests) * 9 * DAY, rng.integers(0, 3, requests).astype(np.int32),
            rng.integers(0, objects, requests).astype(np.int32), ("x", "y", "z"), names,
        ),
        cache=Cache.CLIENT, **{"warn": lambda _: None, **given},  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    ("policy", "compiles"), [*((policy, False) for policy in POLICIES), *((policy, True) for policy in COMPILED)]
)
def test_counts_do_not_depend_on_how_streams_are_shared_out(
    policy: fast_engine.Policy, compiles: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(60, 500)
    monkeypatch.setattr(fast_engine, "FEWEST_EACH", 20)
    monkeypatch.setattr(fast_engine, "MOST_EACH", 20)
    engine = FastReplay(scenario, compiles=compiles)
    passed: list[object] = []
    counts = engine.replay(policy, lambda items: (passed.append(item) or item for item in items))
    assert counts == plain_engine.replay(scenario, policy)
    assert len(passed) == engine.items > 10
    assert engine.replay_objects(policy) == plain_engine.replay_objects(scenario, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("updates", "requests"), [(0, 0), (0, 9), (9, 0)])
def test_nothing_is_needed(policy: fast_engine.Policy, updates: int, requests: int) -> None:
    scenario = scenario_of(updates, requests)
    engine = FastReplay(scenario)
    engine.prepare(POLICIES)
    assert engine.replay(policy) == plain_engine.replay(scenario, policy)
    assert sum(counts.requests for counts in engine.replay_objects(policy).values()) == requests


def test_requests_before_the_test_start_and_updates_before_the_origin_do_not_count() -> None:
    scenario = scenario_of(60, 500, origin_s=2 * DAY, test_start_s=8 * DAY)
    assert FastReplay(scenario).replay(POLICIES[0]) == plain_engine.replay(scenario, POLICIES[0]) != NOTHING
    late = scenario_of(60, 500, test_start_s=99 * DAY)
    assert FastReplay(late).replay(POLICIES[0]) == NOTHING


def test_many_parameters_of_one_policy_are_worth_compiling_for() -> None:
    bars: list[tuple[str, int]] = []

    def bar(description: str, total: int) -> AbstractContextManager[Watch]:
        bars.append((description, total))
        return no_bar(description, total)

    compiling = Compiling(fast_engine.COMPILED_FROM // 3, lambda rule: None, bar=bar)
    few, many = parse_spec("ttl"), [parse_spec(f"fixed:interval={n}") for n in (1, 2, 3, 4)]
    compiling.expect([few, *many])
    assert [compiling.of(rule_of(policy)) for policy in (few, many[0])] == [False, True]  # type: ignore[arg-type]
    assert bars == [("compiling", 1)]  # several seconds
    assert Compiling(fast_engine.COMPILED_FROM, lambda rule: None).of(rule_of(few))  # type: ignore[arg-type]


class Hasty:
    """A policy that is not a function of features."""

    name = "hasty"
    needs = Needs.NONE


def test_what_cannot_be_replayed_is_refused_with_a_reason() -> None:
    with pytest.raises(ValueError, match="hasty is not a function of features"):
        FastReplay(scenario_of(1, 1)).replay(Hasty())  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class Wordy(Formula):
    """A policy that numba cannot compile."""

    name: ClassVar[str] = "wordy"

    def decide(self, features: Features) -> Decision:
        return expires(features.t + float(json.loads("15.0")))


@dataclass(frozen=True, slots=True)
class Formatting(Formula):
    """A policy whose bytecode numba refuses before it compiles anything."""

    name: ClassVar[str] = "formatting"

    def decide(self, features: Features) -> Decision:
        return expires(features.t + float(f"{15.0:.1f}"))


def test_what_cannot_be_compiled_runs_as_it_stands_where_that_is_fast_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(60, 500)
    assert fast_engine.obstacle(scenario, Wordy()) is None
    assert FastReplay(scenario).replay(Wordy()) == plain_engine.replay(scenario, Wordy())
    monkeypatch.setattr(fast_engine, "COMPILED_FROM", 600)
    engine = FastReplay(scenario)
    engine.prepare([Wordy(), Wordy()])  # which together would be worth it
    assert engine.replay(Wordy()) == plain_engine.replay(scenario, Wordy())
    monkeypatch.setattr(fast_engine, "COMPILED_FROM", 1)
    why = str(fast_engine.obstacle(scenario, Wordy()))
    assert why.startswith("numba cannot compile wordy: Unknown attribute 'loads' of type Module")
    assert re.search(r'\(File .*test_fast_engine\.py", line \d+\)$', why)
    engines = Engines(scenario)
    assert engines.through(Wordy()) is Through.PLAIN
    assert engines.replay(Wordy()) == plain_engine.replay(scenario, Wordy())


def test_bytecode_that_cannot_be_compiled_is_an_obstacle_too(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(60, 500)
    monkeypatch.setattr(fast_engine, "COMPILED_FROM", 1)
    assert str(fast_engine.obstacle(scenario, Formatting())).startswith("numba cannot compile formatting: Use of unsup")
    assert Engines(scenario).replay(Formatting()) == plain_engine.replay(scenario, Formatting())
