"""The fast engine around its kernels; what these decide is held to the plain engine in tests/equivalence."""

import os

import numpy as np
import pytest

from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.fallback import LastUpdate
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay import fast, plain
from bestbefore.replay.counts import Counts
from bestbefore.replay.fast import FastReplay, Kernel
from bestbefore.replay.kernels import vectorised
from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.traces.columns import Requests, Updates

DAY = 86400.0
POLICIES = [parse_spec(spec) for spec in ("ttl:alpha=0.2", "agghist:theta=0.3", "oracle")]
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


@pytest.mark.parametrize("keeps_lock", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
def test_counts_do_not_depend_on_how_streams_are_shared_out(
    policy: fast.Policy, keeps_lock: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    scenario = scenario_of(60, 500)
    monkeypatch.setattr(fast, "FEWEST_EACH", 20)
    engine = FastReplay(scenario, kernel=Kernel(vectorised.replay, 20, keeps_lock))
    passed: list[object] = []
    counts = engine.replay(policy, lambda items: (passed.append(item) or item for item in items))
    assert counts == plain.replay(scenario, policy)
    assert len(passed) == engine.items > 10
    assert engine.replay_objects(policy) == plain.replay_objects(scenario, policy)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("updates", "requests"), [(0, 0), (0, 9), (9, 0)])
def test_nothing_is_needed(policy: fast.Policy, updates: int, requests: int) -> None:
    scenario = scenario_of(updates, requests)
    engine = FastReplay(scenario)
    engine.prepare(POLICIES)
    assert engine.replay(policy) == plain.replay(scenario, policy)
    assert sum(counts.requests for counts in engine.replay_objects(policy).values()) == requests


def test_requests_before_the_test_start_and_updates_before_the_origin_do_not_count() -> None:
    scenario = scenario_of(60, 500, origin_s=2 * DAY, test_start_s=8 * DAY)
    assert FastReplay(scenario).replay(POLICIES[0]) == plain.replay(scenario, POLICIES[0]) != NOTHING
    late = scenario_of(60, 500, test_start_s=99 * DAY)
    assert FastReplay(late).replay(POLICIES[0]) == NOTHING


def test_what_cannot_be_replayed_is_refused_with_a_reason() -> None:
    twice = Bounded(POLICIES[0], fallback=(LastUpdate(0.1),) * 3)
    with pytest.raises(ValueError, match="no kernel knows ttl with these parameters"):
        FastReplay(scenario_of(1, 1)).replay(twice)


@pytest.mark.skipif(fast.START_METHOD != "fork", reason="elsewhere than on Linux threads replay")
def test_a_process_that_ends_before_its_work_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fast, "FEWEST_EACH", 20)
    engine = FastReplay(scenario_of(60, 500), kernel=Kernel(lambda *_: os._exit(1), 20, keeps_lock=True))
    with pytest.raises(OSError, match="a process ended before its work"):
        engine.replay(POLICIES[0])


def test_a_kernel_that_is_given_is_kept() -> None:
    calls: list[int] = []

    def counted(*arguments: object) -> int:
        calls.append(1)
        return vectorised.replay(*arguments)  # type: ignore[arg-type]

    engine = FastReplay(scenario_of(9, 9), kernel=Kernel(counted, 9))
    engine.prepare(POLICIES)
    engine.replay(POLICIES[0])
    assert len(calls) > len(POLICIES)
