"""What is simulated is what runs: all engines, of which one is the live addon, give the same counts."""

from itertools import product
from pathlib import Path

import numpy as np
import pytest

from bestbefore.addon.engine import learning
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.simulate import plain_engine, through_addon
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.fast_engine import FastReplay
from bestbefore.replay.simulate.fast_observed_engine import FastObservedReplay
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns import files
from bestbefore.replay.traces.columns.columns import Requests, Updates

DATA = Path(__file__).parent.parent / "data"
ORIGIN_S = 1_706_227_200.0
TEST_START_S = 1_706_918_400.0
DAY_S = 86_400.0


LIVE = "max_ttl=1d,fallback=ttl+group,history_window=28d"
WARMS = (None, *Warm)
"""None: with complete histories."""


def excerpt(cache: Cache, grouping: Grouping, days: float, warm: Warm | None = None) -> Scenario:
    """The first days of the excerpt's test part, and where there are contacts before it, as many days of them."""
    requests = files.read_requests(DATA / "excerpt.requests.csv.gz", pytest.fail)
    kept = requests.since(TEST_START_S - days * DAY_S).before(TEST_START_S + days * DAY_S)
    return Scenario.of(
        files.read_updates(DATA / "excerpt.updates.csv", pytest.fail), kept,
        origin_s=ORIGIN_S, test_start_s=TEST_START_S, cache=cache, grouping=grouping, warm=warm, warn=pytest.fail,
    )


def crowded(
    seed: int, cache: Cache, grouping: Grouping, warm: Warm | None, *, tells_times: bool = True, together: bool = False
) -> Scenario:
    """Nine objects that change at whole seconds, much of it at one instant, with the requests and the test start.

    `together`: whether those of a group change together; then no request comes at the very instant of an update, whose
    report the store would take for the later of the two observations, and so for all that this contact shows.
    """
    rng = np.random.default_rng(seed)
    objects = tuple(f"{group}/{n}" for group, n in product("abc", range(3)))
    start_s = 3 * DAY_S
    changed_s = np.floor(rng.integers(0, 6 * 24, 250) * 3600.0 + rng.exponential(600.0, 250))
    changed = rng.integers(0, 9, 250)
    if together:
        changed_s = np.repeat(changed_s[:60], 3)
        changed = np.repeat(3 * rng.integers(0, 3, 60), 3) + np.tile(np.arange(3), 60)
    bursts_s = rng.uniform(start_s / 2, 2 * start_s, 25)[:, None] + np.round(rng.exponential(1500.0, (25, 10)), 1)
    at_updates_s = np.repeat(rng.choice(changed_s, 30) + rng.choice([0.5 if together else 0.0, 1.0, 0.5], 30), 2)
    asked_s = np.concatenate([bursts_s.ravel(), at_updates_s, np.full(9, start_s)])
    asked = np.concatenate([rng.integers(0, 9, len(asked_s) - 9), np.arange(9)])
    return Scenario.of(
        Updates.of(changed_s, changed.astype(np.int32), objects),
        Requests.of(
            asked_s, rng.integers(0, 3, len(asked_s)).astype(np.int32), asked.astype(np.int32), ("x", "y", ""), objects
        ),
        origin_s=0.0, test_start_s=start_s, cache=cache, grouping=grouping, warm=warm, tells_times=tells_times,
        warn=pytest.fail,
    )


def assert_same(scenario: Scenario, policy: Policy) -> None:
    """The addon and the plain engine count the same for each object, and there is something to count."""
    expected = {name: own for name, own in plain_engine.replay_objects(scenario, policy).items() if own.requests}
    counted = through_addon.replay_objects(scenario, policy)
    assert counted == expected
    total = Counts.total(counted.values())
    assert min(total.hits, total.stale_hits, total.validations, total.unnecessary) > 0


@pytest.mark.parametrize(
    ("spec", "cache", "warm"),
    [
        ("fixed:interval=12h,siblings=0.02", Cache.CLIENT, Warm.COMPLETE),
        ("fixed:interval=12h,siblings=0.02", Cache.SHARED, None),
        pytest.param("ttl:alpha=0.2,siblings=0.02", Cache.CLIENT, Warm.CONTACTS, marks=pytest.mark.slow),
        pytest.param(f"indttl:theta=0.2,siblings=0.02,{LIVE}", Cache.CLIENT, Warm.NONE, marks=pytest.mark.slow),
    ],
)
def test_validations_because_of_siblings_are_the_same(spec: str, cache: Cache, warm: Warm | None) -> None:
    scenario = crowded(1, cache, Grouping.PREFIX, warm, together=True)
    alone = parse_spec(spec.replace("siblings=0.02", "siblings=1"))
    assert plain_engine.replay(scenario, parse_spec(spec)) != plain_engine.replay(scenario, alone)
    assert_same(scenario, parse_spec(spec))


@pytest.mark.parametrize(
    ("spec", "cache", "grouping"),
    [
        pytest.param("ttl:alpha=0.2", Cache.SHARED, Grouping.ALL, marks=pytest.mark.slow),
        pytest.param("agghist:theta=0.2", Cache.SHARED, Grouping.PREFIX, marks=pytest.mark.slow),
        pytest.param("indagg:theta=0.2", Cache.SHARED, Grouping.ALL, marks=pytest.mark.slow),
        (f"indttl:theta=0.2,alpha=0.2,{LIVE}", Cache.SHARED, Grouping.ALL),
        pytest.param(f"renewal:price=10,{LIVE}", Cache.SHARED, Grouping.PREFIX, marks=pytest.mark.slow),
    ],
)
def test_the_addon_counts_what_the_other_engines_count(spec: str, cache: Cache, grouping: Grouping) -> None:
    scenario, policy = excerpt(cache, grouping, days=1.0), parse_spec(spec)
    assert_same(scenario, policy)
    assert FastReplay(scenario).replay(policy) == plain_engine.replay(scenario, policy)


@pytest.mark.parametrize(
    ("spec", "cache", "grouping", "warm"),
    [
        pytest.param("ttl:alpha=0.2", Cache.SHARED, Grouping.ALL, Warm.NONE, marks=pytest.mark.slow),
        ("indhist:theta=0.2", Cache.SHARED, Grouping.ALL, Warm.CONTACTS),
        pytest.param("agghist:theta=0.2", Cache.SHARED, Grouping.PREFIX, Warm.COMPLETE, marks=pytest.mark.slow),
        pytest.param(f"indagg:theta=0.1,{LIVE}", Cache.SHARED, Grouping.ALL, Warm.NONE, marks=pytest.mark.slow),
        pytest.param(f"indttl:{LIVE}", Cache.CLIENT, Grouping.PREFIX, Warm.CONTACTS, marks=pytest.mark.slow),
        pytest.param(f"indttl:{LIVE}", Cache.SHARED, Grouping.ALL, Warm.NONE, marks=pytest.mark.slow),
    ],
)
def test_the_addon_learns_by_itself_what_a_replay_lets_a_proxy_observe(
    spec: str, cache: Cache, grouping: Grouping, warm: Warm
) -> None:
    assert_same(excerpt(cache, grouping, days=1.0, warm=warm), parse_spec(spec))


@pytest.mark.parametrize(
    ("cache", "warm"),
    [
        (Cache.SHARED, None),
        (Cache.CLIENT, Warm.CONTACTS),
        *(
            pytest.param(*others, marks=pytest.mark.slow)
            for others in [(Cache.CLIENT, None), (Cache.SHARED, Warm.NONE), (Cache.CLIENT, Warm.COMPLETE)]
        ),
    ],
)
def test_so_it_is_where_the_requests_for_each_copy_count(cache: Cache, warm: Warm | None) -> None:
    assert_same(crowded(8, cache, Grouping.PREFIX, warm), parse_spec(f"renewal:price=4,{LIVE}"))


@pytest.mark.parametrize("warm", [WARMS[0], *(pytest.param(warm, marks=pytest.mark.slow) for warm in WARMS[1:])])
@pytest.mark.parametrize("cache", [Cache.SHARED, pytest.param(Cache.CLIENT, marks=pytest.mark.slow)])
def test_so_it_is_where_much_happens_at_one_instant(warm: Warm | None, cache: Cache) -> None:
    grouping = Grouping.PREFIX if cache is Cache.SHARED else Grouping.ALL
    assert_same(crowded(WARMS.index(warm), cache, grouping, warm), parse_spec(f"indagg:theta=0.3,{LIVE}"))


@pytest.mark.parametrize(
    ("warm", "spec"),
    [
        (Warm.CONTACTS, f"indagg:theta=0.3,{LIVE}"),
        pytest.param(Warm.COMPLETE, f"indttl:{LIVE}", marks=pytest.mark.slow),
        pytest.param(Warm.NONE, f"ttl:{LIVE}", marks=pytest.mark.slow),
    ],
)
def test_so_it_is_where_origins_send_entity_tags_only(warm: Warm, spec: str) -> None:
    assert_same(crowded(7, Cache.SHARED, Grouping.PREFIX, warm, tells_times=False), parse_spec(spec))


@pytest.mark.parametrize(
    "warm", [pytest.param(warm, marks=() if warm is Warm.CONTACTS else pytest.mark.slow) for warm in Warm]
)
def test_so_it_is_where_histories_are_long_and_policies_forget(monkeypatch: pytest.MonkeyPatch, warm: Warm) -> None:
    monkeypatch.setattr(learning, "DETAILED_UPDATES", 4)
    policy = parse_spec("agghist:theta=0.2,history_window=2d,max_ttl=6h")
    assert_same(crowded(7, Cache.SHARED, Grouping.ALL, warm), policy)


@pytest.mark.parametrize(
    ("spec", "cache", "grouping", "warm"),
    [
        ("renewal:stale_rate=0.1", Cache.SHARED, Grouping.PREFIX, Warm.CONTACTS),
        pytest.param("renewal:stale_rate=0.02", Cache.CLIENT, Grouping.ALL, None, marks=pytest.mark.slow),
        pytest.param("ttl:stale_rate=0.05", Cache.CLIENT, Grouping.PREFIX, Warm.COMPLETE, marks=pytest.mark.slow),
    ],
)
def test_a_controlled_price_is_the_same(spec: str, cache: Cache, grouping: Grouping, warm: Warm | None) -> None:
    scenario, policy = crowded(1, cache, grouping, warm), parse_spec(spec)
    expected = {name: own for name, own in plain_engine.replay_objects(scenario, policy).items() if own.requests}
    assert through_addon.replay_objects(scenario, policy) == expected
    if warm is not None:
        assert FastObservedReplay(scenario).replay_objects(policy) == expected
