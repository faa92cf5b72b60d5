"""The fast engine: what it does grows with the contacts, not with the requests, and is spread over processor cores.

It replays what `plain` replays, with the same counts. Requests are sorted once into streams, one for each object and
cache; a kernel then jumps from each contact to the first request that is not before the expiry.
"""

import multiprocessing
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bestbefore.policies.validation.machinery.features import ByBin, Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.kernels import walk
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.streams import Streams
from bestbefore.replay.kernels.rule import AnyRule, looks_at_groups, rule_of
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.cores import CORES
from bestbefore.replay.sweeps.watching import Bar, Watch, no_bar

COMPILED_FROM = 200_000
"""The requests, over all that are replayed under one policy with some parameters or others, from which on it is worth
loading numba, and once compiling with it."""
MOST_EACH = 1 << 20
"""Requests that are replayed at a time."""
FEWEST_EACH = 1 << 16
"""Requests that are worth a thread."""
STREAMS_EACH = 1 << 16
"""At most so many are followed together, as each takes memory."""
COLUMNS = 5
NO_DECISIONS = np.empty((0, 2))


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Return why this engine cannot replay the scenario under the policy; None if it can.

    Where it is worth compiling for the scenario, that is tried here.
    """
    if scenario.warmup is not None and Needs.FUTURE not in policy.needs:
        return "what is observed depends on the contacts before"
    rule = rule_of(policy)
    if rule is None:
        return f"{policy.name} is not a function of features"
    return None if len(scenario.requests) < COMPILED_FROM else compiling_obstacle(rule)


def compiling_obstacle(rule: AnyRule) -> str | None:
    """Compile for a rule; return why it cannot be compiled, None if it is."""
    from bestbefore.replay.kernels import compiled

    return compiled.obstacle(rule)


class Compiling:
    """The choice for which policies it is worth compiling."""

    def __init__(
        self, requests: int, obstacle: Callable[[AnyRule], str | None], wanted: bool | None = None
    ) -> None:
        """`obstacle` says why a rule cannot be compiled. `wanted`: for all, or for none, however many requests."""
        self._requests = requests
        self._obstacle = obstacle
        self._wanted = wanted
        self._expected: set[type[Any]] = set()

    def expect(self, policies: Iterable[Policy]) -> None:
        """Announce policies that will be replayed, each on its own."""
        rules = [rule for rule in map(rule_of, policies) if rule is not None]
        times = Counter(type(rule.own) for rule in rules)
        worth = [rule for rule in rules if times[type(rule.own)] * self._requests >= COMPILED_FROM]
        self._expected |= {type(rule.own) for rule in worth if self._wanted or self._obstacle(rule) is None}

    def of(self, rule: AnyRule) -> bool:
        """Whether the policy of this rule is compiled."""
        if self._wanted is not None:
            return self._wanted
        return self._requests >= COMPILED_FROM or type(rule.own) in self._expected


def loop(rule: AnyRule, *, compiles: bool) -> tuple[Callable[..., int], AnyRule]:
    """`walk.replay` without its last argument, and the rule as it takes it."""
    if compiles:
        from bestbefore.replay.kernels import compiled

        return compiled.replay, compiled.prepared(rule)
    return partial(walk.replay, by_bin=ByBin.of_lists()), rule


class FastReplay:
    """A scenario laid out for a kernel, to be replayed under any number of policies."""

    def __init__(self, scenario: Scenario, bar: Bar = no_bar, *, compiles: bool | None = None) -> None:
        """Sort the requests. Raises OSError if they are too many to do so in memory, and there is no room on disk.

        What replays is compiled if there are enough requests, or as `compiles` says; else it runs as it stands.
        """
        self._scenario = scenario
        self._bar = bar
        self._compiling = Compiling(len(scenario.requests), compiling_obstacle, compiles)
        self._streams = Streams.of(scenario.requests, scenario.cache, bar)

    @property
    def items(self) -> int:
        """Return how many items are passed to the progress bar."""
        return len(self._shares)

    @property
    def _shares(self) -> Sequence[tuple[int, int]]:
        """Ranges of streams that are replayed one after another, or on different cores."""
        requests = len(self._scenario.requests)
        # Two for each core, as neither cores nor requests are equally fast.
        requests_each = min(MOST_EACH, max(requests // (2 * CORES), FEWEST_EACH))
        return self._streams.shares(-(-requests // requests_each), STREAMS_EACH)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Make ready now what replays under these policies need, so that processes forked later share it."""
        self._compiling.expect(policies)
        with self._bar("preparing", len(policies)) as watch:
            for policy in watch(iter(policies)):
                if (rule := rule_of(policy)) is not None:
                    self._count(self._known(rule), rule, (0, 0), by_object=False)

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """Return the counts, as `plain.replay` does. Raises ValueError where there is an obstacle."""
        totals = np.zeros(COLUMNS, dtype=np.int64)
        with self._counted(policy, by_object=False) as counted:
            for _, counts in watch(counted):
                totals += counts[0]
        return Counts(*totals.tolist())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
        """Return the counts, as `plain.replay_objects` does, for the objects that were requested."""
        objects = self._scenario.requests.objects
        totals = np.zeros((len(objects), COLUMNS), dtype=np.int64)
        with self._counted(policy, by_object=True) as counted:
            for first_object, counts in watch(counted):
                totals[first_object : first_object + len(counts)] += counts
        return {objects[i]: Counts(*totals[i].tolist()) for i in np.flatnonzero(totals.any(axis=1)).tolist()}

    @contextmanager
    def _counted(self, policy: Policy, *, by_object: bool) -> Iterator[Iterator[tuple[int, NDArray[np.int64]]]]:
        """Yield the results of `_count` for each share, over the cores while the context lasts."""
        why = obstacle(self._scenario, policy)
        rule = rule_of(policy)
        if rule is None or why is not None:
            raise ValueError(why)
        count = partial(self._count, self._known(rule), rule, by_object=by_object)
        if multiprocessing.parent_process() is not None or not self._compiling.of(rule):
            yield map(count, self._shares)  # one of several processes has one core; interpreted, threads would wait
            return
        pool = ThreadPoolExecutor(CORES)
        try:
            yield pool.map(count, self._shares)
        finally:
            pool.shutdown(cancel_futures=True)

    def _count(
        self, known: PackedHistories, rule: AnyRule, share: tuple[int, int], *, by_object: bool
    ) -> tuple[int, NDArray[np.int64]]:
        """The id of the first object of a share, and the counts of each from it on, or of all together."""
        streams = self._streams
        begin, end = share
        ids = streams.object_ids[begin:end]
        first_object = int(ids[0]) if len(ids) else 0
        rows = int(ids[-1]) - first_object + 1 if by_object else 1
        counts = np.zeros((rows, COLUMNS), dtype=np.int64)
        replay, rule = loop(rule, compiles=self._compiling.of(rule))
        replay(streams.times_s, streams.firsts, streams.object_ids, begin, end, known, rule, counts, NO_DECISIONS)
        return first_object, counts

    def _known(self, rule: AnyRule) -> PackedHistories:
        return self._grouped if looks_at_groups(rule) else self._ungrouped

    @cached_property
    def _ungrouped(self) -> PackedHistories:
        scenario = self._scenario
        return PackedHistories.of(scenario.updates, scenario.requests, scenario.origin_s)

    @cached_property
    def _grouped(self) -> PackedHistories:
        scenario = self._scenario
        return self._ungrouped.grouped(scenario.updates, scenario.requests, scenario.grouping)
