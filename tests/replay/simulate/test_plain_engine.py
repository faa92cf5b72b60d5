"""The reference engine, against paper and pencil, a second implementation in exact arithmetic, and pinned counts."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bestbefore.policies.validation.machinery.spec import parse_spec
from bestbefore.policies.validation.table import POLICIES
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.plain_engine import replay, replay_objects
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import Requests, Updates
from bestbefore.replay.traces.columns.files import read_requests, read_updates

HOUR = 3600
DAY = 86400
EXCERPT_ORIGIN_S = 1706227200.0
EXCERPT_TEST_START_S = 1706918400.0


def no_warning(message: str) -> None:
    raise AssertionError(message)


def interned(names: Iterable[str]) -> tuple[np.ndarray, tuple[str, ...]]:
    codes: dict[str, int] = {}
    ids = [codes.setdefault(name, len(codes)) for name in names]
    return np.array(ids, dtype=np.int32), tuple(codes)


def scenario(
    updates: list[tuple[float, str]],
    requests: list[tuple[float, str, str]],
    cache: Cache,
    warm: Warm | None = None,
    test_start_s: float | None = None,
) -> Scenario:
    object_ids, objects = interned(name for _, name in updates)
    client_ids, clients = interned(client for _, client, _ in requests)
    asked_ids, asked = interned(name for *_, name in requests)
    return Scenario.of(
        Updates.of(np.array([t for t, _ in updates], dtype=float), object_ids, objects),
        Requests.of(np.array([t for t, *_ in requests], dtype=float), client_ids, asked_ids, clients, asked),
        origin_s=0.0,
        test_start_s=test_start_s,
        cache=cache,
        warm=warm,
        warn=lambda _: None,
    )


# With alpha = 0.5 a copy that is current at t lives for half of the time since the last update, here 100 at first.
UPDATES = [(100.0, "a"), (260.0, "a"), (500.0, "a")]
REQUESTS = [
    (200.0, "x", "a"),  # a miss; the copy lives until 250
    (249.0, "x", "a"),  # a hit
    (250.0, "x", "a"),  # a validation, unnecessary; until 250 + 75
    (260.0, "y", "a"),  # the first of another client; the update at this instant comes first, so until 260
    (300.0, "x", "a"),  # a hit, stale since 260
    (325.0, "x", "a"),  # a validation that finds the update; until 325 + 32.5
    (500.0, "x", "a"),  # a validation that finds the update at this instant; until 500
    (500.0, "x", "a"),  # a validation, unnecessary
]


def test_with_a_cache_for_each_client_as_worked_by_hand() -> None:
    counts = replay(scenario(UPDATES, REQUESTS, Cache.CLIENT), parse_spec("ttl:alpha=0.5"))
    assert counts == Counts(misses=2, hits=2, stale_hits=1, validations=4, unnecessary=2)


def test_with_one_cache_as_worked_by_hand() -> None:
    # At 260 it is a hit, stale at this very instant.
    counts = replay(scenario(UPDATES, REQUESTS, Cache.SHARED), parse_spec("ttl:alpha=0.5"))
    assert counts == Counts(misses=1, hits=3, stale_hits=2, validations=4, unnecessary=2)


def test_updates_of_other_objects_make_nothing_stale() -> None:
    requests = [(200.0, "x", "a"), (249.0, "x", "a")]
    counts = replay(scenario([(100.0, "a"), (201.0, "b")], requests, Cache.CLIENT), parse_spec("ttl:alpha=0.5"))
    assert counts == Counts(misses=1, hits=1, stale_hits=0, validations=0, unnecessary=0)


def test_an_object_that_never_changed_is_never_validated_by_its_history() -> None:
    requests = [(200.0, "x", "a"), (1e9, "x", "a")]
    counts = replay(scenario([], requests, Cache.CLIENT), parse_spec("indhist"))
    assert counts == Counts(misses=1, hits=1, stale_hits=0, validations=0, unnecessary=0)


def test_a_policy_that_needs_outcomes_gets_them_with_the_state_of_the_copy() -> None:
    # Of x the intervals are 10, 20 (at 110 unchanged), 10 (at 130 changed), so that 139 is a hit and 140 none. The copy
    # of y has an interval of its own, and that of b too.
    requests = [
        (100.0, "x", "a"), (110.0, "x", "a"), (120.0, "y", "a"), (129.0, "x", "a"), (129.0, "y", "a"),
        (130.0, "x", "a"), (131.0, "x", "b"), (139.0, "x", "a"), (140.0, "x", "b"), (140.0, "x", "a"),
    ]
    policy = parse_spec("aimd:min=10,step=10,max=1000")
    counts = replay_objects(scenario([(120.0, "a")], requests, Cache.CLIENT), policy)
    assert counts == {
        "a": Counts(misses=2, hits=3, stale_hits=1, validations=3, unnecessary=2),
        "b": Counts(misses=1, hits=1, stale_hits=0, validations=0, unnecessary=0),
    }


# To an observer who asked at 100, 200 and 300 the updates at 210 and 290 are one.
OBSERVED_UPDATES = [(150.0, "a"), (210.0, "a"), (290.0, "a")]
OBSERVED_REQUESTS = [(t, "x", "a") for t in (100.0, 200.0, 300.0, 750.0, 1000.0, 1200.0)]


@pytest.mark.parametrize(
    ("warm", "counts"),
    [
        (None, Counts(misses=1, hits=1, stale_hits=0, validations=2, unnecessary=2)),  # 400 s: until 700, 1150
        (Warm.COMPLETE, Counts(misses=1, hits=1, stale_hits=0, validations=2, unnecessary=2)),
        (Warm.CONTACTS, Counts(misses=1, hits=2, stale_hits=0, validations=1, unnecessary=1)),  # 600 s: until 900, 1600
        (Warm.NONE, Counts(misses=1, hits=3, stale_hits=0, validations=0, unnecessary=0)),  # until 1300
    ],
)
def test_an_observer_knows_what_its_contacts_showed(warm: Warm | None, counts: Counts) -> None:
    policy = parse_spec("miniflux:factor=504,min=1,max=1000")  # 1200 s / n
    assert replay(scenario(OBSERVED_UPDATES, OBSERVED_REQUESTS, Cache.SHARED, warm, 300.0), policy) == counts


events = st.tuples(
    st.lists(st.tuples(st.integers(0, 9 * DAY), st.sampled_from("abc")), max_size=40),
    st.lists(st.tuples(st.integers(0, 9 * DAY), st.sampled_from("xy"), st.sampled_from("abcd")), max_size=40),
)


Trace = tuple[list[tuple[float, str]], list[tuple[float, str, str]]]
warms = st.sampled_from([None, *Warm])


@given(events, st.sampled_from(sorted(POLICIES)), st.sampled_from(Cache), warms)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_what_is_counted_adds_up(trace: Trace, name: str, cache: Cache, warm: Warm | None) -> None:
    updates, requests = trace
    counts = replay(scenario(updates, requests, cache, warm), parse_spec(name))
    assert counts.requests == len(requests)
    assert counts.hits + counts.validations == counts.cached
    assert counts.misses == len({(cache.partition_of(client), name) for _, client, name in requests})
    assert 0 <= counts.stale_hits <= counts.hits
    assert 0 <= counts.unnecessary <= counts.validations


@given(events, st.sampled_from(sorted(POLICIES)), st.sampled_from(Cache), warms)
@settings(max_examples=100, derandomize=True, deadline=None)
def test_no_policy_passes_the_bounds(trace: Trace, name: str, cache: Cache, warm: Warm | None) -> None:
    replayed = scenario(*trace, cache, warm)
    oracle, always, never, other = (replay(replayed, parse_spec(p)) for p in ("oracle", "always", "never", name))
    assert (oracle.stale_hits, oracle.unnecessary) == (0, 0)
    assert (always.hits, always.validations) == (0, other.cached)
    assert (never.validations, never.hits) == (0, other.cached)
    assert other.stale_hits <= never.stale_hits
    # As long as nothing stale is served, each change that a request meets costs a validation.
    if other.stale_hits == 0:
        assert other.validations >= oracle.validations


@given(events, st.sampled_from(["fixed", "aimd", "stormcrawler", "oracle"]), st.sampled_from(Cache))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_who_looks_at_no_history_does_the_same_whatever_is_known(trace: Trace, name: str, cache: Cache) -> None:
    policy = parse_spec(name)
    counts = [replay(scenario(*trace, cache, warm, 2.0 * DAY), policy) for warm in (None, *Warm)]
    assert counts.count(counts[0]) == len(counts)


def test_requests_are_passed_to_observers() -> None:
    seen: list[float] = []

    def watch(rows: Iterable[tuple[float, str, str]]) -> Iterable[tuple[float, str, str]]:
        for row in rows:
            seen.append(row[0])
            yield row

    replay(scenario(UPDATES, REQUESTS, Cache.SHARED), parse_spec("ttl"), watch)
    assert seen == [t for t, *_ in REQUESTS]


@dataclass
class Exact:
    """The policies once more: rational numbers, no closed form, one segment after another. Whole seconds only."""

    times: dict[str, list[int]]
    origin: int

    def counts(self, names: Iterable[str], until: int) -> list[int]:
        bins = [0] * 24
        for name in names:
            for u in self.times[name]:
                if u <= until:
                    bins[u // HOUR % 24] += 1
        return bins

    def rates(self, counts: list[int], until: int, share: Fraction = Fraction(1)) -> list[Fraction]:
        """Per second."""
        edges = [self.origin, *range(self.origin - self.origin % HOUR + HOUR, until, HOUR), until]
        seconds = [0] * 24
        for a, b in pairwise(edges):
            seconds[a // HOUR % 24] += b - a
        return [share * n / s if s else Fraction(0) for n, s in zip(counts, seconds, strict=True)]

    def passage(self, rates: list[Fraction], t: int, theta: Fraction) -> Fraction | float:
        if not any(rates):
            return math.inf
        needed = theta * (1 - Fraction(1, 10**9))
        at = Fraction(t)
        while True:
            rate, end = rates[int(at // HOUR) % 24], (at // HOUR + 1) * HOUR
            if rate * (end - at) >= needed:
                return at + needed / rate
            needed -= rate * (end - at)
            at = Fraction(end)

    def ttl(self, name: str, t: int) -> Fraction | float:
        last = max((u for u in self.times[name] if u <= t), default=self.origin)
        return t + Fraction(t - last) / 5

    def indhist(self, name: str, t: int) -> Fraction | float:
        return self.passage(self.rates(self.counts([name], t), t), t, Fraction(1, 5))

    def agghist(self, name: str, t: int) -> Fraction | float:
        own, group = self.counts([name], t), self.counts(self.times, t)
        share = Fraction(sum(own), sum(group)) if sum(group) else Fraction(0)
        return self.passage(self.rates(group, t, share), t, Fraction(1, 5))

    def indagg(self, name: str, t: int) -> Fraction | float:
        own = self.counts([name], t)
        scattered = sum(own) == 0 or Fraction(24 - own.count(0), sum(own)) > Fraction(1, 2)
        return self.agghist(name, t) if scattered else self.indhist(name, t)

    def indttl(self, name: str, t: int) -> Fraction | float:
        seen = sum(self.counts([name], t)) - sum(self.counts([name], t - DAY))
        expected = Fraction(0)
        if t - DAY > self.origin:  # a window of one day holds each bin once
            expected = sum(self.rates(self.counts([name], t - DAY), t - DAY), Fraction(0)) * HOUR
        burst = seen >= 2 * expected if expected else seen > 0
        return self.ttl(name, t) if burst else self.indhist(name, t)

    def replay(
        self, requests: Iterable[tuple[float, str, str]], expiry: Callable[[str, int], Fraction | float]
    ) -> Counts:
        outcomes = {"miss": 0, "hit": 0, "stale": 0, "validation": 0, "unnecessary": 0}
        copies: dict[str, tuple[int, Fraction | float]] = {}
        for time_s, _, name in requests:
            r = int(time_s)
            current, expires = copies.get(name, (None, None))
            if current is None or expires is None:
                outcomes["miss"] += 1
            else:
                changed = any(current < u <= r for u in self.times[name])
                outcomes["hit" if r < expires else "validation"] += 1
                if r < expires:
                    outcomes["stale"] += changed
                    continue
                outcomes["unnecessary"] += not changed
            copies[name] = (r, expiry(name, r))
        return Counts(*outcomes.values())


@pytest.fixture(scope="module")
def excerpt(data: Path) -> tuple[Updates, Requests]:
    updates = read_updates(data / "excerpt.updates.csv", no_warning)
    return updates, read_requests(data / "excerpt.requests.csv.gz", no_warning)


@pytest.mark.parametrize("name", ["ttl", "indhist", "agghist", "indagg", "indttl"])
def test_a_real_excerpt_counts_as_in_exact_arithmetic(name: str, excerpt: tuple[Updates, Requests]) -> None:
    updates, requests = excerpt
    replayed = Scenario.of(
        updates, requests, origin_s=EXCERPT_ORIGIN_S, test_start_s=EXCERPT_TEST_START_S, cache=Cache.SHARED,
        warn=no_warning,
    )
    times = {object_: [int(u) for u in t.tolist()] for object_, t in updates.times_by_object().items()}
    exact = Exact(times, int(EXCERPT_ORIGIN_S))
    keys = [key for key in ("theta", "alpha") if hasattr(POLICIES[name](), key)]
    policy = parse_spec(f"{name}:" + ",".join(f"{key}=0.2" for key in keys))
    assert replay(replayed, policy) == exact.replay(replayed.requests.rows(), getattr(exact, name))


def pinned(
    golden: Path, file: str, updates: Updates, requests: Requests
) -> Iterable[tuple[str, Counts, dict[str, int]]]:
    expected = json.loads((golden / file).read_text())
    for cache in Cache:
        replayed = Scenario.of(
            updates, requests, origin_s=expected["origin_s"], test_start_s=expected["test_start_s"], cache=cache,
            warn=no_warning,
        )
        for spec, counts in expected[cache].items():
            yield f"{cache} {spec}", replay(replayed, parse_spec(spec)), counts


def test_the_excerpt_has_its_pinned_counts(golden: Path, excerpt: tuple[Updates, Requests]) -> None:
    for which, counts, expected in pinned(golden, "excerpt_counts.json", *excerpt):
        assert (which, counts.by_name()) == (which, expected)


@pytest.mark.parametrize("warm", Warm)
def test_the_excerpt_has_its_pinned_counts_where_histories_are_observed(
    warm: Warm, golden: Path, excerpt: tuple[Updates, Requests]
) -> None:
    expected = json.loads((golden / "excerpt_observed_counts.json").read_text())
    replayed = Scenario.of(
        *excerpt, origin_s=expected["origin_s"], test_start_s=expected["test_start_s"], cache=Cache.SHARED, warm=warm,
        warn=no_warning,
    )
    for spec, counts in expected[warm].items():
        assert (spec, replay(replayed, parse_spec(spec)).by_name()) == (spec, counts)


@pytest.mark.long  # the excerpt holds this engine to pinned counts, and the paired trace the others
def test_the_paired_trace_has_the_reference_counts(traces: Path, golden: Path) -> None:
    updates = read_updates(traces / "paired" / "dev.updates.csv.gz", no_warning)
    requests = read_requests(traces / "paired" / "dev.requests.csv.gz", no_warning)
    rows = 0
    for which, counts, expected in pinned(golden, "paired_counts.json", updates, requests):
        assert (which, {name: counts.by_name()[name] for name in expected}) == (which, expected)
        rows += 1
    assert rows == 12
