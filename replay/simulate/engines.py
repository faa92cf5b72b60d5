"""The choice of the engine that replays requests under a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.kernels.rule import rule_of
from bestbefore.replay.simulate import fast_engine, fast_observed_engine, plain_engine
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.progress import Bar, Watch, no_bar


class Through(StrEnum):
    """The engine of a replay; all engines give the same counts."""

    FAST = "fast"
    """The fast engines."""
    PLAIN = "plain"
    """The readable reference engine."""
    ADDON = "addon"
    """The live code, with mitmproxy and an embedded store."""


@dataclass(frozen=True)
class Engines:
    """A scenario with the engines that replay it under any policy."""

    scenario: Scenario
    preferred: Through = Through.FAST
    """The engine used for every policy that it can replay; for the others the plain engine is used."""
    bar: Bar = no_bar
    """Shows the progress of preparations."""
    compiles: bool | None = None
    """Whether policies are compiled; None: if one scenario has enough requests for that. A policy that numba cannot
    compile is then replayed by the plain engine."""

    def obstacle(self, policy: Policy) -> str | None:
        """Return the reason why the preferred engine cannot replay under the policy; None if it can."""
        match self.preferred:
            case Through.FAST:
                engine = fast_observed_engine if self._in_order(policy) else fast_engine
                why: str | None = engine.obstacle(self.scenario, policy)
                rule = rule_of(policy) if self.compiles else None
                return why if why is not None or rule is None else engine.compiling_obstacle(self.scenario, rule)
            case Through.PLAIN:
                return None
            case Through.ADDON:
                from bestbefore.replay.simulate import through_addon

                return through_addon.obstacle(self.scenario, policy)

    def through(self, policy: Policy) -> Through:
        """The engine that replays under the policy."""
        return self.preferred if self.obstacle(policy) is None else Through.PLAIN

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Prepare replays under these policies, so that processes forked later share the prepared data."""
        for in_order in (False, True):
            fasts = [p for p in policies if self.through(p) is Through.FAST and self._in_order(p) is in_order]
            if fasts:
                self._fast_for(fasts[0]).prepare(fasts)
        if any(self.through(policy) is Through.PLAIN and self._learns(policy) for policy in policies):
            self.scenario.observed  # noqa: B018  computes and caches the histories at the test start

    def items(self, policy: Policy) -> int:
        """Return the number of items that the progress bar counts in a replay under the policy."""
        match self.through(policy):
            case Through.FAST:
                return self._fast_for(policy).items
            case Through.PLAIN:
                return len(self.scenario.requests)
            case Through.ADDON:
                from bestbefore.replay.simulate import through_addon

                return through_addon.items(self.scenario)

    def replay(self, policy: Policy, watch: Watch = iter) -> Counts:
        """Return the counts of all requests of the scenario under the policy."""
        if self.through(policy) is Through.FAST:  # totals need no counts of single objects
            return self._fast_for(policy).replay(policy, watch)
        return Counts.total(self.replay_objects(policy, watch).values())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> Mapping[str, Counts]:
        """Return the counts by requested object."""
        match self.through(policy):
            case Through.FAST:
                return self._fast_for(policy).replay_objects(policy, watch)
            case Through.PLAIN:
                counts = plain_engine.replay_objects(self.scenario, policy, watch)
                return {name: own for name, own in counts.items() if own.requests}
            case Through.ADDON:
                from bestbefore.replay.simulate import through_addon

                return through_addon.replay_objects(self.scenario, policy, watch)

    def _learns(self, policy: Policy) -> bool:
        """Whether the policy learns histories from contacts in this replay."""
        return self.scenario.warmup is not None and Needs.FUTURE not in policy.needs

    def _in_order(self, policy: Policy) -> bool:
        """Whether requests must be replayed in order of time, as they share more than complete histories."""
        return self._learns(policy) or policy.siblings < 1.0 or policy.stale_rate > 0.0

    def _fast_for(self, policy: Policy) -> fast_engine.FastReplay | fast_observed_engine.FastObservedReplay:
        return self._fast_observed if self._in_order(policy) else self._fast

    @cached_property
    def _fast(self) -> fast_engine.FastReplay:
        return fast_engine.FastReplay(self.scenario, self.bar, compiles=self.compiles)

    @cached_property
    def _fast_observed(self) -> fast_observed_engine.FastObservedReplay:
        return fast_observed_engine.FastObservedReplay(self.scenario, self.bar, compiles=self.compiles)
