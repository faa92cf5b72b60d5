"""The offline bound, against all choices of requests to validate, and against policies."""

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.evaluation.offline_bound import OfflineBound
from bestbefore.replay.simulate.plain_engine import replay
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates

OBJECTS = ("a", "b")
CLIENTS = ("x", "y")

updates = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), max_size=8)
requests = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1), st.integers(0, 1)), max_size=9).map(sorted)


def scenario(updated: list[tuple[int, int]], asked: list[tuple[int, int, int]], cache: Cache) -> Scenario:
    def column(rows: list[tuple[int, ...]], at: int) -> np.ndarray:
        return np.array([row[at] for row in rows], dtype=np.int32)

    return Scenario.of(
        Updates.of(column(updated, 0).astype(float), column(updated, 1), OBJECTS),
        Requests.of(column(asked, 0).astype(float), column(asked, 1), column(asked, 2), CLIENTS, OBJECTS),
        origin_s=0.0, cache=cache, warn=lambda _: None,
    )  # fmt: skip


def fewest(updated: list[tuple[int, int]], asked: list[tuple[int, int, int]], cache: Cache) -> dict[int, int]:
    """The fewest validations by number of stale hits, over all choices of requests to validate."""
    found: dict[int, int] = {}
    for n in range(len(asked) + 1):
        for chosen in combinations(range(len(asked)), n):
            current: dict[tuple[int, int], int] = {}
            stale = validations = 0
            for place, (t, client, object_) in enumerate(asked):
                key = (client if cache is Cache.CLIENT else 0, object_)
                if key in current and place not in chosen:
                    stale += any(current[key] < u <= t for u, name in updated if name == object_)
                else:
                    validations += key in current
                    current[key] = t
            found[stale] = min(found.get(stale, validations), validations)
    return found


@given(updates, requests, st.sampled_from(Cache))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_no_choice_of_validations_needs_fewer(
    updated: list[tuple[int, int]], asked: list[tuple[int, int, int]], cache: Cache
) -> None:
    bound = OfflineBound.of(scenario(updated, asked, cache))
    best = fewest(updated, asked, cache)
    for stale in range(len(asked) + 1):
        assert bound.validations(stale) == min(n for s, n in best.items() if s <= stale)


@given(updates, requests, st.sampled_from(Cache))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_without_stale_hits_it_is_the_oracle_and_no_policy_is_below_it(
    updated: list[tuple[int, int]], asked: list[tuple[int, int, int]], cache: Cache
) -> None:
    trace = scenario(updated, asked, cache)
    bound = OfflineBound.of(trace)
    oracle = replay(trace, parse_spec("oracle"))
    assert (bound.validations(0), bound.cached) == (oracle.validations, oracle.cached)
    for spec in ("fixed:interval=3", "ttl:alpha=0.5", "never"):
        counts = replay(trace, parse_spec(spec))
        assert bound.validations(counts.stale_hits) <= counts.validations


def test_the_shortest_runs_are_left_stale_first() -> None:
    runs = scenario([(2, 0), (4, 0), (6, 0)], [(t, 0, 0) for t in (0, 1, 2, 3, 4, 6, 7, 8)], Cache.SHARED)
    bound = OfflineBound.of(runs)
    assert [bound.validations(stale) for stale in range(8)] == [3, 2, 2, 1, 1, 1, 0, 0]
