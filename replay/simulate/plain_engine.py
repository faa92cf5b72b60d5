"""The readable reference engine: one pass over updates and requests in order of time, one decision at a time."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from bestbefore.policies.models.demand import CopyDemand, first_request, requested
from bestbefore.policies.validation.machinery.features import Needs
from bestbefore.policies.validation.machinery.policy import ContactOutcome, Policy
from bestbefore.policies.validation.machinery.verdict import Verdict
from bestbefore.policies.validation.siblings.least_chance import least_chance
from bestbefore.replay.simulate.controlled_prices import ControlledPrices
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.simulate.sites import ReplayedSites
from bestbefore.replay.sweeps.progress import Watch

Row = tuple[float, str, str]
"""(time, client, object) of a request."""


@dataclass(frozen=True, slots=True)
class CachedCopy:
    """A stored response during a replay."""

    current_s: float
    """The time at which it was last known to be current."""
    verdict: Verdict
    """The verdict, with the time from which on it must be validated."""
    least_chance: float = 1.0
    """The probability from which on a change of a sibling outdates it."""


@dataclass(slots=True)
class _Object:
    """An object during a replay."""

    changed_s: float = -math.inf
    """The time of its latest update so far."""
    copies: dict[str, CachedCopy] = field(default_factory=dict)
    """The copies by partition of the cache."""
    demands: dict[str, CopyDemand] = field(default_factory=dict)
    """The requests for each copy, if the policy reads them."""
    misses: int = 0
    hits: int = 0
    stale_hits: int = 0
    validations: int = 0
    unnecessary: int = 0

    def request(self, partition: str, r: float) -> None:
        """Count a request for a copy."""
        before = self.demands.get(partition)
        self.demands[partition] = first_request(r) if before is None else requested(before, r)

    def counts(self) -> Counts:
        return Counts(self.misses, self.hits, self.stale_hits, self.validations, self.unnecessary)


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    """Return the counts of all requests of the scenario under the policy; see `replay_objects`."""
    return Counts.total(replay_objects(scenario, policy, watch).values())


def replay_objects(scenario: Scenario, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
    """Return the counts by object of the requests of the scenario under the policy.

    A request at r for an object without a copy is a miss. Otherwise it is a hit if r < expiry and no sibling's change
    has outdated the copy, and a stale hit if the object changed after the copy was last known to be current; else it is
    a validation, unnecessary if the object did not change. After a miss or a validation the copy is current at r and
    has a new expiry. An update at the time of a request precedes it.
    """
    known = scenario.histories_for(policy)
    sites = ReplayedSites.at_test_start(scenario) if policy.siblings < 1.0 else None
    prices = ControlledPrices(policy, scenario.grouping) if policy.stale_rate else None
    partition_of = scenario.cache.partition_of
    counts_requests = Needs.DEMAND in policy.needs
    objects = {name: _Object() for name in scenario.known.histories}
    if counts_requests:
        _count_earlier_requests(scenario, objects)
    updates = scenario.updates.rows()
    update = next(updates, None)
    for r, client, name in watch(scenario.requests.rows()):
        while update is not None and update[0] <= r:
            objects[update[1]].changed_s = update[0]
            update = next(updates, None)
        object_ = objects[name]
        partition = partition_of(client)
        copy = object_.copies.get(partition)
        if counts_requests:
            object_.request(partition, r)
        outcome = None
        if copy is None:
            object_.misses += 1
        else:
            changed = object_.changed_s > copy.current_s
            if r < copy.verdict.expiry_s and not (
                sites is not None and sites.outdated(name, copy.current_s, copy.least_chance)
            ):
                object_.hits += 1
                object_.stale_hits += changed
                if prices is not None:
                    prices.hit(name, partition, r)
                continue
            object_.validations += 1
            object_.unnecessary += not changed
            if prices is not None:
                prices.validated(name, partition, r, changed)
            if copy.verdict.state is not None:
                outcome = ContactOutcome(copy.verdict.state, changed)
        history, group = known.contact(name, r)
        price = math.nan if prices is None else prices.price(name, partition, history, r)
        verdict = policy.verdict(history, group, r, outcome, object_.demands.get(partition), price)
        chance = 1.0
        if sites is not None:
            sites.contact(name, r)
            chance = least_chance(history, r, verdict.expiry_s, policy.siblings)
        object_.copies[partition] = CachedCopy(r, verdict, chance)
    return {name: object_.counts() for name, object_ in objects.items()}


def _count_earlier_requests(scenario: Scenario, objects: Mapping[str, _Object]) -> None:
    """Count the requests before the test start towards the demand for copies."""
    for r, client, name in () if scenario.earlier is None else scenario.earlier.rows():
        if name in objects:
            objects[name].request(scenario.cache.partition_of(client), r)
