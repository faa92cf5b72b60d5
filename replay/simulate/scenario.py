"""The scenario of a replay: everything but the policy."""

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
    """The sharing of caches. Each cache is unlimited."""

    CLIENT = "client"
    """Each client has its own."""
    SHARED = "shared"
    """All clients have one."""

    def partition_of(self, client: str) -> str:
        """Return what separates the copies of this client from those of others."""
        return client if self is Cache.CLIENT else ""


@dataclass(frozen=True, slots=True)
class Warmup:
    """The warm-up before the test start where histories are observed."""

    warm: Warm
    requests: Requests
    """From the origin up to the test start."""
    test_start_s: float


@dataclass(frozen=True)
class Scenario:
    """Updates since the origin, requests since the test start, and what policies know.

    All caches are empty at the test start. Histories begin at the origin and go on growing during the test.
    """

    updates: Updates
    requests: Requests
    origin_s: float
    grouping: Grouping
    cache: Cache
    warmup: Warmup | None = None
    """How policies come to know what they know at the test start, if they know only what a proxy would have seen."""

    @cached_property
    def objects(self) -> tuple[str, ...]:
        """Return all objects that were updated or requested, by name."""
        return tuple(sorted({*self.updates.objects, *self.requests.requested()}))

    @cached_property
    def known(self) -> CompleteHistories:
        """The histories as they are, and what policies know unless histories are observed."""
        return CompleteHistories.of(self.updates, self.objects, self.origin_s, self.grouping)

    @cached_property
    def observed(self) -> ObservedHistories | None:
        """Return what policies know at the test start, if they know only what a proxy would have seen."""
        if self.warmup is None:
            return None
        return ObservedHistories.at_test_start(
            self.truth, self.warmup.warm, self.warmup.requests, self.warmup.test_start_s
        )

    @property
    def truth(self) -> CompleteHistories:
        """The histories as they are of all objects of which something is learnt."""
        if self.contacts_before is None:
            return self.known
        # The observer has also learnt of objects that are not requested any more.
        asked = self.contacts_before.requested() | self.requests.requested()
        return CompleteHistories.of(self.updates, asked, self.origin_s, self.grouping)

    @property
    def contacts_before(self) -> Requests | None:
        """The requests before the test start, if each was a contact of one observer, whose knowledge policies have."""
        return self.warmup.requests if self.warmup is not None and self.warmup.warm is Warm.CONTACTS else None

    def known_to(self, policy: Policy) -> HistorySource:
        """Return what the policy knows at the test start; it learns of each contact from then on."""
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
        warn: Callable[[str], None],
    ) -> Self:
        """Make the scenario from a whole trace.

        The origin is its earliest event unless given, the test start the origin unless given. Histories are complete
        unless `warm` is given: then they are observed, and it says what is known at the start.

        Raises ValueError if the test start lies before the origin. Calls `warn` with one line each if
        updates and requests lie before the origin (they are dropped), and with one if no request is left to replay.
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
        scenario = cls(observed, replayed, origin_s, grouping, cache)
        if warm is None:
            return scenario
        before = requests.since(origin_s).before(test_start_s)
        return replace(scenario, warmup=Warmup(warm, before, test_start_s))
