import numpy as np
import pytest

from bestbefore.policies.validation.spec import parse_spec
from bestbefore.replay.engines import Engines, Through
from bestbefore.replay.observed import Warm
from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.traces.columns import Requests, Updates

UPDATES = Updates.of(np.array([0.0, 50.0, 90.0]), np.array([0, 0, 1], dtype=np.int32), ("a", "b"))
REQUESTS = Requests.of(
    np.arange(10.0, 110.0, 10.0), np.zeros(10, dtype=np.int32), np.array([0, 1] * 5, dtype=np.int32), ("x",),
    ("a", "b"),
)
COMPLETE = Scenario.of(UPDATES, REQUESTS, cache=Cache.SHARED, warn=pytest.fail)
OBSERVED = Scenario.of(UPDATES, REQUESTS, cache=Cache.SHARED, warm=Warm.NONE, warn=pytest.fail)


@pytest.mark.parametrize(
    ("scenario", "spec", "expected"),
    [
        (COMPLETE, "ttl", Through.FAST),
        (COMPLETE, "oracle", Through.FAST),
        (COMPLETE, "nutch", Through.FAST),
        (COMPLETE, "agghist:segment_penalty=1", Through.FAST),
        (OBSERVED, "ttl", Through.FAST),
        (OBSERVED, "oracle", Through.FAST),
        (OBSERVED, "aimd", Through.PLAIN),
    ],
)
def test_the_plain_engine_replays_what_the_fast_one_cannot(scenario: Scenario, spec: str, expected: Through) -> None:
    engines = Engines(scenario)
    assert engines.through(parse_spec(spec)) is expected
    assert (engines.obstacle(parse_spec(spec)) is None) == (expected is Through.FAST)
    assert engines.replay(parse_spec(spec)) == Engines(scenario, Through.PLAIN).replay(parse_spec(spec))


@pytest.mark.parametrize(
    ("scenario", "spec", "reason"),
    [
        (COMPLETE, "oracle", "the proxy cannot run it: it needs the updates to come, which only a replay knows"),
        (COMPLETE, "nutch", "the proxy cannot run it: it needs the updates so far, and what became of its last verd"),
        (OBSERVED, "ttl", "histories are put into the store"),
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
