"""The readable reference engine: one pass over updates and requests in order of time, one decision at a time."""

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from bestbefore.policies.validation.policy import Policy
from bestbefore.replay.counts import Counts
from bestbefore.replay.scenario import Scenario

Row = tuple[float, str, str]
"""(time, client, object) of a request."""
Watch = Callable[[Iterator[Row]], Iterable[Row]]
"""Passes the requests on and sees how far they are."""


@dataclass(frozen=True, slots=True)
class Copy:
    """A stored response."""

    current_s: float
    """When it was last known to be what the origin had."""
    expiry_s: float
    """From when on it must be validated."""


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    """What the requests of the scenario would have met under the policy.

    A request at r for an object without copy is a miss. Otherwise it is a hit if r < expiry, and a stale hit if the
    object changed after the copy was current; else a validation, unnecessary if it did not change. After a miss or a
    validation the copy is current at r and has a new expiry. An update at the instant of a request comes before it.
    """
    misses = hits = stale_hits = validations = unnecessary = 0
    copies: dict[tuple[str, str], Copy] = {}
    changed_s: dict[str, float] = {}
    updates = scenario.updates.rows()
    update = next(updates, None)
    for r, client, object_ in watch(scenario.requests.rows()):
        while update is not None and update[0] <= r:
            changed_s[update[1]] = update[0]
            update = next(updates, None)
        key = (scenario.cache.partition_of(client), object_)
        copy = copies.get(key)
        if copy is None:
            misses += 1
        else:
            changed = changed_s.get(object_, -math.inf) > copy.current_s
            if r < copy.expiry_s:
                hits += 1
                stale_hits += changed
                continue
            validations += 1
            unnecessary += not changed
        verdict = policy.verdict(scenario.known.history(object_), scenario.known.group(object_), r)
        copies[key] = Copy(r, verdict.expiry_s)
    return Counts(misses, hits, stale_hits, validations, unnecessary)
