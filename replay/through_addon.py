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
from bestbefore.addon.proxy.exchange import Exchanges
from bestbefore.addon.rfc9111.dates import format_http_date, parse_http_date
from bestbefore.addon.rules import Pattern, Rule, Rules
from bestbefore.addon.store.store import Store
from bestbefore.policies.validation.bounds import Bounded
from bestbefore.policies.validation.policy import Needs, Policy
from bestbefore.replay.counts import Counts
from bestbefore.replay.observed import VARIANT, ObservedHistories
from bestbefore.replay.played.ending import run_tidily
from bestbefore.replay.played.origin import Objects, PlayedOrigin, etag
from bestbefore.replay.played.proxy import Met, Wire
from bestbefore.replay.played.store import keep_up, own_store, written
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.watching import Watch

OBSERVER = "observer"
"""The cache of the one whose contacts before the test start are learnt from. Those of clients have other names."""


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Why the scenario cannot be replayed through the addon under the policy; None if it can."""
    if policy.needs is not Needs.PAST:
        return f"the proxy cannot run it: it needs {policy.needs.value}"
    last_s = float(scenario.requests.times_s[-1]) if len(scenario.requests) else 0.0
    if parse_http_date(format_http_date(last_s), last_s) != math.floor(last_s):
        return f"the trace reaches to {last_s:.17g} s, beyond the year 9999, where the dates of HTTP end"
    if scenario.observed is not None and (scenario.updates.times_s % 1.0).any():
        return "updates lie between whole seconds, which a proxy that is told by Last-Modified cannot observe"
    return None


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    """As `plain.replay`, through the addon. Raises ValueError where there is an obstacle, and PlayError."""
    return Counts.total(replay_objects(scenario, policy, watch).values())


def replay_objects(scenario: Scenario, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
    """As `plain.replay_objects`, for the objects that were requested. Passes `items` to whoever watches.

    To be called in the main thread. A SIGTERM ends the process as ever, but the store and its files go first.
    """
    if (why := obstacle(scenario, policy)) is not None:
        raise ValueError(why)
    return run_tidily(_replay(scenario, policy, watch))


def items(scenario: Scenario) -> int:
    """How many requests are played: those that are counted, and those whose contacts are learnt from before."""
    return len(scenario.requests) + (0 if scenario.contacts_before is None else len(scenario.contacts_before))


async def _replay(scenario: Scenario, policy: Policy, watch: Watch) -> dict[str, Counts]:
    observed = scenario.observed
    objects = Objects(scenario.known if observed is None else observed.complete)
    clock = ManualClock(scenario.origin_s)
    async with own_store(clock) as store:
        rules = Rules(Rule(Pattern.parse("*"), policy if isinstance(policy, Bounded) else Bounded(policy)))
        site = Site(name="bestbefore", salt=b"", max_cached_body=1 << 20)
        origin = PlayedOrigin(objects, clock, tells_times=observed is not None)
        exchanges = Exchanges(clock, store, origin, rules, site, tell=lambda _: None)
        try:
            return await _count(scenario, objects, clock, store, Wire(exchanges, clock), watch)
        finally:
            await exchanges.close()


async def _count(
    scenario: Scenario, objects: Objects, clock: ManualClock, store: Store, wire: Wire, watch: Watch
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
        told = await wire.ask(url, cache, reload=cache is OBSERVER)
        await keep_up(store)
        if cache is not OBSERVER:
            met[name][told.met] += 1
            stale_hits[name] += told.met is Met.HIT and int(told.content) != objects.version(url, r)
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
    before = () if scenario.contacts_before is None else scenario.contacts_before.rows()
    yield from ((r, OBSERVER, name) for r, _, name in before)
    partition_of = scenario.cache.partition_of
    yield from ((r, f"of {partition_of(client)}", name) for r, client, name in scenario.requests.rows())


def _reports(scenario: Scenario, objects: Objects) -> Iterator[Observation]:
    """What is put into the store at its time, as if an origin had told its updates."""
    if scenario.observed is None:
        return _complete(scenario, objects)
    return iter(()) if scenario.contacts_before is not None else _told(scenario.observed, objects)


def _complete(scenario: Scenario, objects: Objects) -> Iterator[Observation]:
    """Each object at first, then each update in its time.

    They are of a variant of their own, so that nothing is compared with them.
    """

    def report(url: str, t_s: float, *times_s: float) -> Observation:
        return Observation(url, t_s, "trace", "trace", None, reported_s=times_s, reported_since_s=since_s)

    since_s = scenario.origin_s
    for url in objects.urls.values():
        yield report(url, since_s, *objects.updates_s(url, since_s))
    for time_s, name in scenario.updates.rows():
        if time_s > since_s:
            yield report(objects.urls[name], time_s, time_s)


def _told(observed: ObservedHistories, objects: Objects) -> Iterator[Observation]:
    """What is known at the test start without a contact, as if there had been one then, and the origin told all."""
    for name, record in observed.records.items():
        url, t = objects.urls[name], record.last_contact_s
        updates_s = objects.updates_s(url, t)
        seen = Fingerprint(etag(len(updates_s)), last_modified_s=max(updates_s, default=None))
        yield Observation(
            url, t, "trace", VARIANT, seen, reported_s=tuple(updates_s), reported_since_s=record.since_s
        )
