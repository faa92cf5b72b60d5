"""The fast engine for complete histories: its cost grows with contacts, not requests, and it uses all processor cores.

It gives the same counts as `plain_engine`. Requests are sorted once into streams, one for each object and cache; a
kernel then jumps from each contact to the first request at or after the expiry.
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

from bestbefore.policies.units import FloatArray
from bestbefore.policies.validation.machinery.features import ByBin, Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.kernels import walk
from bestbefore.replay.kernels.arrays import memories
from bestbefore.replay.kernels.arrays.earlier_demand import earlier_demand
from bestbefore.replay.kernels.arrays.histories import PackedHistories
from bestbefore.replay.kernels.arrays.stream_codes import codes_of
from bestbefore.replay.kernels.arrays.streams import Streams
from bestbefore.replay.kernels.rule import AnyRule, looks_at_groups, remembers, rule_of
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.parallel import CORES
from bestbefore.replay.sweeps.progress import Bar, Watch, no_bar
from bestbefore.replay.traces.columns.columns import Requests

COMPILED_FROM = 200_000
"""The number of requests, summed over all replays under one policy class, from which numba is loaded and compiles."""
REMEMBERED_COMPILED_FROM = 50_000
"""The number of updates from which the computation of memories is compiled."""
MOST_EACH = 1 << 20
"""The most requests in a share of the work."""
FEWEST_EACH = 1 << 16
"""The least requests for which a further share, and thread, is worthwhile."""
STREAMS_EACH = 1 << 16
"""The most streams in a share, each of which takes memory."""
COLUMNS = 5
"""The number of counts: misses, hits, stale hits, validations, unnecessary validations."""
NO_DECISIONS = np.empty((0, 2))
"""The argument of a kernel that is not to record its decisions."""


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Return the reason why this engine cannot replay the scenario under the policy; None if it can.

    If the scenario is large enough for compilation, the policy is compiled here to find out.
    """
    if scenario.warmup is not None and Needs.FUTURE not in policy.needs:
        return "what is observed depends on the contacts before"
    rule = rule_of(policy)
    if rule is None:
        return f"{policy.name} is not a function of features"
    return None if len(scenario.requests) < COMPILED_FROM else compiling_obstacle(scenario, rule)


def compiling_obstacle(scenario: Scenario, rule: AnyRule) -> str | None:  # noqa: ARG001  as the engine in order of time
    """Compile the policy of a rule; return the reason why that is impossible, None if it is compiled."""
    from bestbefore.replay.kernels import compiled

    return compiled.obstacle(rule)


class Compiling:
    """The choice of the policies that are compiled."""

    def __init__(
        self,
        requests: int,
        obstacle: Callable[[AnyRule], str | None],
        forced: bool | None = None,
        bar: Bar = no_bar,
    ) -> None:
        """`obstacle` returns why a rule cannot be compiled; `forced` forces the choice for all policies."""
        self._requests = requests
        self._obstacle = obstacle
        self._forced = forced
        self._bar = bar
        self._expected: set[type[Any]] = set()

    def expect(self, policies: Iterable[Policy]) -> None:
        """Announce the policies that will be replayed, which counts their requests together."""
        rules = [rule for rule in map(rule_of, policies) if rule is not None]
        times = Counter(type(rule.own) for rule in rules)
        # Rules of the same types share what is compiled.
        worth = {
            (type(rule), type(rule.own)): rule for rule in rules
            if times[type(rule.own)] * self._requests >= COMPILED_FROM
        }  # fmt: skip
        if not worth:
            return
        with self._bar("compiling", len(worth)) as watch:
            for rule in watch(iter(worth.values())):
                if self._forced or self._obstacle(rule) is None:
                    self._expected.add(type(rule.own))

    def of(self, rule: AnyRule) -> bool:
        """Whether the policy of this rule is compiled."""
        if self._forced is not None:
            return self._forced
        return self._requests >= COMPILED_FROM or type(rule.own) in self._expected


def loop(rule: AnyRule, *, compiles: bool) -> tuple[Callable[..., int], AnyRule]:
    """Return `walk.replay` with its last argument bound, compiled or not, and the rule in the form that it takes."""
    if compiles:
        from bestbefore.replay.kernels import compiled

        return compiled.replay, compiled.prepared(rule)
    return partial(walk.replay, by_bin=ByBin.of_lists()), rule


def remembering(*, compiles: bool) -> Callable[..., None]:
    """Return `memories.remember`, compiled or not."""
    if compiles:
        from bestbefore.replay.kernels import compiled

        remember: Callable[..., None] = compiled.remember
        return remember
    return memories.remember


def counting(requests: Requests | None) -> Callable[..., None]:
    """Return `memories.count_requests`, compiled if there are many requests."""
    if requests is not None and len(requests) >= COMPILED_FROM:
        from bestbefore.replay.kernels import compiled

        count: Callable[..., None] = compiled.count_requests
        return count
    return memories.count_requests


class PackedScenario:
    """The complete histories of a scenario, with as much as a rule needs."""

    def __init__(self, scenario: Scenario) -> None:
        self._scenario = scenario

    def of(self, rule: AnyRule) -> PackedHistories:
        """Return the histories for a rule, without the demand at the test start."""
        if remembers(rule):
            return self._remembering
        return self._grouped if looks_at_groups(rule) else self._ungrouped

    @cached_property
    def _ungrouped(self) -> PackedHistories:
        scenario = self._scenario
        return PackedHistories.of(scenario.updates, scenario.requests, scenario.origin_s)

    @cached_property
    def _grouped(self) -> PackedHistories:
        scenario = self._scenario
        return self._ungrouped.grouped(scenario.updates, scenario.requests, scenario.grouping)

    @cached_property
    def _remembering(self) -> PackedHistories:
        scenario = self._scenario
        fill = remembering(compiles=len(scenario.updates) >= REMEMBERED_COMPILED_FROM)
        return self._grouped.remembering(scenario.updates, scenario.grouping, fill)


class FastReplay:
    """The replay of one scenario, with complete histories, under any number of policies."""

    def __init__(self, scenario: Scenario, bar: Bar = no_bar, *, compiles: bool | None = None) -> None:
        """Sort the requests. Raises OSError if they do not fit into memory and there is no room on disk.

        The kernel is compiled if there are enough requests, or as `compiles` says; otherwise it runs as plain Python.
        """
        self._scenario = scenario
        self._bar = bar
        self._compiling = Compiling(len(scenario.requests), partial(compiling_obstacle, scenario), compiles, bar)
        self._streams = Streams.of(scenario.requests, scenario.cache, bar)
        self._packed = PackedScenario(scenario)

    @property
    def items(self) -> int:
        """Return the number of items that the progress bar counts."""
        return len(self._shares)

    @property
    def _shares(self) -> Sequence[tuple[int, int]]:
        """The shares of the work: ranges of streams, replayed one after another or on different cores."""
        requests = len(self._scenario.requests)
        # Two shares for each core, so that unequal shares are balanced.
        requests_each = min(MOST_EACH, max(requests // (2 * CORES), FEWEST_EACH))
        return self._streams.shares(-(-requests // requests_each), STREAMS_EACH)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Prepare replays under these policies, so that processes forked later share the prepared data."""
        self._compiling.expect(policies)
        with self._bar("preparing", len(policies)) as watch:
            for policy in watch(iter(policies)):
                if (rule := rule_of(policy)) is not None:
                    self._count(self._known(rule), rule, (0, 0), by_object=False)

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """Return the counts; see `plain_engine.replay`. Raises ValueError if there is an obstacle."""
        totals = np.zeros(COLUMNS, dtype=np.int64)
        with self._counted(policy, by_object=False) as counted:
            for _, counts in watch(counted):
                totals += counts[0]
        return Counts(*totals.tolist())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
        """Return the counts of the requested objects; see `plain_engine.replay_objects`."""
        objects = self._scenario.requests.objects
        totals = np.zeros((len(objects), COLUMNS), dtype=np.int64)
        with self._counted(policy, by_object=True) as counted:
            for first_object, counts in watch(counted):
                totals[first_object : first_object + len(counts)] += counts
        return {objects[i]: Counts(*totals[i].tolist()) for i in np.flatnonzero(totals.any(axis=1)).tolist()}

    @contextmanager
    def _counted(self, policy: Policy, *, by_object: bool) -> Iterator[Iterator[tuple[int, NDArray[np.int64]]]]:
        """Yield an iterator over the results of `_count` for all shares, computed on all cores."""
        why = obstacle(self._scenario, policy)
        rule = rule_of(policy)
        if rule is None or why is not None:
            raise ValueError(why)
        count = partial(self._count, self._known(rule), rule, by_object=by_object)
        if multiprocessing.parent_process() is not None or not self._compiling.of(rule):
            yield map(count, self._shares)  # a worker process uses one core, and plain Python holds the GIL
            return
        pool = ThreadPoolExecutor(CORES)
        try:
            yield pool.map(count, self._shares)
        finally:
            pool.shutdown(cancel_futures=True)

    def _count(
        self, known: PackedHistories, rule: AnyRule, share: tuple[int, int], *, by_object: bool
    ) -> tuple[int, NDArray[np.int64]]:
        """Replay a share; return the id of its first object, and the counts from it on by object, or their sum."""
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
        known = self._packed.of(rule)
        return known._replace(asked=self._asked) if rule.counts_requests else known

    @cached_property
    def _asked(self) -> FloatArray:
        """Return the demand for each stream at the test start."""
        scenario = self._scenario
        codes = np.unique(codes_of(scenario.requests, scenario.cache, slice(None)))
        return earlier_demand(scenario.earlier, scenario.cache, codes, counting(scenario.earlier))
