from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.replay.domains import domain_of
from bestbefore.replay.parts import Parts
from bestbefore.replay.present import Present
from bestbefore.replay.recommend import (
    LEAST_CACHED,
    LEAST_CHANGES,
    Choice,
    PartCounts,
    Recommendation,
    WholeReplays,
    is_host,
    nearest,
    recommend,
    replayed,
    stale_rate,
)
from bestbefore.replay.simulate import plain_engine
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.engines import Engines
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.grid import Point, points_of
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

CANDIDATES = [
    point
    for spec in ("ttl:alpha=0.02..0.5/4", "indhist:theta=0.02..0.5/4", "agghist:theta=0.02..0.5/3", "fixed:interval=1h")
    for point in points_of(spec)
]


def counts(cached: int, stale_hits: int, validations: int) -> Counts:
    return Counts(1, cached - validations, stale_hits, validations, 0)


def here(count: Callable[[Policy], PartCounts], policies: Sequence[Policy]) -> list[PartCounts]:
    return [count(policy) for policy in policies]


def test_the_nearest_has_the_fewest_validations_at_the_stale_rate() -> None:
    assert nearest([counts(100, 0, 90), counts(100, 5, 30), counts(100, 6, 10)], 0.05) == 1


def test_a_stale_rate_that_is_just_met_is_met() -> None:
    """29 of 100, although 0.29 * 100 is less than 29 in binary."""
    assert nearest([counts(100, 0, 90), counts(100, 29, 10)], 0.29) == 1


def test_if_none_has_the_stale_rate_the_nearest_has_the_least() -> None:
    assert nearest([counts(100, 9, 10), counts(100, 7, 50), counts(100, 8, 5)], 0.05) == 1


def test_among_equals_it_is_the_one_with_the_fewest_stale_hits_then_the_first() -> None:
    assert nearest([counts(100, 4, 30), counts(100, 2, 30), counts(100, 2, 30)], 0.05) == 1


def test_candidates_are_compared_as_the_proxy_would_run_them() -> None:
    bounds = "min_ttl=0,max_ttl=1d,fallback=ttl+group,history_window=28d,bootstrap=60"
    assert replayed(*points_of("indhist:theta=0.2")) == parse_spec(f"indhist:theta=0.2,{bounds},siblings=0.05")
    shorter = parse_spec(f"ttl:alpha=0.2,{bounds.replace('1d', '6h')}")
    assert replayed(*points_of("ttl:alpha=0.2, max_ttl = 6h"), siblings=False) == shorter


@pytest.mark.parametrize(
    ("domain", "expected"),
    [("example.org", True), ("ipr", True), ("192.0.2.1", True), ("::1", True), ("", False), ("*", False),
     ("*.example.org", False), ("a b", False), ("a\nb", False), ('a"b', False), ("-", False),
     ("a." * 126 + "a", True), ("a." * 127 + "a", False)],
)
def test_a_rule_can_match_hosts_only(domain: str, expected: bool) -> None:
    assert is_host(domain) == expected


@cache
def excerpt_parts(data: Path, domain: str | None, warm: Warm | None) -> Parts:
    """The excerpt, or only what concerns one of its domains, with all others' requests as those of an object apart."""
    updates = read_updates(data / "excerpt.updates.csv", print)
    requests = read_requests(data / "excerpt.requests.csv.gz", print)
    if domain is not None:
        of_domain = np.array([domain_of(name) == domain for name in updates.objects])
        kept = of_domain[updates.object_ids]
        updates = Updates.of(updates.times_s[kept], updates.object_ids[kept], updates.objects)
        ids = requests.object_ids.copy()
        ids[[domain_of(requests.objects[i]) != domain for i in ids]] = len(requests.objects)
        requests = Requests.of(
            requests.times_s, requests.client_ids, ids, requests.clients, (*requests.objects, "apart/x")
        )
    return split(updates, requests, 1706227200.0, warm)


def split(updates: Updates, requests: Requests, origin_s: float | None = None, warm: Warm | None = None) -> Parts:
    scenario = Scenario.of(
        updates, requests, origin_s=origin_s, cache=Cache.SHARED, grouping=Grouping.DOMAIN, warm=warm, warn=print
    )
    return Parts.of(scenario, requests)


def recommended(parts: Parts, largest_stale_rate: float, candidates: Sequence[Point] = CANDIDATES) -> Recommendation:
    (present,) = points_of("indttl")
    return recommend(*replays(parts), candidates, largest_stale_rate, Present(present))


def replays(parts: Parts) -> tuple[WholeReplays, WholeReplays]:
    return WholeReplays(Engines(parts.first), here), WholeReplays(Engines(parts.then), here)


def total(counts: Mapping[str, Counts], domain: str) -> Counts:
    return Counts.total(counted for name, counted in counts.items() if domain_of(name) == domain)


@pytest.mark.slow
@pytest.mark.parametrize("domain", ["cft", "ipr"])
def test_each_domain_gets_what_it_would_get_alone(data: Path, domain: str) -> None:
    """Replayed candidate by candidate without the other domains, the one with the fewest validations is the same."""
    parts = excerpt_parts(data, None, None)
    choice = recommended(parts, 0.02).domains[domain]
    alone = excerpt_parts(data, domain, None)
    assert (alone.split_s, alone.end_s) == (parts.split_s, parts.end_s)
    found = [
        (point, total(plain_engine.replay_objects(alone.first, replayed(point)), domain))
        for point in CANDIDATES
    ]
    validations, point, first = min(
        ((c.validations, p, c) for p, c in found if stale_rate(c) <= 0.02), key=lambda row: row[0]
    )
    assert validations == choice.first.validations
    assert (choice.point.spec, choice.first, choice.reached) == (point.spec, first, True)
    assert choice.then == total(plain_engine.replay_objects(alone.then, replayed(point)), domain)


@pytest.mark.slow
def test_domains_with_too_little_data_are_left_to_the_default(data: Path) -> None:
    found = recommended(excerpt_parts(data, None, None), 0.02)
    assert list(found.domains) == ["ipr", "cft"]
    assert found.others == ["scoop-extras", "legislators", "dotgov"]


def test_a_rule_with_bounds_of_its_own_is_compared_within_them() -> None:
    """An object that is never updated: within a minute each candidate validates sixty times an hour."""
    times = np.arange(0.0, 10_800.0, 20.0)
    everything = np.zeros(len(times), dtype=np.int32)
    parts = split(
        Updates.of(np.arange(60.0) * 100.0, np.zeros(60, dtype=np.int32), ("a/x",)),
        Requests.of(times, everything, everything, ("c",), ("a/x",)),
    )
    (default,), (own,), (hour,) = points_of("always"), points_of("always:max_ttl=1m"), points_of("fixed:interval=1h")
    present = Present(default, {"a": own}, {"a/x": "a"}, own_bounds={"a": {"max_ttl": "1m"}})
    found = recommend(*replays(parts), [hour], 0.9, present)
    for choice, expected in ((found.domains["a"], "fixed:interval=1h,max_ttl=1m"), (found.default, hour.spec)):
        assert choice.point.spec == expected
        assert choice.then.validations == choice.then.cached // 3  # requests are 20 s apart
    assert found.default.then == found.followed == found.domains["a"].then


@pytest.mark.parametrize(
    ("requests_of_a_second", "changes", "own"),
    [
        (LEAST_CACHED, LEAST_CHANGES, ["a"]),
        (LEAST_CACHED - 1, LEAST_CHANGES, []),
        (LEAST_CACHED, LEAST_CHANGES - 1, []),
    ],
)
def test_a_domain_needs_requests_and_changes_that_they_met(
    requests_of_a_second: int, changes: int, own: list[str]
) -> None:
    """So many requests follow on a first one, a second apart, and updates lie between the first of them.

    Last comes a request of another object that makes them two thirds of the time.
    """
    times = np.arange(requests_of_a_second + 1.0)
    parts = split(
        Updates.of(0.5 + np.arange(changes), np.zeros(changes, dtype=np.int32), ("a/x",)),
        Requests.of(
            np.append(times, 1.5 * len(times)), np.zeros(len(times) + 1, dtype=np.int32),
            np.append(np.zeros(len(times), dtype=np.int32), np.int32(1)), ("x",), ("a/x", "b/x"),
        ),
    )
    found = recommended(parts, 0.5)
    assert list(found.domains) == own
    assert found.changes == changes
    assert found.is_founded == bool(own)


@pytest.mark.slow
def test_what_comes_of_it_is_the_sum_over_the_rules(data: Path) -> None:
    """Of the default, only what it does to the domains without a rule."""
    parts = excerpt_parts(data, None, Warm.CONTACTS)
    found = recommended(parts, 0.02)
    default = plain_engine.replay_objects(parts.then, replayed(found.default.point))
    assert found.default.then == Counts.total(default.values())
    followed = [*(c.then for c in found.domains.values()), *(total(default, domain) for domain in found.others)]
    assert found.followed == Counts.total(followed)
    assert found.unconfigured == plain_engine.replay(parts.then, replayed(*points_of("indttl")))
    at_present = plain_engine.replay_objects(parts.then, replayed(*points_of("indttl")))
    assert {domain: one.present for domain, one in found.domains.items()} == {
        domain: total(at_present, domain) for domain in found.domains
    }
    bounds = plain_engine.replay_objects(parts.then, parse_spec("oracle"))
    assert found.default.bound == Counts.total(bounds.values())
    assert found.default.bound.stale_hits == 0
    assert {domain: one.bound for domain, one in found.domains.items()} == {
        domain: total(bounds, domain) for domain in found.domains
    }


def test_an_unreachable_target_is_reported(data: Path) -> None:
    found = recommended(excerpt_parts(data, None, None), 0.0, points_of("fixed:interval=1h..1d/2"))
    choices: list[Choice] = [*found.domains.values(), found.default]
    assert [(choice.point.spec, choice.reached) for choice in choices] == [("fixed:interval=1h", False)] * 3


def test_a_trace_without_hosts_has_a_default_alone() -> None:
    times = np.arange(0.0, 100_000.0, 100.0)
    ids = np.zeros(len(times), dtype=np.int32)
    parts = split(
        Updates.of(np.array([5000.0]), np.zeros(1, dtype=np.int32), ("/index.html",)),
        Requests.of(times, ids, ids, ("x",), ("/index.html",)),
    )
    found = recommended(parts, 0.01)
    assert (found.domains, found.others) == ({}, [""])
    assert found.followed == found.default.then
