"""The fast engine around its kernels for observed histories. Those are held to the plain engine: tests/equivalence."""

import threading
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate import fast_observed_engine, plain_engine
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.fast_observed_engine import FastObservedReplay, loops
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

DAY = 86400.0
COMPILED = [parse_spec(spec) for spec in ("agghist:fallback=group+ttl,max_ttl=1d", "nutch:initial=1d")]
POLICIES = [parse_spec("ttl:alpha=0.2"), *COMPILED]


def scenario_of(updates: int, requests: int, warm: Warm = Warm.CONTACTS, test_start_s: float = 2 * DAY) -> Scenario:
    rng = np.random.default_rng(5)
    names = tuple(f"o{i}" for i in range(7))
    return Scenario.of(
        Updates.of(rng.random(updates) * 9 * DAY, rng.integers(0, 7, updates).astype(np.int32), names),
        Requests.of(
            rng.random(requests) * 9 * DAY, rng.integers(0, 3, requests).astype(np.int32),
            rng.integers(0, 6, requests).astype(np.int32), ("x", "y", "z"), names,
        ),
        origin_s=0.0, test_start_s=test_start_s, cache=Cache.CLIENT, warm=warm, warn=lambda _: None,
    )


@pytest.mark.parametrize("warm", Warm)
@pytest.mark.parametrize("policy", POLICIES)
def test_counts_do_not_depend_on_how_many_requests_are_taken_at_a_time(
    policy: Policy, warm: Warm, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fast_observed_engine, "ROWS_AT_ONCE", 20)
    scenario = scenario_of(60, 500, warm)
    engine = FastObservedReplay(scenario)
    passed: list[object] = []
    counts = engine.replay(policy, lambda items: (passed.append(item) or item for item in items))
    assert counts == plain_engine.replay(scenario, policy)
    assert len(passed) == engine.items > 10
    by_plain = plain_engine.replay_objects(scenario, policy)
    assert engine.replay_objects(policy) == {name: own for name, own in by_plain.items() if own.requests}


@pytest.mark.slow
@pytest.mark.parametrize("grouping", [Grouping.ALL, Grouping.PREFIX])
@pytest.mark.parametrize("policy", COMPILED)
def test_counts_do_not_depend_on_how_many_cores_replay(policy: Policy, grouping: Grouping) -> None:
    scenario = replace(scenario_of(600, 5000), grouping=grouping)
    engine = FastObservedReplay(scenario)
    engine._loops = lambda compiles: loops(compiles=True)._replace(cores=3)
    assert engine.replay(policy) == plain_engine.replay(scenario, policy)
    by_plain = plain_engine.replay_objects(scenario, policy)
    assert engine.replay_objects(policy) == {name: own for name, own in by_plain.items() if own.requests}


@pytest.mark.parametrize("cores", [1, 3])
def test_the_calling_thread_compiles_so_that_an_interrupt_ends_it(cores: int) -> None:
    scenario = replace(scenario_of(60, 500), grouping=Grouping.ALL)
    engine, plain = FastObservedReplay(scenario), loops(compiles=False)
    threads: list[threading.Thread] = []

    def replay(*arguments: Any) -> None:
        threads.append(threading.current_thread())
        plain.replay(*arguments)

    engine._loops = lambda compiles: plain._replace(cores=cores, replay=replay)
    engine.prepare(POLICIES[:1])
    assert (len(threads), threads.count(threading.current_thread())) == (cores, 1)


@pytest.mark.parametrize("warm", Warm)
@pytest.mark.parametrize(("updates", "requests"), [(0, 0), (0, 9), (9, 0)])
def test_nothing_is_needed(updates: int, requests: int, warm: Warm) -> None:
    scenario = scenario_of(updates, requests, warm)
    engine = FastObservedReplay(scenario)
    engine.prepare(POLICIES)
    for policy in POLICIES:
        assert engine.replay(policy) == plain_engine.replay(scenario, policy)
    assert sum(own.requests for own in engine.replay_objects(POLICIES[0]).values()) == len(scenario.requests)


def test_there_may_be_no_request_after_the_test_start() -> None:
    engine = FastObservedReplay(scenario_of(60, 500, test_start_s=99 * DAY))
    assert engine.replay(POLICIES[0]) == Counts(0, 0, 0, 0, 0)
    assert engine.replay_objects(POLICIES[0]) == {}


def test_what_one_replay_learns_is_not_known_to_the_next() -> None:
    engine = FastObservedReplay(scenario_of(60, 500))
    engine.prepare(POLICIES)
    assert [engine.replay(policy) for policy in POLICIES] == [engine.replay(policy) for policy in POLICIES]


def test_there_is_an_obstacle_only_to_what_cannot_be_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    scenario = scenario_of(60, 500)
    monkeypatch.setattr(fast_observed_engine, "COMPILED_FROM", 500)
    assert [fast_observed_engine.obstacle(scenario, policy) for policy in COMPILED] == [None] * 2
