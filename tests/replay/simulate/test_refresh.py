"""Refreshing, against paper and pencil, a second implementation, and the reference counts of mailboxes."""

import json
import math
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.models.history import History
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import RefreshCounts
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.refresh import RefreshScenario, refresh_objects
from bestbefore.replay.traces.columns.columns import Updates
from bestbefore.replay.traces.columns.files import read_updates

DAY = 86400.0


def no_warning(message: str) -> None:
    raise AssertionError(message)


def updates_of(times: Mapping[str, list[float]]) -> Updates:
    names = tuple(times)
    ids = [number for number, name in enumerate(names) for _ in times[name]]
    return Updates.of(np.array([t for name in names for t in times[name]]), np.array(ids, dtype=np.int32), names)


def refresh(
    times: Mapping[str, list[float]], spec: str, min_interval_s: float = 1.0, **options: object
) -> dict[str, RefreshCounts]:
    scenario = RefreshScenario.of(updates_of(times), warn=lambda _: None, **options)
    return refresh_objects(scenario, parse_spec(spec), min_interval_s)


# Refreshed first at 300. With alpha = 0.5 next after half of the time since the last update: at 300 + 50, which finds
# nothing; at 350 + 75; at 425 + 112.5, which fetches those of 500 and 530; at 537.5 + 3.75; so on by half as much more
# each time until 600 is fetched.
TIMES = [0.0, 200.0, 500.0, 530.0, 600.0]


def test_refreshes_and_delays_as_worked_by_hand() -> None:
    counts = refresh({"a": TIMES}, "ttl:alpha=0.5", test_start_s=300.0)["a"]
    # 541.25, 546.875, 555.3125, 567.96875, 586.953125, 615.4296875
    assert counts.refreshes == 3 + 6
    assert (counts.updates, counts.unfetched) == (3, 0)
    assert counts.delay_s == 37.5 + 7.5 + 15.4296875
    assert counts.max_delay_s == 37.5
    assert counts.mean_delay_s == (37.5 + 7.5 + 15.4296875) / 3


def test_two_refreshes_are_no_closer_than_the_minimum_interval() -> None:
    counts = refresh({"a": TIMES}, "ttl:alpha=0.5", 100.0, test_start_s=300.0)["a"]
    assert counts.refreshes == 3  # at 400, at 500, and at 600 since there the update of 500 is only just known
    assert counts.delay_s == 0.0 + 70.0 + 0.0


def test_it_ends_with_the_last_update_and_begins_a_week_after_the_first() -> None:
    counts = refresh({"a": [1000.0, 1000.0 + 7 * DAY, 1000.0 + 7 * DAY + 10.0]}, "always")["a"]
    assert counts == RefreshCounts(refreshes=10, updates=1, unfetched=0, delay_s=0.0, max_delay_s=0.0)


def test_an_object_without_an_update_after_the_test_start_is_refreshed_no_more() -> None:
    assert refresh({"a": [5.0, 10.0]}, "always")["a"] == RefreshCounts(0, 0, 0, 0.0, None)


def test_a_copy_that_never_expires_leaves_updates_unfetched() -> None:
    counts = refresh({"a": TIMES}, "never", test_start_s=300.0)["a"]
    assert counts == RefreshCounts(refreshes=0, updates=3, unfetched=3, delay_s=0.0, max_delay_s=None)
    assert counts.mean_delay_s is None


def test_the_oracle_refreshes_each_update_without_delay() -> None:
    for warm in (None, *Warm):
        counts = refresh({"a": TIMES, "b": [5.0, 900.0, 950.0]}, "oracle", test_start_s=300.0, warm=warm)
        assert [c.refreshes for c in counts.values()] == [3, 2]
        assert RefreshCounts.total(counts.values()) == RefreshCounts(5, 5, 0, 0.0, 0.0)


def test_a_policy_that_needs_outcomes_gets_that_of_each_refresh() -> None:
    # From 100 on: at 110 (nothing), at 130 (the update of 115, so half of 20), at 140 (nothing), at 160.
    counts = refresh({"a": [0.0, 115.0, 155.0]}, "aimd:min=10,step=10,max=1000", test_start_s=100.0)["a"]
    assert (counts.refreshes, counts.delay_s) == (4, 15.0 + 5.0)


def test_an_origin_for_all_leaves_out_what_was_before_with_one_warning() -> None:
    warnings: list[str] = []
    scenario = RefreshScenario.of(
        updates_of({"a": [1.0, 2.0, 600.0], "b": [3.0, 700.0]}), origin_s=3.0, test_start_s=4.0, warn=warnings.append
    )
    assert warnings == ["2 updates before the origin, 3, dropped"]
    assert {name: history.since_s for name, history in scenario.known.histories.items()} == {"a": 3.0, "b": 3.0}
    assert scenario.updates == 2


def test_an_object_whose_first_update_follows_the_test_start_is_first_refreshed_then() -> None:
    scenario = RefreshScenario.of(updates_of({"a": [1.0, 9.0], "b": [7.0, 8.0]}), test_start_s=5.0, warn=no_warning)
    assert scenario.first_s == {"a": 5.0, "b": 7.0}
    assert scenario.updates == 2


def test_wrong_times_are_refused() -> None:
    with pytest.raises(ValueError, match="the test start, 5, must not lie before the origin, 6"):
        refresh({"a": TIMES}, "ttl", origin_s=6.0, test_start_s=5.0)
    with pytest.raises(ValueError, match="the minimum interval, 1e-09 s, is too small at the time 1700000000"):
        refresh({"a": [1e9, 1.7e9]}, "ttl", 1e-9)


def test_it_is_said_if_there_is_nothing_to_refresh() -> None:
    warnings: list[str] = []
    scenario = RefreshScenario.of(updates_of({}), warn=warnings.append)
    assert warnings == ["no update after the test start"]
    assert refresh_objects(scenario, parse_spec("ttl"), 1.0) == {}
    assert RefreshCounts.total([]) == RefreshCounts(0, 0, 0, 0.0, None)


def test_observers_see_each_update_that_is_fetched() -> None:
    scenario = RefreshScenario.of(updates_of({"a": TIMES, "b": [0.0, 900.0]}), test_start_s=300.0, warn=no_warning)
    seen: list[None] = []

    def watch(fetched: Iterator[None]) -> Iterator[None]:
        for update in fetched:
            seen.append(update)
            yield update

    refresh_objects(scenario, parse_spec("ttl:alpha=0.5"), 1.0, watch)
    assert scenario.updates == len(seen) == 4


def test_an_observer_knows_only_what_its_refreshes_found() -> None:
    # The first refresh after T finds three updates, of which an observer knows the last. With n of them in a week it
    # is 20160 s / n until the next.
    first_s = 7 * DAY
    times = {"a": [0.0, *(first_s + x for x in (10.0, 20.0, 30.0, 50000.0))]}
    spec = "miniflux:factor=30,max=8h"
    complete = refresh(times, spec)["a"]  # at 28800, 35520, 42240, 48960, 55680
    assert (complete.refreshes, complete.delay_s) == (5, 3 * 28800.0 - 60.0 + 5680.0)
    for warm in (Warm.NONE, Warm.CONTACTS):  # at 28800, 48960, 69120
        observed = refresh(times, spec, warm=warm)["a"]
        assert (observed.refreshes, observed.delay_s) == (3, 3 * 28800.0 - 60.0 + 19120.0)


def test_an_observer_can_get_what_was_before_the_test_start() -> None:
    """Then nothing is missing where every update is found by a refresh of its own."""
    times = {"a": [d * DAY / 3 for d in range(60)], "b": [3 * DAY + d * DAY / 2 for d in range(40)]}
    spec = "indhist:theta=0.01"
    assert refresh(times, spec, warm=Warm.COMPLETE) == refresh(times, spec)
    assert all(counts.refreshes == 0 for counts in refresh(times, spec, warm=Warm.NONE).values())


def alone(policy: Policy, times: list[float], first_s: float, min_interval_s: float) -> tuple[int, list[float], int]:
    """Refreshes, delays and unfetched updates of one object, by the words of the definition."""
    history = History.of(times, times[0])
    waiting = [u for u in times if u > first_s]
    refreshes, delays = 0, []
    t, outcome = first_s, None
    while waiting:
        verdict = policy.verdict(history, None, t, outcome)
        if verdict.expiry_s == math.inf:
            break
        t = max(verdict.expiry_s, t + min_interval_s)
        refreshes += 1
        found = [u for u in waiting if u <= t]
        delays += [t - u for u in found]
        waiting = waiting[len(found):]
        outcome = None if verdict.state is None else ContactOutcome(verdict.state, bool(found))
    return refreshes, delays, len(waiting)


@given(
    st.lists(st.lists(st.integers(0, 400).map(lambda h: h * 3600.0), min_size=1, max_size=15, unique=True).map(sorted),
             min_size=1, max_size=3),
    st.sampled_from([name for name, policy in POLICIES.items() if Needs.GROUP not in policy.needs]),
)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_each_object_is_refreshed_as_if_it_were_alone(times: list[list[float]], name: str) -> None:
    policy = parse_spec(name)
    named = {str(number): own for number, own in enumerate(times)}
    for name_, counts in refresh(named, name, 600.0).items():
        own = named[name_]
        refreshes, delays, unfetched = alone(policy, own, own[0] + 7 * DAY, 600.0)
        assert (counts.refreshes, counts.unfetched) == (refreshes, unfetched)
        assert counts.updates == len(delays) + unfetched
        assert counts.delay_s == pytest.approx(sum(delays))
        assert counts.max_delay_s == max(delays, default=None)


def mailboxes(golden: Path, key: str, updates: Updates) -> None:
    """Each object and policy has the refreshes and the mean delay, in whole seconds, that are pinned."""
    scenario = RefreshScenario.of(updates, warn=no_warning)
    rows = json.loads((golden / "refresh_counts.json").read_text())[key]
    for spec in dict.fromkeys(spec for _, spec, _, _ in rows):
        counts = refresh_objects(scenario, parse_spec(spec), 1.0)
        for name, spec_, refreshes, mean_delay_s in rows:
            if spec_ == spec:
                assert counts[name].mean_delay_s is not None
                assert (name, spec, counts[name].refreshes) == (name, spec, refreshes)
                assert (name, spec, round(counts[name].mean_delay_s)) == (name, spec, mean_delay_s)


def test_the_excerpt_has_its_pinned_counts(golden: Path, data: Path) -> None:
    mailboxes(golden, "excerpt", read_updates(data / "excerpt.arrivals.csv", no_warning))


@pytest.mark.slow
def test_the_mailboxes_have_the_reference_counts(golden: Path, traces: Path) -> None:
    mailboxes(golden, "arrivals_main", read_updates(traces / "arrivals_main.csv.gz", no_warning))


def test_groups_are_of_all_objects_or_by_prefix() -> None:
    times = {"x/a": [0.0, 8 * DAY], "y/b": [0.0, 8 * DAY]}
    together = RefreshScenario.of(updates_of(times), warn=no_warning)
    apart = RefreshScenario.of(updates_of(times), grouping=Grouping.PREFIX, warn=no_warning)
    assert together.known.group("x/a").members(DAY) == 2
    assert apart.known.group("x/a").members(DAY) == 1
