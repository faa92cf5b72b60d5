"""What is simulated is what runs: all engines, of which one is the live addon, give the same counts."""

from pathlib import Path

import pytest

from bestbefore.policies.validation.spec import parse_spec
from bestbefore.replay import plain, through_addon
from bestbefore.replay.complete import Grouping
from bestbefore.replay.fast import FastReplay
from bestbefore.replay.scenario import Cache, Scenario
from bestbefore.replay.traces import files

DATA = Path(__file__).parent.parent / "data"
ORIGIN_S = 1_706_227_200.0
TEST_START_S = 1_706_918_400.0
DAY_S = 86_400.0


def excerpt(cache: Cache, grouping: Grouping, days: float) -> Scenario:
    """The first days of the excerpt's test part."""
    requests = files.read_requests(DATA / "excerpt.requests.csv.gz", pytest.fail)
    kept = int(requests.times_s.searchsorted(TEST_START_S + days * DAY_S))
    return Scenario.of(
        files.read_updates(DATA / "excerpt.updates.csv", pytest.fail),
        type(requests)(
            requests.times_s[:kept], requests.client_ids[:kept], requests.object_ids[:kept],
            requests.clients, requests.objects,
        ),
        origin_s=ORIGIN_S, test_start_s=TEST_START_S, cache=cache, grouping=grouping, warn=pytest.fail,
    )


@pytest.mark.parametrize(
    ("spec", "cache", "grouping"),
    [
        ("ttl:alpha=0.2", Cache.SHARED, Grouping.ALL),
        ("indhist:theta=0.2", Cache.SHARED, Grouping.ALL),
        ("agghist:theta=0.2", Cache.SHARED, Grouping.PREFIX),
        ("indagg:theta=0.2", Cache.CLIENT, Grouping.ALL),
        ("indttl:theta=0.2,alpha=0.2,max_ttl=1d,fallback=ttl+group,history_window=5d", Cache.SHARED, Grouping.ALL),
    ],
)
def test_the_addon_counts_what_the_other_engines_count(spec: str, cache: Cache, grouping: Grouping) -> None:
    scenario = excerpt(cache, grouping, days=2.0)
    policy = parse_spec(spec)
    expected = plain.replay(scenario, policy)
    assert expected.hits > expected.validations > 0
    assert through_addon.replay_objects(scenario, policy) == FastReplay(scenario).replay_objects(policy)
    assert FastReplay(scenario).replay(policy) == expected
