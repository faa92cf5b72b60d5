"""The engines that replay requests, and which of them replays a policy."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import Policy
from bestbefore.replay.simulate import fast, fast_observed, plain
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.watching import Bar, Watch, no_bar


class Through(StrEnum):
    """The engine that requests are replayed through; the counts are the same."""

    FAST = "fast"
    PLAIN = "plain"
    ADDON = "addon"
    """The code that runs live. Only this one imports mitmproxy."""


@dataclass(frozen=True)
class Engines:
    """A scenario, and what replays it under any policy."""

    scenario: Scenario
    wanted: Through = Through.FAST
    """The engine to take wherever it can replay; elsewhere it is the plain one."""
    bar: Bar = no_bar
    """Watches what is done before a replay."""

    def obstacle(self, policy: Policy) -> str | None:
        """Return why the wanted engine cannot replay under the policy; None if it can."""
        match self.wanted:
            case Through.FAST:
                if self._learns(policy):
                    return fast_observed.obstacle(self.scenario, policy)
                return fast.obstacle(self.scenario, policy)
            case Through.PLAIN:
                return None
            case Through.ADDON:
                from bestbefore.replay.simulate import through_addon

                return through_addon.obstacle(self.scenario, policy)

    def through(self, policy: Policy) -> Through:
        """The engine that replays under the policy."""
        return self.wanted if self.obstacle(policy) is None else Through.PLAIN

    def prepare(self, policies: Sequence[Policy]) -> None:
        """Make ready now what replays under these policies need, so that processes forked later share it."""
        for observed in (False, True):
            fasts = [p for p in policies if self.through(p) is Through.FAST and self._learns(p) is observed]
            if fasts:
                self._fast_for(fasts[0]).prepare(fasts)
        if any(self.through(policy) is Through.PLAIN and self._learns(policy) for policy in policies):
            self.scenario.observed  # noqa: B018  what is known at the test start, once for all

    def items(self, policy: Policy) -> int:
        """Return how many items are passed to the progress bar in a replay under the policy."""
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
        if self.through(policy) is Through.FAST:  # which need not count each object to count all
            return self._fast_for(policy).replay(policy, watch)
        return Counts.total(self.replay_objects(policy, watch).values())

    def replay_objects(self, policy: Policy, watch: Watch = iter) -> Mapping[str, Counts]:
        """The same by the object that was requested."""
        match self.through(policy):
            case Through.FAST:
                return self._fast_for(policy).replay_objects(policy, watch)
            case Through.PLAIN:
                counts = plain.replay_objects(self.scenario, policy, watch)
                return {name: own for name, own in counts.items() if own.requests}
            case Through.ADDON:
                from bestbefore.replay.simulate import through_addon

                return through_addon.replay_objects(self.scenario, policy, watch)

    def _learns(self, policy: Policy) -> bool:
        """Whether what the policy knows comes from contacts."""
        return self.scenario.warmup is not None and Needs.FUTURE not in policy.needs

    def _fast_for(self, policy: Policy) -> fast.FastReplay | fast_observed.FastObservedReplay:
        return self._fast_observed if self._learns(policy) else self._fast

    @cached_property
    def _fast(self) -> fast.FastReplay:
        return fast.FastReplay(self.scenario, self.bar)

    @cached_property
    def _fast_observed(self) -> fast_observed.FastObservedReplay:
        return fast_observed.FastObservedReplay(self.scenario, self.bar)
