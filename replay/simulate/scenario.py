"""The scenario of a replay: the trace and all conditions except the policy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Self

from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.simulate.complete import CompleteHistories, Grouping
from bestbefore.replay.simulate.history_source import HistorySource
from bestbefore.replay.simulate.observed import ObservedHistories, Warm
from bestbefore.replay.traces.columns.columns import Requests, Updates


class Cache(StrEnum):
    """The sharing of caches among clients. A cache has unlimited size."""

    CLIENT = "client"
    """Each client has its own cache."""
    SHARED = "shared"
    """All clients share one cache."""

    def partition_of(self, client: str) -> str:
        """Return the cache partition of this client, the first part of its cache keys."""
        return client if self is Cache.CLIENT else ""


@dataclass(frozen=True, slots=True)
class Warmup:
    """The warm-up before the test start where histories are observed."""

    warm: Warm
    requests: Requests
    """The requests from the origin up to the test start."""
    test_start_s: float
    tells_times: bool = True
    """Whether contacts show when an object last changed; without, only whether it changed."""


@dataclass(frozen=True)
class Scenario:
    """Updates since the origin, requests since the test start, and the histories that policies use.

    All caches are empty at the test start. Histories begin at the origin and grow during the test.
    """

    updates: Updates
    requests: Requests
    origin_s: float
    grouping: Grouping
    cache: Cache
    warmup: Warmup | None = None
    """The warm-up of observed histories; None where histories are complete."""
    earlier: Requests | None = None
    """The requests from the origin up to the test start, which count as requests for copies (`Needs.DEMAND`); None if
    nothing is known at the test start."""

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """Return all objects that were updated or requested, by name."""
        return tuple(sorted({*self.updates.objects, *self.requests.requested()}))

    @cached_property
    def known(self) -> CompleteHistories:
        """The complete histories of all objects of the scenario."""
        return CompleteHistories.of(self.updates, self.objects, self.origin_s, self.grouping)

    @cached_property
    def observed(self) -> ObservedHistories | None:
        """The observed histories at the test start; None where histories are complete."""
        if self.warmup is None:
            return None
        return ObservedHistories.at_test_start(
            self.truth,
            self.warmup.warm,
            self.warmup.requests,
            self.warmup.test_start_s,
            tells_times=self.warmup.tells_times,
        )

    @property
    def truth(self) -> CompleteHistories:
        """The complete histories of all objects that may be observed."""
        if self.contacts_before is None:
            return self.known
        # Contacts before the test start also observe objects that are not requested later.
        asked = self.contacts_before.requested() | self.requests.requested()
        return CompleteHistories.of(self.updates, asked, self.origin_s, self.grouping)

    @property
    def contacts_before(self) -> Requests | None:
        """The requests before the test start if histories are learnt from them (`Warm.CONTACTS`), else None."""
        return self.warmup.requests if self.warmup is not None and self.warmup.warm is Warm.CONTACTS else None

    def histories_for(self, policy: Policy) -> HistorySource:
        """Return the source of histories for the policy, as of the test start."""
        if self.observed is None or Needs.FUTURE in policy.needs:
            return self.known
        return self.observed.copy()

    @classmethod
    def of(
        cls,
        updates: Updates,
        requests: Requests,
        *,
        origin_s: float | None = None,
        test_start_s: float | None = None,
        cache: Cache = Cache.CLIENT,
        grouping: Grouping = Grouping.ALL,
        warm: Warm | None = None,
        tells_times: bool = True,
        warn: Callable[[str], None],
    ) -> Self:
        """Make the scenario from a trace.

        The origin is by default the earliest event, the test start by default the origin. Histories are complete unless
        `warm` is given, which says what observed histories contain at the test start; `tells_times` says whether
        contacts then show when an object last changed, or only whether it did.

        Raises ValueError if the test start lies before the origin. Calls `warn` with one line if updates, and with one
        if requests, lie before the origin (they are dropped), and with one if no request is left to replay.
        """
        if origin_s is None:
            origin_s = min((float(t.times_s[0]) for t in (updates, requests) if len(t)), default=0.0)
        if test_start_s is None:
            test_start_s = origin_s
        if test_start_s < origin_s:
            raise ValueError(f"the test start, {test_start_s:.17g}, must not lie before the origin, {origin_s:.17g}")
        observed, replayed = updates.since(origin_s), requests.since(test_start_s)
        for dropped, what in (
            (len(updates) - len(observed), "updates"), (len(requests.before(origin_s)), "requests")
        ):
            if dropped:
                warn(f"{dropped} {what} before the origin, {origin_s:.17g}, dropped")
        if not len(replayed):
            warn(f"no request at or after the test start, {test_start_s:.17g}")
        before = requests.since(origin_s).before(test_start_s)
        scenario = cls(observed, replayed, origin_s, grouping, cache, earlier=None if warm is Warm.NONE else before)
        if warm is None:
            return scenario
        return replace(scenario, warmup=Warmup(warm, before, test_start_s, tells_times))
