"""The fast engine: what it does grows with the contacts, not with the requests, and is spread over processor cores.

It replays what `plain` replays, with the same counts. Requests are sorted once into streams, one for each object and
cache; a kernel then jumps from each contact to the first request that is not before the expiry.
"""

import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.validation.machinery.policy import Needs, Policy
from bestbefore.replay.cores import CORES, START_METHOD, evaluating
from bestbefore.replay.counts import Counts
from bestbefore.replay.kernels import vectorised
from bestbefore.replay.kernels.histories import Histories
from bestbefore.replay.kernels.rule import Rule, rule_of
from bestbefore.replay.kernels.streams import Streams
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.watching import Bar, Watch, no_bar


@dataclass(frozen=True, slots=True)
class Kernel:
    """What replays streams."""

    replay: Callable[..., int]
    """As `kernels.walk.replay`, without its last argument."""
    requests_each: int
    """About how many requests it is best given at a time."""
    keeps_lock: bool = False
    """Whether it keeps the interpreter's lock most of the time, so that threads would wait for each other."""


VECTORISED = Kernel(vectorised.replay, 1 << 23, keeps_lock=True)
"""The more streams it is given together the faster it is."""
COMPILED_FROM = 1_000_000
"""The requests, over all policies, from which on it is worth loading numba, and once for all compiling with it."""
COMPILED_EACH = 1 << 20
FEWEST_EACH = 1 << 16
"""Requests that are worth a thread."""
STREAMS_EACH = 1 << 16
"""At most so many are followed together, as each takes memory."""
COLUMNS = 5
NO_DECISIONS = np.empty((0, 2))


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Why this engine cannot replay the scenario under the policy; None if it can."""
    if scenario.warmup is not None and policy.needs is not Needs.FUTURE:
        return "what is observed depends on the contacts before"
    return None if rule_of(policy) else f"no kernel knows {policy.name} with these parameters"


def kernel_for(requests: int) -> Kernel:
    """The fastest kernel there is for so many requests."""
    if requests < COMPILED_FROM:
        return VECTORISED
    try:
        from bestbefore.replay.kernels import compiled
    except ImportError:
        return VECTORISED
    return Kernel(compiled.replay, COMPILED_EACH)


class FastReplay:
    """A scenario laid out for a kernel, to be replayed under any number of policies."""

    def __init__(self, scenario: Scenario, bar: Bar = no_bar, kernel: Kernel | None = None) -> None:
        """Sort the requests. Raises OSError if they are too many to do so in memory, and there is no room on disk."""
        self._scenario = scenario
        self._bar = bar
        self._given = kernel
        self._kernel = kernel or kernel_for(len(scenario.requests))
        self._streams = Streams.of(scenario.requests, scenario.cache, bar)

    @property
    def items(self) -> int:
        """How many items pass whoever watches a replay."""
        return len(self._shares)

    @property
    def _shares(self) -> Sequence[tuple[int, int]]:
        """Ranges of streams that are replayed one after another, or on different cores."""
        requests = len(self._scenario.requests)
        # Two for each core, as neither cores nor requests are equally fast.
        requests_each = min(self._kernel.requests_each, max(requests // (2 * CORES), FEWEST_EACH))
        return self._streams.shares(-(-requests // requests_each), STREAMS_EACH)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Make ready now what replays under these policies need, so that processes forked later share it."""
        self._kernel = self._given or kernel_for(len(self._scenario.requests) * len(policies))
        with self._bar("preparing", len(policies)) as watch:
            for policy in watch(iter(policies)):
                if (rule := rule_of(policy)) is not None:
                    self._count(self._known(rule), rule, (0, 0), by_object=False)

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """As `plain.replay`. Raises ValueError where there is an obstacle."""
        totals = np.zeros(COLUMNS, dtype=np.int64)
        with self._counted(policy, by_object=False) as counted:
            for _, counts in watch(counted):
                totals += counts[0]
        return Counts(*totals.tolist())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
        """As `plain.replay_objects`, for the objects that were requested."""
        objects = self._scenario.requests.objects
        totals = np.zeros((len(objects), COLUMNS), dtype=np.int64)
        with self._counted(policy, by_object=True) as counted:
            for first_object, counts in watch(counted):
                totals[first_object : first_object + len(counts)] += counts
        return {objects[i]: Counts(*totals[i].tolist()) for i in np.flatnonzero(totals.any(axis=1)).tolist()}

    @contextmanager
    def _counted(self, policy: Policy, *, by_object: bool) -> Iterator[Iterator[tuple[int, NDArray[np.int64]]]]:
        """What `_count` gives for each share, over the cores while the context lasts.

        Raises OSError if a process ends before its work.
        """
        why = obstacle(self._scenario, policy)
        rule = rule_of(policy)
        if rule is None or why is not None:
            raise ValueError(why)
        count = partial(self._count, self._known(rule), rule, by_object=by_object)
        if multiprocessing.parent_process() is not None:  # one of several, each of which has a core
            yield map(count, self._shares)
        elif self._kernel.keeps_lock and START_METHOD == "fork":  # elsewhere each would get the trace pickled
            try:
                with evaluating(count, self._shares, CORES) as counted:
                    yield (counts for _, counts in counted)
            except BrokenProcessPool:
                raise OSError("a process ended before its work: perhaps the memory is too small") from None
        else:
            pool = ThreadPoolExecutor(CORES)
            try:
                yield pool.map(count, self._shares)
            finally:
                pool.shutdown(cancel_futures=True)

    def _count(
        self, known: Histories, rule: Rule, share: tuple[int, int], *, by_object: bool
    ) -> tuple[int, NDArray[np.int64]]:
        """The id of the first object of a share, and the counts of each from it on, or of all together."""
        streams = self._streams
        begin, end = share
        ids = streams.object_ids[begin:end]
        first_object = int(ids[0]) if len(ids) else 0
        rows = int(ids[-1]) - first_object + 1 if by_object else 1
        counts = np.zeros((rows, COLUMNS), dtype=np.int64)
        self._kernel.replay(
            streams.times_s, streams.firsts, streams.object_ids, begin, end, known, rule, counts, NO_DECISIONS
        )
        return first_object, counts

    def _known(self, rule: Rule) -> Histories:
        return self._grouped if rule.needs_groups else self._ungrouped

    @cached_property
    def _ungrouped(self) -> Histories:
        scenario = self._scenario
        return Histories.of(scenario.updates, scenario.requests, scenario.origin_s)

    @cached_property
    def _grouped(self) -> Histories:
        scenario = self._scenario
        return self._ungrouped.grouped(scenario.updates, scenario.requests, scenario.grouping)
