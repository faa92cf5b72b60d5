"""The kinds of replay, of requests or of refreshes, with everything that does not depend on the policy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.report.facts import facts, refresh_facts
from bestbefore.replay.report.measure import REFRESHES, REQUESTS, Measure
from bestbefore.replay.simulate.breakdown import Breakdown
from bestbefore.replay.simulate.counts import Counts, RefreshCounts
from bestbefore.replay.simulate.engines import Engines, Through
from bestbefore.replay.simulate.observed import Warm
from bestbefore.replay.simulate.refresh import RefreshScenario, refresh_objects
from bestbefore.replay.sweeps.finished_points import Row, Rows
from bestbefore.replay.sweeps.identity import identity, refresh_identity
from bestbefore.replay.sweeps.progress import Watch


@dataclass(frozen=True, slots=True)
class RequestRun:
    """A replay of requests, served from caches or by the origin, under any policy."""

    engines: Engines
    warm: Warm | None
    """The observed histories at the test start; None where histories are complete."""
    breakdowns: Sequence[Breakdown] = ()
    """The breakdowns of the counts."""
    measure: Measure = REQUESTS
    """The counts by which policies are compared."""

    @property
    def history(self) -> str:
        """The kind of histories: `complete`, `observed` or `changed`."""
        warmup = self.engines.scenario.warmup
        return history_name(self.warm, tells_times=warmup is None or warmup.tells_times)

    def obstacle(self, policy: Policy) -> str | None:
        """Return the reason why the preferred engine cannot replay under the policy; None if it can."""
        return self.engines.obstacle(policy)

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Prepare replays under these policies, so that processes forked later share the prepared data."""
        self.engines.prepare(policies)

    def items(self, policy: Policy) -> int:
        """Return the number of items that the progress bar counts in a replay under the policy."""
        return self.engines.items(policy)

    def rows(self, policy: Policy, watch: Watch = iter) -> Rows:
        """Replay under the policy and return the counts, of the whole trace first, then of the breakdowns."""
        if not self.breakdowns:
            return [self.engines.replay(policy, watch).by_name()]
        return _rows(Counts, self.engines.replay_objects(policy, watch), self.breakdowns)

    def conditions(self, policy: Policy) -> Mapping[str, str | None]:
        """Return the conditions of a replay under the policy (cache, history, engine), by their names in reports."""
        cache, through = self.engines.scenario.cache, self.engines.through(policy)
        return {"cache": cache.value, **condition_names(self.history, self.warm), "through": through.value}

    def facts(self) -> Mapping[str, str]:
        """Return a description of the trace and the replay, by name."""
        return facts(self.engines.scenario)

    def identity(self) -> str:
        """Return a digest that identifies this replay."""
        return identity(self.engines.scenario, self.breakdowns, self.engines.preferred)


@dataclass(frozen=True, slots=True)
class RefreshRun:
    """A replay of refreshes without requests, under any policy, with the same interface as `RequestRun`."""

    scenario: RefreshScenario
    min_interval_s: float
    breakdowns: Sequence[Breakdown] = ()
    measure: Measure = REFRESHES

    @property
    def history(self) -> str:
        return history_name(self.scenario.warm, tells_times=self.scenario.tells_times)

    def obstacle(self, policy: Policy) -> str | None:  # noqa: ARG002
        return None

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Do nothing: no preparation is needed."""

    def items(self, policy: Policy) -> int:  # noqa: ARG002
        return self.scenario.updates

    def rows(self, policy: Policy, watch: Watch = iter) -> Rows:
        counts = refresh_objects(self.scenario, policy, self.min_interval_s, watch)
        return _rows(RefreshCounts, counts, self.breakdowns)

    def conditions(self, policy: Policy) -> Mapping[str, str | None]:  # noqa: ARG002
        return {"cache": None, **condition_names(self.history, self.scenario.warm), "through": Through.PLAIN.value}

    def facts(self) -> Mapping[str, str]:
        return refresh_facts(self.scenario, self.min_interval_s)

    def identity(self) -> str:
        return refresh_identity(self.scenario, self.min_interval_s, self.breakdowns)


Run = RequestRun | RefreshRun
"""A replay of one trace under any policy."""


def history_name(warm: Warm | None, *, tells_times: bool) -> str:
    """Return the kind of histories: `complete`, `observed` or `changed`."""
    if warm is None:
        return "complete"
    return "observed" if tells_times else "changed"


def condition_names(history: str, warm: Warm | None) -> dict[str, str]:
    """Return the kind of histories and what they are at the test start, by their names in reports."""
    return {"history": history} if warm is None else {"history": history, "warm": warm.value}


def _rows[C: (Counts, RefreshCounts)](kind: type[C], counts: Mapping[str, C], breakdowns: Iterable[Breakdown]) -> Rows:
    rows: list[Row] = [kind.total(counts.values()).by_name()]
    for breakdown in breakdowns:
        rows += [{breakdown.key: part, **counted.by_name()} for part, counted in breakdown.count(counts).items()]
    return rows
