"""The ways to replay a trace, with all that does not depend on the policy."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bestbefore.policies.validation.policy import Policy
from bestbefore.replay import plain
from bestbefore.replay.breakdown import Breakdown
from bestbefore.replay.counts import Counts, RefreshCounts
from bestbefore.replay.finished import Row, Rows, identity, refresh_identity
from bestbefore.replay.observed import Warm
from bestbefore.replay.refresh import RefreshScenario, refresh_objects
from bestbefore.replay.report.facts import facts, refresh_facts
from bestbefore.replay.report.html import REFRESHES, REQUESTS, Measure
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.watching import Watch


class Run(Protocol):
    """A replay that can be made under any policy."""

    @property
    def items(self) -> int:
        """How many items pass whoever watches."""
        ...

    @property
    def history(self) -> str:
        """What policies know: `complete` or `observed` histories."""
        ...

    @property
    def measure(self) -> Measure:
        """Which counts policies are compared by."""
        ...

    @property
    def breakdowns(self) -> Sequence[Breakdown]:
        """What is counted apart."""
        ...

    def rows(self, policy: Policy, watch: Watch = iter) -> Rows:
        """What is counted under the policy."""
        ...

    def way(self) -> Mapping[str, str | None]:
        """How it is replayed, by the names under which that is reported."""
        ...

    def facts(self) -> Mapping[str, str]:
        """What is replayed, in words."""
        ...

    def identity(self) -> str:
        """A name for it: another for another replay."""
        ...


@dataclass(frozen=True, slots=True)
class RequestRun:
    """Requests that are served from caches or by the origin."""

    scenario: Scenario
    warm: Warm | None
    """What was known at the test start; None where histories are complete."""
    breakdowns: Sequence[Breakdown] = ()
    measure: Measure = REQUESTS

    @property
    def items(self) -> int:
        return len(self.scenario.requests)

    @property
    def history(self) -> str:
        return _history(self.warm)

    def rows(self, policy: Policy, watch: Watch = iter) -> Rows:
        counts = plain.replay_objects(self.scenario, policy, watch)
        return _rows(Counts, {name: own for name, own in counts.items() if own.requests}, self.breakdowns)

    def way(self) -> Mapping[str, str | None]:
        return {"cache": self.scenario.cache.value, **_known(self.warm), "through": "plain"}

    def facts(self) -> Mapping[str, str]:
        return facts(self.scenario)

    def identity(self) -> str:
        return identity(self.scenario, self.breakdowns)


@dataclass(frozen=True, slots=True)
class RefreshRun:
    """Objects that are refreshed without requests."""

    scenario: RefreshScenario
    min_interval_s: float
    breakdowns: Sequence[Breakdown] = ()
    measure: Measure = REFRESHES

    @property
    def items(self) -> int:
        return self.scenario.updates

    @property
    def history(self) -> str:
        return _history(self.scenario.warm)

    def rows(self, policy: Policy, watch: Watch = iter) -> Rows:
        counts = refresh_objects(self.scenario, policy, self.min_interval_s, watch)
        return _rows(RefreshCounts, counts, self.breakdowns)

    def way(self) -> Mapping[str, str | None]:
        return {"cache": None, **_known(self.scenario.warm), "through": "plain"}

    def facts(self) -> Mapping[str, str]:
        return refresh_facts(self.scenario, self.min_interval_s)

    def identity(self) -> str:
        return refresh_identity(self.scenario, self.min_interval_s, self.breakdowns)


def _history(warm: Warm | None) -> str:
    return "complete" if warm is None else "observed"


def _known(warm: Warm | None) -> dict[str, str]:
    return {"history": _history(warm)} if warm is None else {"history": _history(warm), "warm": warm.value}


def _rows[C: (Counts, RefreshCounts)](
    kind: type[C], counts: Mapping[str, C], breakdowns: Iterable[Breakdown]
) -> Rows:
    rows: list[Row] = [kind.total(counts.values()).by_name()]
    for breakdown in breakdowns:
        rows += [{breakdown.key: part, **counted.by_name()} for part, counted in breakdown.count(counts).items()]
    return rows
