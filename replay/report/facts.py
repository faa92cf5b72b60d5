"""The description of a replay for its report: trace, caches, histories and groups."""

from collections.abc import Mapping

import numpy as np

from bestbefore.addon.admin.units import counted, utc
from bestbefore.policies.units import FloatArray
from bestbefore.replay.simulate.complete import Grouping
from bestbefore.replay.simulate.refresh import RefreshScenario
from bestbefore.replay.simulate.scenario import Cache, Scenario
from bestbefore.replay.traces.columns.columns import IdArray, occurring

CACHES = {
    Cache.CLIENT: "one for each client, empty at the start",
    Cache.SHARED: "one for all clients, empty at the start",
}
GROUPS = {
    Grouping.ALL: "one, of all objects",
    Grouping.PREFIX: "objects with the same part of their names before the first /",
    Grouping.DOMAIN: "objects whose hosts have the same registrable domain",
}


def facts(scenario: Scenario) -> Mapping[str, str]:
    """Return the description of a replay of requests, as texts by name."""
    updates, requests = scenario.updates, scenario.requests
    asked = _distinct(requests.object_ids, requests.objects)
    clients = _distinct(requests.client_ids, requests.clients)
    changed = _distinct(updates.object_ids, updates.objects)
    return {
        "requests": f"{len(requests):,} by {counted(clients, 'client')} for {counted(asked, 'object')}"
        f"{_span(requests.times_s)}",
        "updates": f"{len(updates):,} of {counted(changed, 'object')}{_span(updates.times_s)}",
        **condition_facts(
            scenario.cache, scenario.grouping, is_complete=scenario.warmup is None,
            tells_times=scenario.warmup is None or scenario.warmup.tells_times,
        ),
    }


def condition_facts(cache: Cache, grouping: Grouping, *, is_complete: bool, tells_times: bool) -> dict[str, str]:
    """Return the description of caches, histories and groups, as texts by name."""
    return {
        "caches": CACHES[cache],
        "histories": _histories(is_complete=is_complete, tells_times=tells_times),
        "groups": GROUPS[grouping],
    }


def refresh_facts(scenario: RefreshScenario, min_interval_s: float) -> Mapping[str, str]:
    """Return the description of a replay of refreshes, as texts by name."""
    return {
        "updates": f"{scenario.updates:,} of {counted(len(scenario.first_s), 'object')}, each after its first refresh",
        "refreshes": f"when the policy says, at least {min_interval_s:g} s apart",
        "histories": _histories(is_complete=scenario.warm is None, tells_times=scenario.tells_times),
        "groups": GROUPS[scenario.known.grouping],
    }


def _histories(*, is_complete: bool, tells_times: bool) -> str:
    if is_complete:
        return "complete"
    if tells_times:
        return "observed: what a proxy alone would have seen"
    return "changed: what a proxy alone would have seen if origins sent entity tags and no Last-Modified"


def _span(times_s: FloatArray) -> str:
    return f", from {utc(times_s[0])} to {utc(times_s[-1])}" if len(times_s) else ""


def _distinct(ids: IdArray, names: tuple[str, ...]) -> int:
    return int(np.count_nonzero(occurring(ids, len(names))))
