"""The trace through the very code that runs live: mitmproxy's HTTP layer, the engine, the store, the policies.

Each request is sent to the proxy under a clock that stands at the moment of the request, with an embedded store and an
origin that plays the updates. What comes back is counted by what it says of itself (Cache-Status). This is the proof
that what is simulated is what runs, and far slower than the engines of `replay`.

Where histories are complete, they are put into the store before each request, as if the origin had reported them.
Where they are observed, the proxy learns by itself from what its contacts show.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.engine.observation import Fingerprint, Observation
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.exchange.exchange import Exchanges
from bestbefore.addon.rfc9111.fields.dates import format_http_date, parse_http_date
from bestbefore.addon.rules import DomainRule, Pattern, Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.units import HOUR_S
from bestbefore.policies.validation.machinery.bounds import Bounded
from bestbefore.policies.validation.machinery.policy import NOT_LIVE, Formula, Policy
from bestbefore.replay.kernels.rule import looks_at_groups, rule_of
from bestbefore.replay.played.ending import run_tidily
from bestbefore.replay.played.origin import PlayedOrigin, TraceObjects, etag
from bestbefore.replay.played.proxy import Met, Wire
from bestbefore.replay.played.store import keep_up, own_store, written
from bestbefore.replay.simulate.counts import Counts
from bestbefore.replay.simulate.observed import VARIANT, Warm
from bestbefore.replay.simulate.scenario import Scenario
from bestbefore.replay.sweeps.watching import Watch

OBSERVER = "observer"
"""The cache of the one whose contacts before the test start are learnt from. Those of clients have other names."""


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Return why the scenario cannot be replayed through the addon under the policy; None if it can."""
    for need, words in NOT_LIVE.items():
        if need in policy.needs:
            return f"the proxy cannot run it: it needs {words}"
    last_s = float(scenario.requests.times_s[-1]) if len(scenario.requests) else scenario.origin_s
    if parse_http_date(format_http_date(last_s), last_s) != math.floor(last_s):
        return f"the trace reaches to {last_s:.17g} s, beyond the year 9999, where the dates of HTTP end"
    if scenario.warmup is not None:
        if (scenario.updates.times_s % 1.0).any():
            return "updates lie between whole seconds, and Last-Modified does not tell a proxy which"
        return None
    return _obstacle_of_groups(policy, scenario.origin_s, last_s)


def _obstacle_of_groups(policy: Policy, origin_s: float, last_s: float) -> str | None:
    """Return why the proxy, which counts groups by the hour, cannot know them completely between two moments."""
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


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    """Return the counts, as `plain.replay` does, through the addon.

    Raises ValueError where there is an obstacle; PlayError.
    """
    return Counts.total(replay_objects(scenario, policy, watch).values())


def replay_objects(scenario: Scenario, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
    """Return the counts, as `plain.replay_objects` does, for the objects that were requested.

    `items` are passed to the progress bar.

    To be called in the main thread, with which the embedded server ends.
    """
    if (why := obstacle(scenario, policy)) is not None:
        raise ValueError(why)
    return run_tidily(_replay(scenario, policy, watch))


def items(scenario: Scenario) -> int:
    """Return how many requests are played: those that are counted, and those whose contacts are learnt from before."""
    return len(scenario.requests) + (0 if scenario.contacts_before is None else len(scenario.contacts_before))


async def _replay(scenario: Scenario, policy: Policy, watch: Watch) -> dict[str, Counts]:
    objects = TraceObjects(scenario.truth)
    clock = ManualClock(scenario.origin_s)
    async with own_store(clock) as store:
        assert isinstance(policy, Bounded | Formula)
        rules = Rules(DomainRule(Pattern.parse("*"), policy if isinstance(policy, Bounded) else Bounded(policy)))
        site = Site(name="bestbefore", salt=b"", max_cached_body=1 << 20)
        origin = PlayedOrigin(objects, clock, tells_times=scenario.warmup is not None)
        exchanges = Exchanges(clock, store, origin, rules, site, on_answered=lambda _: None)
        try:
            return await _count(scenario, objects, clock, store, Wire(exchanges, clock), watch)
        finally:
            await exchanges.close()


async def _count(
    scenario: Scenario, objects: TraceObjects, clock: ManualClock, store: Store, wire: Wire, watch: Watch
) -> dict[str, Counts]:
    met: defaultdict[str, Counter[Met]] = defaultdict(Counter)
    stale_hits: Counter[str] = Counter()
    reports = _reports(scenario, objects)
    report = next(reports, None)
    for r, cache, name in watch(_requests(scenario)):
        while report is not None and report.t_s <= r:
            _wait_until(clock, report.t_s)
            await store.learn(report)
            await keep_up(store)
            report = next(reports, None)
        _wait_until(clock, r)
        url = objects.urls[name]
        answer = await wire.ask(url, cache, reload=cache == OBSERVER)
        await keep_up(store)
        if cache != OBSERVER:
            met[name][answer.met] += 1
            stale_hits[name] += answer.met is Met.HIT and int(answer.content) != objects.version(url, r)
    await written(store)
    return {
        name: Counts(
            misses=own[Met.MISS],
            hits=own[Met.HIT],
            stale_hits=stale_hits[name],
            validations=own[Met.CHANGED] + own[Met.UNCHANGED],
            unnecessary=own[Met.UNCHANGED],
        )
        for name, own in met.items()
    }


def _wait_until(clock: ManualClock, t: float) -> None:
    """Let time pass, also that by which groups are read from the store again."""
    clock.advance(t - clock.now())
    clock.set(t)  # without what was lost to rounding


def _requests(scenario: Scenario) -> Iterator[tuple[float, str, str]]:
    """(time, cache, object) of all requests that are played, in order of time."""
    if scenario.contacts_before is not None:
        yield from ((r, OBSERVER, name) for r, _, name in scenario.contacts_before.rows())
    partition_of = scenario.cache.partition_of
    yield from ((r, f"of {partition_of(client)}", name) for r, client, name in scenario.requests.rows())


def _reports(scenario: Scenario, objects: TraceObjects) -> Iterator[Observation]:
    """Yield what is put into the store at its time, as if an origin had reported its updates."""
    if scenario.warmup is None:
        return _complete(scenario, objects)
    if scenario.warmup.warm is Warm.COMPLETE:
        return _reported(scenario, objects, scenario.warmup.test_start_s)
    return iter(())


def _complete(scenario: Scenario, objects: TraceObjects) -> Iterator[Observation]:
    """Yield each object at first, then each update in its time.

    They are of a variant of their own, so that nothing is compared with them.
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
    """Yield all objects as a contact at t would have shown them, with a report of all updates so far."""
    for url in objects.urls.values():
        updates_s = tuple(objects.updates_s(url, t))
        seen = Fingerprint(etag(len(updates_s)), last_modified_s=max(updates_s, default=None))
        yield Observation(url, t, VARIANT, seen, reported_s=updates_s, reported_since_s=scenario.origin_s)
