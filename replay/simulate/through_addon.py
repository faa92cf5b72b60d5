"""The engine that replays a trace through the live code: mitmproxy's HTTP layer, the caching engine and the store.

Each request is sent to the proxy under a manual clock set to the time of the request, with an embedded store and an
origin that plays the updates. Outcomes are counted from the Cache-Status of the responses. This engine verifies that
the other engines simulate what the proxy does; it is far slower than they are.

Complete histories are put into the store before each request, as if the origin had reported them. Observed histories
are learnt by the proxy from its contacts.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import partial

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.rfc9111.fields.dates import format_http_date, parse_http_date
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.addon.store.backend.keys import CopyKey
from bestbefore.addon.store.counts.demand_counts import DemandCounts
from bestbefore.addon.store.store import Store
from bestbefore.policies.models.group import Group
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.policy import NOT_LIVE, Formula, Policy
from bestbefore.replay.kernels.rule import looks_at_groups, rule_of
from bestbefore.replay.played.cleanup import run_with_cleanup
from bestbefore.replay.played.origin import PlayedOrigin, TraceObjects, etag
from bestbefore.replay.played.proxy import PlayedClient, RequestOutcome
from bestbefore.replay.played.store import flush_all, flush_if_behind, temporary_store
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.observed import VARIANT, Warm
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.progress import Watch

OBSERVER = "observer"
"""The cache partition of the contacts before the test start; those of clients have a prefix."""


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Return the reason why the scenario cannot be replayed through the addon under the policy; None if it can."""
    for need, words in NOT_LIVE.items():
        if need in policy.needs:
            return f"the proxy cannot run it: it needs {words}"
    last_s = float(scenario.requests.times_s[-1]) if len(scenario.requests) else scenario.origin_s
    if parse_http_date(format_http_date(last_s), last_s) != math.floor(last_s):
        return f"the trace reaches to {last_s:.17g} s, beyond the year 9999, where the dates of HTTP end"
    if _tells_times(scenario, policy) and (scenario.updates.times_s % 1.0).any():
        return "updates lie between whole seconds, and Last-Modified does not tell a proxy which"
    if scenario.warmup is not None:
        return None
    return _obstacle_of_groups(policy, scenario.origin_s, last_s)


def _tells_times(scenario: Scenario, policy: Policy) -> bool:
    """Whether the origin sends Last-Modified; where histories are complete, only siblings are known by it."""
    return policy.siblings < 1.0 if scenario.warmup is None else scenario.warmup.tells_times


def _obstacle_of_groups(policy: Policy, origin_s: float, last_s: float) -> str | None:
    """Return the reason why counts of groups by the hour, as the proxy has them, are not complete; None if they are."""
    rule = rule_of(policy)
    if rule is None:
        return f"{policy.name} is not a function of features"
    if not looks_at_groups(rule):
        return None
    if origin_s % HOUR_S:
        return f"the proxy counts groups by the hour: expected an origin at a full one instead of {origin_s:.17g}"
    window_s = policy.history_window_s if isinstance(policy, Bounded) else math.inf
    if last_s - window_s > origin_s:
        return "the proxy counts groups by the hour, so that their history_window must reach back to the origin"
    return None


def replay_objects(scenario: Scenario, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
    """Return the counts of the requested objects; see `plain_engine.replay_objects`. The progress bar counts `items`.

    Raises ValueError if there is an obstacle, and PlayError. Must be called in the main thread, since the embedded
    server ends with it.
    """
    if (why := obstacle(scenario, policy)) is not None:
        raise ValueError(why)
    return run_with_cleanup(_replay(scenario, policy, watch))


def items(scenario: Scenario) -> int:
    """Return the number of requests sent: those that are counted, and those before the test start."""
    return len(scenario.requests) + (0 if scenario.contacts_before is None else len(scenario.contacts_before))


async def _replay(scenario: Scenario, policy: Policy, watch: Watch) -> dict[str, Counts]:
    objects = TraceObjects(scenario.truth)
    clock = ManualClock(scenario.origin_s)
    async with temporary_store(clock) as store:
        assert isinstance(policy, Bounded | Formula)
        bounded = policy if isinstance(policy, Bounded) else Bounded(policy)
        rules = Rules(DomainRule(Pattern.parse("*"), bounded))
        # Contacts before the test start are none of the requests whose stale rate is controlled.
        first = Rules(DomainRule(Pattern.parse("*"), replace(bounded, stale_rate=0.0))) if bounded.stale_rate else rules
        site = Site(name="bestbefore", salt=b"", max_cached_body=1 << 20)
        origin = PlayedOrigin(objects, clock, tells_times=_tells_times(scenario, policy))
        is_observed = scenario.warmup is not None
        evaluator = None if is_observed else CompleteEvaluator(store, rules, objects.groups)
        exchanges = Exchanges(clock, store, origin, first, site, on_answered=lambda _: None, evaluator=evaluator)
        if rules.default.counts_demand:
            _count_earlier(scenario, objects, store.demand)
        try:
            begin = None if first is rules else partial(exchanges.reconfigured, rules, site)
            return await _count(scenario, objects, clock, store, PlayedClient(exchanges, clock), begin, watch)
        finally:
            await exchanges.close()


class CompleteEvaluator(ExpiryEvaluator):
    """Evaluates copies where histories are complete.

    The rates of the members of a group are known up to the decision then, not only up to their last contacts.
    """

    def __init__(self, store: Store, rules: Rules, groups: Mapping[str, Group]) -> None:
        """`groups`: those of the objects on each host, over the whole trace."""
        super().__init__(store, lambda: rules)
        self._complete = groups

    async def group(self, host: str, rule: DomainRule, cache_group: str) -> Group:
        known = await super().group(host, rule, cache_group)
        return replace(known, rates=None, levels=self._complete[host].levels)


def _count_earlier(scenario: Scenario, objects: TraceObjects, demand: DemandCounts) -> None:
    """Count the requests before the test start towards the demand for the copies of their caches."""
    times_s: defaultdict[CopyKey, list[float]] = defaultdict(list)
    if scenario.earlier is not None:
        for r, client, name in scenario.earlier.rows():
            if name in objects.urls:
                times_s[CopyKey(objects.urls[name], _partition(scenario, client))].append(r)
    for key, of_copy_s in times_s.items():
        demand.count_requests(key, of_copy_s)


def _partition(scenario: Scenario, client: str) -> str:
    """Return the cache partition of a client."""
    return f"of {scenario.cache.partition_of(client)}"


async def _count(
    scenario: Scenario, objects: TraceObjects, clock: ManualClock, store: Store, client: PlayedClient,
    begin: Callable[[], None] | None, watch: Watch,
) -> dict[str, Counts]:
    """Send all requests, and count the outcomes; `begin` is called before the first that is counted."""
    outcomes: defaultdict[str, Counter[RequestOutcome]] = defaultdict(Counter)
    stale_hits: Counter[str] = Counter()
    reports = _reports(scenario, objects)
    report = next(reports, None)
    for r, cache, name in watch(_requests(scenario)):
        while report is not None and report.t_s <= r:
            _wait_until(clock, report.t_s)
            await store.learn(report)
            await flush_if_behind(store)
            report = next(reports, None)
        _wait_until(clock, r)
        if cache != OBSERVER and begin is not None:
            begin()
            begin = None
        url = objects.urls[name]
        answer = await client.get(url, cache, reload=cache == OBSERVER)
        await flush_if_behind(store)
        if cache != OBSERVER:
            outcomes[name][answer.outcome] += 1
            stale_hits[name] += answer.outcome is RequestOutcome.HIT and int(answer.content) != objects.version(url, r)
    await flush_all(store)
    return {
        name: Counts(
            misses=own[RequestOutcome.MISS],
            hits=own[RequestOutcome.HIT],
            stale_hits=stale_hits[name],
            validations=own[RequestOutcome.CHANGED] + own[RequestOutcome.UNCHANGED],
            unnecessary=own[RequestOutcome.UNCHANGED],
        )
        for name, own in outcomes.items()
    }


def _wait_until(clock: ManualClock, t: float) -> None:
    """Advance the clock to t, including the monotonic time after which groups are read from the store again."""
    clock.advance(t - clock.now())
    clock.set(t)  # corrects rounding errors


def _requests(scenario: Scenario) -> Iterator[tuple[float, str, str]]:
    """Yield (time, cache partition, object) of all requests that are sent, in order of time."""
    if scenario.contacts_before is not None:
        yield from ((r, OBSERVER, name) for r, _, name in scenario.contacts_before.rows())
    yield from ((r, _partition(scenario, client), name) for r, client, name in scenario.requests.rows())


def _reports(scenario: Scenario, objects: TraceObjects) -> Iterator[Observation]:
    """Yield the observations that are put into the store at their times, as if an origin had reported updates."""
    if scenario.warmup is None:
        return _complete(scenario, objects)
    if scenario.warmup.warm is Warm.COMPLETE:
        return _reported(scenario, objects, scenario.warmup.test_start_s)
    return iter(())


def _complete(scenario: Scenario, objects: TraceObjects) -> Iterator[Observation]:
    """Yield one observation of each object at the origin, then one of each update at its time.

    They have a separate variant, so that responses are not compared with them.
    """

    def report(url: str, t_s: float, *times_s: float) -> Observation:
        return Observation(url, t_s, "trace", None, reported_s=times_s, reported_since_s=since_s)

    since_s = scenario.origin_s
    for url in objects.urls.values():
        yield report(url, since_s, *objects.updates_s(url, since_s))
    for time_s, name in scenario.updates.rows():
        if time_s > since_s:
            yield report(objects.urls[name], time_s, time_s)


def _reported(scenario: Scenario, objects: TraceObjects, t: float) -> Iterator[Observation]:
    """Yield an observation of each object by a contact at t, with a report of all its updates up to t."""
    for url in objects.urls.values():
        updates_s = tuple(objects.updates_s(url, t))
        seen = Fingerprint(etag(len(updates_s)), last_modified_s=max(updates_s, default=None))
        yield Observation(url, t, VARIANT, seen, reported_s=updates_s, reported_since_s=scenario.origin_s)
