from collections.abc import Sequence

import numpy as np
import pytest

from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.identity import identity, refresh_identity
from bestbefore.replay.traces.columns.columns import Requests, Updates


def scenario(
    updates: Sequence[float] = (1.0, 5.0),
    requests: Sequence[float] = (2.0, 3.0, 6.0),
    objects: tuple[str, ...] = ("a", "b"),
    test_start_s: float = 3.0,
    cache: Cache = Cache.CLIENT,
    grouping: Grouping = Grouping.ALL,
    warm: Warm | None = None,
) -> Scenario:
    ids = np.zeros(len(requests), dtype=np.int32)
    return Scenario.of(
        Updates.of(np.array(updates), np.zeros(len(updates), dtype=np.int32), ("a",)),
        Requests.of(np.array(requests), ids, ids, ("x",), objects),
        origin_s=0.0, test_start_s=test_start_s, cache=cache, grouping=grouping, warm=warm, warn=print,
    )


def test_the_same_replay_has_the_same_identity() -> None:
    assert identity(scenario()) == identity(scenario())


def test_what_was_asked_for_before_the_test_start_matters_where_an_observer_learnt_of_it() -> None:
    one, other = (scenario(requests=(t, 3.0, 6.0), warm=Warm.CONTACTS) for t in (2.0, 2.5))
    assert identity(one) != identity(other)


@pytest.mark.parametrize(
    "other",
    [
        {"updates": (1.0, 5.5)},
        {"updates": (1.0,)},
        {"requests": (2.0, 3.0, 7.0)},
        {"objects": ("b", "a")},
        {"test_start_s": 2.0},
        {"cache": Cache.SHARED},
        {"grouping": Grouping.PREFIX},
        {"warm": Warm.NONE},
        {"warm": Warm.CONTACTS},
        {"warm": Warm.COMPLETE},
    ],
)
def test_another_replay_has_another_identity(other: dict[str, object]) -> None:
    assert identity(scenario(**other)) != identity(scenario())  # type: ignore[arg-type]


def test_what_is_known_at_the_test_start_is_part_of_the_identity() -> None:
    known = {identity(scenario(warm=warm)) for warm in (None, *Warm)}
    assert len(known) == 4
    assert identity(scenario(requests=(1.5, 3.0, 6.0), warm=Warm.CONTACTS)) not in known


def test_parts_that_are_counted_apart_make_it_another_replay() -> None:
    whole, parted = scenario(), [Breakdown("class", {"a": "x"})]
    assert len({identity(whole), identity(whole, parted), identity(whole, [Breakdown("class", {"a": "y"})])}) == 3


def test_refreshing_in_another_way_has_another_identity() -> None:
    updates = Updates.of(np.array([1.0, 5.0]), np.zeros(2, dtype=np.int32), ("a",))
    ways: list[dict[str, float | Grouping | Warm]] = [
        {}, {"origin_s": 0.0}, {"test_start_s": 3.0}, {"grouping": Grouping.PREFIX}, {"warm": Warm.NONE},
    ]
    scenarios = [RefreshScenario.of(updates, warn=lambda _: None, **way) for way in ways]  # type: ignore[arg-type]
    assert len({refresh_identity(one, 1.0) for one in scenarios}) == len(ways)
    assert refresh_identity(scenarios[0], 2.0) != refresh_identity(scenarios[0], 1.0)
    assert refresh_identity(scenarios[0], 1.0, [Breakdown("class", {"a": "x"})]) != refresh_identity(scenarios[0], 1.0)
    later = Updates.of(np.array([1.0, 6.0]), np.zeros(2, dtype=np.int32), ("a",))
    assert refresh_identity(RefreshScenario.of(later, warn=lambda _: None), 1.0) != refresh_identity(scenarios[0], 1.0)
