import math

import numpy as np
import pytest

from bestbefore.policies.models.demand import CopyDemand
from bestbefore.policies.models.group import Group
from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import ContactOutcome
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

UPDATES = Updates.of(np.array([0.0, 50.0, 90.0]), np.array([0, 0, 1], dtype=np.int32), ("a", "b"))
REQUESTS = Requests.of(
    np.arange(10.0, 110.0, 10.0), np.zeros(10, dtype=np.int32), np.array([0, 1] * 5, dtype=np.int32), ("x",),
    ("a", "b"),
)
COMPLETE = Scenario.of(UPDATES, REQUESTS, cache=Cache.SHARED, warn=pytest.fail)
OBSERVED = Scenario.of(UPDATES, REQUESTS, cache=Cache.SHARED, warm=Warm.NONE, warn=pytest.fail)


class Hasty:
    """A policy that is not a function of features."""

    name = "hasty"
    needs = Needs.NONE
    siblings = 1.0
    stale_rate = 0.0

    def verdict(
        self,
        history: History,
        group: Group | None,
        t: float,
        outcome: ContactOutcome | None = None,
        demand: CopyDemand | None = None,
        price: float = math.nan,
    ) -> Verdict:
        return Verdict(t + 15.0, "fixed")


@pytest.mark.parametrize("scenario", [COMPLETE, OBSERVED])
@pytest.mark.parametrize("spec", [*POLICIES, "agghist:segment_penalty=1", "indttl:fallback=group+ttl,max_ttl=1h"])
def test_the_fast_engine_replays_every_policy_with_either_kind_of_history(scenario: Scenario, spec: str) -> None:
    engines, policy = Engines(scenario), parse_spec(spec)
    assert engines.through(policy) is Through.FAST
    assert engines.obstacle(policy) is None
    assert engines.replay(policy) == Engines(scenario, Through.PLAIN).replay(policy)


@pytest.mark.parametrize("scenario", [COMPLETE, OBSERVED])
def test_the_plain_engine_replays_what_the_fast_one_cannot(scenario: Scenario) -> None:
    engines = Engines(scenario)
    engines.prepare([Hasty(), parse_spec("ttl")])
    assert engines.through(Hasty()) is Through.PLAIN
    assert engines.obstacle(Hasty()) == "hasty is not a function of features"
    assert engines.replay(Hasty()) == Counts(misses=2, hits=0, stale_hits=0, validations=8, unnecessary=6)


@pytest.mark.parametrize(
    ("scenario", "spec", "reason"),
    [
        (COMPLETE, "oracle", "the proxy cannot run it: it needs the updates to come, which only a replay knows"),
        (COMPLETE, "nutch", "the proxy cannot run it: it needs the updates so far, and what became of its last verd"),
    ],
)
def test_what_the_addon_cannot_replay_has_a_reason(scenario: Scenario, spec: str, reason: str) -> None:
    engines = Engines(scenario, Through.ADDON)
    assert str(engines.obstacle(parse_spec(spec))).startswith(reason)
    assert engines.through(parse_spec(spec)) is Through.PLAIN


@pytest.mark.parametrize("wanted", Through)
def test_the_counts_of_objects_add_up_to_those_of_all(wanted: Through) -> None:
    engines = Engines(COMPLETE, wanted)
    policy = parse_spec("ttl:alpha=0.2")
    assert engines.through(policy) is wanted
    objects = engines.replay_objects(policy)
    assert list(objects) == ["a", "b"]
    assert type(engines.replay(policy)).total(objects.values()) == engines.replay(policy)
    assert objects == Engines(COMPLETE, Through.PLAIN).replay_objects(policy)
