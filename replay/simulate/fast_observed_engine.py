"""The fast engine in order of time: for observed histories, and for complete ones with siblings or a stale rate.

All caches share what contacts observe, what is known of siblings, and the control of a price, so requests cannot be
reordered. A request that finds its copy fresh costs one comparison; what is known is kept in arrays.
"""

import math
import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.features import ByBin, Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.policies.validation.siblings.siblings import NAMES_KEPT
from bestbefore.replay.kernels import learning, observed, siblings
from bestbefore.replay.kernels.arrays.earlier_demand import earlier_demand
from bestbefore.replay.kernels.arrays.memories import no_demand
from bestbefore.replay.kernels.arrays.stream_codes import codes_of
from bestbefore.replay.kernels.arrays.stream_ids import stream_ids
from bestbefore.replay.kernels.arrays.truth import Truth
from bestbefore.replay.kernels.controlled import Controlled, Uncontrolled
from bestbefore.replay.kernels.known import Known, KnownByContacts, KnownCompletely
from bestbefore.replay.kernels.learning import LearntColumns
from bestbefore.replay.kernels.observed import CopyColumns
from bestbefore.replay.kernels.rule import AnyRule, looks_at_counts, looks_at_groups, remembers, rule_of, shares_groups
from bestbefore.replay.kernels.siblings import SiblingColumns
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.fast_engine import (
    COLUMNS,
    COMPILED_FROM,
    NO_DECISIONS,
    Compiling,
    PackedScenario,
    counting,
)
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.sweeps.parallel import CORES
from bestbefore.replay.sweeps.progress import Bar, Watch, no_bar
from bestbefore.replay.traces.columns.columns import ROWS_AT_ONCE, IdArray, Requests


class Loops(NamedTuple):
    """The loops of the kernels, compiled or as plain Python."""

    replay: Callable[..., int]
    """`observed.replay` with its last two arguments bound."""
    prepared: Callable[[AnyRule], AnyRule]
    """Converts a rule into the form that `replay` takes."""
    learn_all: Callable[..., None]
    """`learning.learn_all`."""
    report_all: Callable[..., None]
    """`learning.report_all`."""
    contact_sites: Callable[..., None]
    """`siblings.contact_sites`."""
    cores: int
    """The number of threads that can replay at the same time."""


def loops(*, compiles: bool) -> Loops:
    """Return the loops of `kernels.observed` and `kernels.learning`, compiled or not."""
    if not compiles:
        return Loops(
            partial(observed.replay, by_bin=ByBin.of_lists(), late=[0] * observed.BLOCK),
            lambda rule: rule,
            learning.learn_all,
            learning.report_all,
            siblings.contact_sites,
            1,
        )
    from bestbefore.replay.kernels import compiled

    return Loops(
        compiled.replay_observed,
        compiled.prepared,
        compiled.learn_all,
        compiled.report_all,
        compiled.contact_sites,
        CORES,
    )


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Return the reason why this engine cannot replay the scenario under the policy; None if it can.

    If the scenario is large enough for compilation, the policy is compiled here to find out.
    """
    rule = rule_of(policy)
    if rule is None:
        return f"{policy.name} is not a function of features"
    if policy.siblings < 1.0 and _largest_site(scenario) > NAMES_KEPT:
        return f"it validates because of siblings, and a group has more than {NAMES_KEPT:,} objects"
    return None if _requests(scenario) < COMPILED_FROM else compiling_obstacle(scenario, rule)


def _largest_site(scenario: Scenario) -> int:
    """Return the number of objects of the largest group."""
    return max(Counter(map(scenario.grouping.group_of, scenario.objects)).values(), default=0)


def compiling_obstacle(scenario: Scenario, rule: AnyRule) -> str | None:
    """Compile the policy of a rule; return the reason why that is impossible, None if it is compiled."""
    from bestbefore.replay.kernels import compiled

    return compiled.obstacle_observed(rule) if _learns(scenario, rule) else compiled.obstacle_in_order(rule)


def _learns(scenario: Scenario, rule: AnyRule) -> bool:
    """Whether histories are learnt from contacts."""
    return scenario.warmup is not None and Needs.FUTURE not in rule.own.needs


def _requests(scenario: Scenario) -> int:
    """Return the number of requests, including those before the test start that are learnt from."""
    before = scenario.contacts_before
    return len(scenario.requests) + (0 if before is None else len(before))


class FastObservedReplay:
    """The replay of one scenario, in order of time, under any number of policies."""

    def __init__(self, scenario: Scenario, bar: Bar = no_bar, *, compiles: bool | None = None) -> None:
        """Take a scenario. The loops are compiled if there are enough requests, or as `compiles` says.

        Otherwise they run as plain Python.
        """
        self._scenario = scenario
        self._bar = bar
        self._compiling = Compiling(_requests(scenario), partial(compiling_obstacle, scenario), compiles, bar)
        self._packed = PackedScenario(scenario)
        self._loops: Callable[..., Loops] = loops

    @property
    def items(self) -> int:
        """Return the number of items that the progress bar counts."""
        return _number_of_chunks(self._scenario.requests)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Prepare replays under these policies, so that processes forked later share the prepared data."""
        self._compiling.expect(policies)
        with self._bar("preparing", len(policies)) as watch:
            for policy in watch(iter(policies)):
                self._pass(policy, _no_counts(1), iter, self._scenario.requests.before(-math.inf))

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """Return the counts; see `plain_engine.replay`. Raises ValueError if there is an obstacle."""
        counts = _no_counts(1)
        self._pass(policy, counts, watch, self._scenario.requests)
        return Counts(*counts[0].tolist())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
        """Return the counts of the requested objects; see `plain_engine.replay_objects`."""
        objects = self._scenario.requests.objects
        counts = _no_counts(len(objects))
        self._pass(policy, counts, watch, self._scenario.requests)
        return {objects[i]: Counts(*counts[i].tolist()) for i in np.flatnonzero(counts.any(axis=1)).tolist()}

    def _pass(self, policy: Policy, counts: NDArray[np.int64], watch: Watch, requests: Requests) -> None:
        """Replay the first requests of the scenario, and add to `counts`, a row for each object or one for all."""
        rule = rule_of(policy)
        if rule is None:
            raise ValueError(obstacle(self._scenario, policy))
        run = self._loops(compiles=self._compiling.of(rule))
        streams, n = self._streams
        copies = CopyColumns.none(n, rule, self._asked.copy() if rule.counts_requests else no_demand(0))
        target, uses_siblings = policy.stale_rate, policy.siblings < 1.0
        follows_time = target > 0.0 or uses_siblings
        known = self._known(rule, counts=looks_at_counts(rule) or follows_time)
        part_of = self._parts(run.cores, by_group=shares_groups(policy))
        control = Controlled.nothing(target, n, len(self._truth.group_firsts) - 1) if target else Uncontrolled()
        sites = self._sites_at_test_start.copy(policy.siblings) if uses_siblings else SiblingColumns.none()
        prepared = run.prepared(rule)
        parts = int(part_of.max(initial=0)) + 1
        # Parts share no objects, so they can share the rows of objects, but not a single row for all objects.
        counted = [counts, *(counts if len(counts) > 1 else np.zeros_like(counts) for _ in range(1, parts))]

        def replay(part: int, times_s: FloatArray, object_ids: IdArray, stream_ids: IdArray) -> None:
            if parts > 1:
                own = np.flatnonzero(part_of[object_ids] == part)
                times_s, object_ids, stream_ids = times_s[own], object_ids[own], stream_ids[own]
            run.replay(
                times_s, object_ids, stream_ids, copies, control, self._truth, known, sites, prepared, counted[part],
                NO_DECISIONS,
            )

        with ThreadPoolExecutor(max(parts - 1, 1)) as pool:
            for times_s, object_ids, rows in watch(_chunks(requests)):
                chunk = times_s, object_ids, np.array(streams[rows])
                others = [pool.submit(replay, part, *chunk) for part in range(1, parts)]
                replay(0, *chunk)  # in this thread: in the main one SIGINT ends a compilation at once
                for other in others:
                    other.result()
        if len(counts) == 1:
            counts[:] = sum(counted)

    def _known(self, rule: AnyRule, *, counts: bool) -> Known:
        """Return what is known at the test start; `counts`: whether updates are counted, beyond knowing the last."""
        if not _learns(self._scenario, rule):
            return KnownCompletely.of(self._packed.of(rule))
        learnt = self._at_test_start.copy(
            counts=counts, counts_groups=looks_at_groups(rule), remembers=remembers(rule)
        )
        return KnownByContacts(self._truth, learnt)

    def _parts(self, cores: int, *, by_group: bool) -> NDArray[np.int64]:
        """(objects,) the part, from 0, of each object; parts share no objects, and no groups if `by_group`."""
        group_of = self._truth.group_of.astype(np.int64)
        cores = 1 if multiprocessing.parent_process() is not None else cores  # a worker process uses one core
        return (group_of if by_group else np.arange(len(group_of))) % cores

    @cached_property
    def _streams(self) -> tuple[IdArray, int]:
        return stream_ids(self._scenario.requests, self._scenario.cache)

    @cached_property
    def _asked(self) -> FloatArray:
        """Return the demand for each stream at the test start."""
        requests, cache, earlier = self._scenario.requests, self._scenario.cache, self._scenario.earlier
        codes = np.arange(len(requests.objects))
        if cache is Cache.CLIENT:
            codes = np.unique(codes_of(requests, cache, slice(None)))
        return earlier_demand(earlier, cache, codes, counting(earlier))

    @cached_property
    def _objects(self) -> tuple[str, ...]:
        """Return all objects: those of the requests with their ids, then the others that were updated."""
        asked = self._scenario.requests.objects
        return *asked, *sorted(set(self._scenario.updates.objects) - set(asked))

    @cached_property
    def _truth(self) -> Truth:
        return Truth.of(self._scenario.updates, self._objects, self._scenario.grouping)

    @cached_property
    def _at_test_start(self) -> LearntColumns:
        """Return the observations up to the test start; see `ObservedHistories.at_test_start`."""
        run = self._loops(compiles=_requests(self._scenario) >= COMPILED_FROM)
        warmup = self._scenario.warmup
        learnt = LearntColumns.nothing(self._truth, tells_times=warmup is None or warmup.tells_times)
        if warmup is not None and warmup.warm is Warm.CONTACTS:
            with self._bar("learning", _number_of_chunks(warmup.requests)) as watch:
                for times_s, object_ids, _ in watch(_chunks(warmup.requests)):
                    run.learn_all(self._truth, learnt, times_s, object_ids)
        if warmup is not None and warmup.warm is Warm.COMPLETE:
            there = set(self._scenario.objects)
            reported = np.array([i for i, name in enumerate(self._objects) if name in there], dtype=np.int32)
            run.report_all(self._truth, learnt, reported, self._scenario.origin_s, warmup.test_start_s)
        return learnt


    @cached_property
    def _sites_at_test_start(self) -> SiblingColumns:
        """Return what is known of siblings at the test start; see `ReplayedSites.at_test_start`."""
        run = self._loops(compiles=_requests(self._scenario) >= COMPILED_FROM)
        warmup, truth = self._scenario.warmup, self._truth
        tells_times = warmup is None or warmup.tells_times
        n_sites, streams = len(truth.group_firsts) - 1, self._streams[1]
        sites = SiblingColumns.nothing(n_sites, truth.group_of, self._objects, streams, tells_times=tells_times)
        if warmup is not None and warmup.warm is Warm.CONTACTS:
            for times_s, object_ids, _ in _chunks(warmup.requests):
                run.contact_sites(sites, truth, times_s, object_ids)
        if warmup is not None and warmup.warm is Warm.COMPLETE:
            there = set(self._scenario.objects)
            sites.contact_s[[name in there for name in self._objects]] = warmup.test_start_s
        return sites


def _no_counts(rows: int) -> NDArray[np.int64]:
    return np.zeros((rows, COLUMNS), dtype=np.int64)


def _number_of_chunks(requests: Requests) -> int:
    """Return the number of chunks, at least one, so that the loop is called, and compiled, without requests too."""
    return max(math.ceil(len(requests) / ROWS_AT_ONCE), 1)


def _chunks(requests: Requests) -> Iterator[tuple[FloatArray, IdArray, slice]]:
    """Yield the times, the object ids and the rows of `ROWS_AT_ONCE` requests at a time.

    The arrays are copies: columns may be mapped from files, and numba would compile again for read-only arrays.
    """
    for chunk in range(_number_of_chunks(requests)):
        rows = slice(chunk * ROWS_AT_ONCE, (chunk + 1) * ROWS_AT_ONCE)
        yield np.array(requests.times_s[rows]), np.array(requests.object_ids[rows]), rows
