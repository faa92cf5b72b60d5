"""The fast engine where histories are observed: compiled, or at least over plain lists, and request by request.

What one cache learns all others know, and what is learnt of an object all of its group: so requests are taken in order
of time. One that finds its copy fresh costs a comparison; what is learnt at a contact is put into arrays.
"""

import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.models.history import FloatArray
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.cores import CORES
from bestbefore.replay.counts import Counts
from bestbefore.replay.kernels import interpreted_observed
from bestbefore.replay.kernels.learning import Learnt
from bestbefore.replay.kernels.observed import COUNTING, Copies
from bestbefore.replay.kernels.rule import Rule, rule_of
from bestbefore.replay.kernels.stream_ids import stream_ids
from bestbefore.replay.kernels.truth import Truth
from bestbefore.replay.observed import Warm
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.traces.columns import ROWS_AT_ONCE, IdArray, Requests
from bestbefore.replay.watching import Bar, Watch, no_bar


class Kernel(NamedTuple):
    """The functions of one of `kernels.interpreted_observed` and `kernels.compiled_observed`."""

    replay: Callable[..., int]
    learn_all: Callable[..., None]
    tell_all: Callable[..., None]
    cores: int = 1
    """How many can replay at a time."""


INTERPRETED = Kernel(interpreted_observed.replay, interpreted_observed.learn_all, interpreted_observed.tell_all)
COMPILED_FROM = 300_000
"""The requests, over all policies, from which on it is worth loading numba, and once for all compiling with it."""
COLUMNS = 5
NO_DECISIONS = np.empty((0, 2))


def obstacle(policy: Policy) -> str | None:
    """Why this engine cannot replay a scenario with observed histories under the policy; None if it can."""
    return None if rule_of(policy) else f"no kernel knows {policy.name} with these parameters"


def kernel_for(requests: int) -> Kernel:
    """The fastest kernel there is for so many requests."""
    if requests < COMPILED_FROM:
        return INTERPRETED
    try:
        from bestbefore.replay.kernels import compiled_observed
    except ImportError:
        return INTERPRETED
    return Kernel(compiled_observed.replay, compiled_observed.learn_all, compiled_observed.tell_all, CORES)


class FastObservedReplay:
    """A scenario with observed histories laid out for a kernel, to be replayed under any number of policies."""

    def __init__(self, scenario: Scenario, bar: Bar = no_bar, kernel: Kernel | None = None) -> None:
        self._scenario = scenario
        self._bar = bar
        self._given = kernel
        self._kernel = kernel or kernel_for(self._before + len(scenario.requests))

    @property
    def items(self) -> int:
        """How many items pass whoever watches a replay."""
        return _number_of_chunks(self._scenario.requests)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Make ready now what replays under these policies need, so that processes forked later share it."""
        self._kernel = self._given or kernel_for(self._before + len(self._scenario.requests) * len(policies))
        for policy in policies[:1]:  # all others are compiled with it
            self._pass(policy, _no_counts(1), iter, self._scenario.requests.before(-math.inf))

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """As `plain.replay`. Raises ValueError where there is an obstacle."""
        counts = _no_counts(1)
        self._pass(policy, counts, watch, self._scenario.requests)
        return Counts(*counts[0].tolist())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
        """As `plain.replay_objects`, for the objects that were requested."""
        objects = self._scenario.requests.objects
        counts = _no_counts(len(objects))
        self._pass(policy, counts, watch, self._scenario.requests)
        return {objects[i]: Counts(*counts[i].tolist()) for i in np.flatnonzero(counts.any(axis=1)).tolist()}

    def _pass(self, policy: Policy, counts: NDArray[np.int64], watch: Watch, requests: Requests) -> None:
        """Replay requests of the scenario from the first on, and add to the counts of all or of each object."""
        rule = rule_of(policy)
        if rule is None:
            raise ValueError(obstacle(policy))
        streams, n = self._streams
        copies = Copies.none(n, rule)
        learnt = self._at_test_start.copy(counts=rule.kind in COUNTING, counts_groups=rule.needs_groups)
        part_of = self._parts(rule)
        parts = int(part_of.max(initial=0)) + 1
        # The parts have no object in common, and so no row but that of all.
        counted = [counts, *(counts if len(counts) > 1 else np.zeros_like(counts) for _ in range(1, parts))]

        def replay(part: int, times_s: FloatArray, object_ids: IdArray, stream_ids: IdArray) -> None:
            if parts > 1:
                own = np.flatnonzero(part_of[object_ids] == part)
                times_s, object_ids, stream_ids = times_s[own], object_ids[own], stream_ids[own]
            self._kernel.replay(
                times_s, object_ids, stream_ids, copies, self._truth, learnt, rule, counted[part], NO_DECISIONS
            )

        with ThreadPoolExecutor(parts) as pool:
            for times_s, object_ids, rows in watch(_chunks(requests)):
                given = repeat(times_s), repeat(object_ids), repeat(np.array(streams[rows]))
                list(pool.map(replay, range(parts), *given))
        if len(counts) == 1:
            counts[:] = sum(counted)

    def _parts(self, rule: Rule) -> NDArray[np.int64]:
        """(objects,) the part of each, from 0 on: no part learns anything that another asks for."""
        group_of = self._truth.group_of.astype(np.int64)
        cores = 1 if multiprocessing.parent_process() is not None else self._kernel.cores  # of processes each has one
        return (group_of if rule.needs_groups else np.arange(len(group_of))) % cores

    @property
    def _before(self) -> int:
        """How many requests must be learnt from first."""
        before = self._scenario.contacts_before
        return 0 if before is None else len(before)

    @cached_property
    def _streams(self) -> tuple[IdArray, int]:
        return stream_ids(self._scenario.requests, self._scenario.cache)

    @cached_property
    def _objects(self) -> tuple[str, ...]:
        """Those that requests number, and after them all others that were updated."""
        asked = self._scenario.requests.objects
        return *asked, *sorted(set(self._scenario.updates.objects) - set(asked))

    @cached_property
    def _truth(self) -> Truth:
        return Truth.of(self._scenario.updates, self._objects, self._scenario.grouping)

    @cached_property
    def _at_test_start(self) -> Learnt:
        """As `ObservedHistories.at_test_start`."""
        learnt = Learnt.nothing(self._truth)
        warmup = self._scenario.warmup
        if warmup is not None and warmup.warm is Warm.CONTACTS:
            with self._bar("learning", _number_of_chunks(warmup.requests)) as watch:
                for times_s, object_ids, _ in watch(_chunks(warmup.requests)):
                    self._kernel.learn_all(self._truth, learnt, times_s, object_ids)
        if warmup is not None and warmup.warm is Warm.COMPLETE:
            there = set(self._scenario.objects)
            told = np.array([i for i, name in enumerate(self._objects) if name in there], dtype=np.int32)
            self._kernel.tell_all(self._truth, learnt, told, self._scenario.origin_s, warmup.test_start_s)
        return learnt


def _no_counts(rows: int) -> NDArray[np.int64]:
    return np.zeros((rows, COLUMNS), dtype=np.int64)


def _number_of_chunks(requests: Requests) -> int:
    """One at least, so that something is compiled even where there is no request."""
    return max(math.ceil(len(requests) / ROWS_AT_ONCE), 1)


def _chunks(requests: Requests) -> Iterator[tuple[FloatArray, IdArray, slice]]:
    """The times and objects of requests, so many at a time that columns may be mapped from files, and which these are.

    They are copied: for numba what cannot be written to, or has gaps, is another type, for which it compiles again.
    """
    for chunk in range(_number_of_chunks(requests)):
        rows = slice(chunk * ROWS_AT_ONCE, (chunk + 1) * ROWS_AT_ONCE)
        yield np.array(requests.times_s[rows]), np.array(requests.object_ids[rows]), rows
