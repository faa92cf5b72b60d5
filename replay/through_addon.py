"""The trace through the very code that runs live: mitmproxy's HTTP layer, the engine, the store, the policies.

Each request is written as bytes into the layer that a client's connection feeds, under a clock that stands at the
moment of the request, with an embedded store and an origin that plays the updates. What comes back is counted by what
it says of itself (Cache-Status). Complete histories are put into the store before each request, as if the origin had
reported them. This is the proof that what is simulated is what runs, and far slower than the engines of `replay`.
"""

import asyncio
import bisect
import re
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import mitmproxy.http
from mitmproxy import options
from mitmproxy.connection import Client, Connection, ConnectionState
from mitmproxy.proxy import commands, events, mode_specs
from mitmproxy.proxy.context import Context
from mitmproxy.proxy.layers.http import HTTPMode

from bestbefore.addon.clock import ManualClock
from bestbefore.addon.domain import registrable_domain
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.answer import Answer
from bestbefore.addon.proxy.exchange import Exchanges
from bestbefore.addon.proxy.layer import CachingHttpLayer
from bestbefore.addon.proxy.origin import Fetched
from bestbefore.addon.proxy.reach import EVERYWHERE, Reach
from bestbefore.addon.proxy.wait import BestbeforeWait
from bestbefore.addon.rfc9111.dates import format_http_date
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import Pattern, Rule, Rules
from bestbefore.addon.store.opening import open_store
from bestbefore.addon.store.store import Store
from bestbefore.policies.validation.bounds import Bounded
from bestbefore.policies.validation.policy import Needs, Policy
from bestbefore.replay.counts import Counts
from bestbefore.replay.scenario import Scenario
from bestbefore.replay.watching import Watch

HOT_BYTES = 1 << 30
_FWD = re.compile(rb"cache-status: bestbefore; (?:(hit)|fwd=([a-z-]+); fwd-status=([0-9]+))", re.IGNORECASE)


class Objects:
    """The objects of a scenario as URLs: one host for each group, one path for each object."""

    def __init__(self, scenario: Scenario) -> None:
        known = scenario.known
        groups: dict[str, int] = {}
        self._urls: dict[str, str] = {}
        self._times: dict[str, list[float]] = {}
        for number, (name, history) in enumerate(known.histories.items()):
            group = groups.setdefault(known.grouping.group_of(name), len(groups))
            # Under a suffix that no list knows each name is a registrable domain, which is the default group.
            url = f"http://group{group}.test/{number}"
            self._urls[name] = url
            self._times[url] = history.times_s.tolist()

    def url(self, name: str) -> str:
        """The URL of an object."""
        return self._urls[name]

    def urls(self) -> Iterator[str]:
        """All of them."""
        return iter(self._times)

    def version(self, url: str, now_s: float) -> int:
        """How many updates the object has had."""
        return bisect.bisect_right(self._times[url], now_s)


class PlayedOrigin:
    """Answers with what each object is at the clock's moment: its content is the number of its version."""

    def __init__(self, objects: Objects, clock: ManualClock) -> None:
        self._objects = objects
        self._clock = clock

    async def fetch(self, request: Request, *, reach: Reach = EVERYWHERE) -> Fetched:  # noqa: ARG002
        """As `addon.proxy.origin.Origin.fetch`, at once and without network."""
        now_s = self._clock.now()
        version = self._objects.version(request.target.url, now_s)
        fields = Fields((("Date", format_http_date(now_s)), ("ETag", f'"{version}"')))
        if request.fields.get("if-none-match") == f'"{version}"':
            return Fetched(Head(304, fields), now_s, now_s, _content(b""), 0)
        body = str(version).encode()
        head = Head(200, fields.added(("Content-Length", str(len(body)))))
        return Fetched(head, now_s, now_s, _content(body), len(body))


async def _content(body: bytes) -> AsyncGenerator[bytes]:
    if body:
        yield body


class ReplayGateway:
    """What the layer asks, as `layer.Gateway`: the live exchanges, with the cache of the present client."""

    announce = False

    def __init__(self, exchanges: Exchanges, clock: ManualClock) -> None:
        self.partition = ""
        self._exchanges = exchanges
        self._clock = clock

    def takes(self, request: mitmproxy.http.Request, client: Client) -> bool:  # noqa: ARG002
        """All requests of a trace."""
        return True

    def hit(self, request: Request, client: Client) -> Answer | None:
        """See `Exchanges.hit`."""
        return self._exchanges.hit(replace(request, partition=self.partition), client)

    async def answer(self, request: Request, client: Client) -> Answer:
        """See `Exchanges.answer`."""
        return await self._exchanges.answer(replace(request, partition=self.partition), client)

    async def drained(self, client: Client) -> None:
        """Nothing is kept waiting here."""

    def hear(self, connection: Connection, client: Client, *, on: bool) -> None:
        """The client sends one request at a time."""

    def now(self) -> float:
        """Policy time, s."""
        return self._clock.now()


class Wire:
    """A client's connection to the layer: bytes in, bytes out."""

    def __init__(self, gateway: ReplayGateway) -> None:
        settings = options.Options()
        settings.add_option("validate_inbound_headers", bool, True, "As mitmproxy's proxy server declares it.")  # noqa: FBT003
        client = Client(
            peername=("127.0.0.1", 1),
            sockname=("127.0.0.1", 2),
            timestamp_start=0.0,
            state=ConnectionState.OPEN,
            proxy_mode=mode_specs.ProxyMode.parse("regular"),
        )
        self._client = client
        self._layer = CachingHttpLayer(Context(client, settings), HTTPMode.regular, gateway)
        list(self._layer.handle_event(events.Start()))

    async def ask(self, url: str) -> bytes:
        """The answer to a GET of this URL, head and content."""
        host = url.split("/", 3)[2]
        message = f"GET {url} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
        answer = b""
        pending: list[events.Event] = [events.DataReceived(self._client, message)]
        while pending:
            waits: list[BestbeforeWait] = []
            for command in self._layer.handle_event(pending.pop(0)):
                if isinstance(command, commands.SendData):
                    answer += command.data
                elif isinstance(command, BestbeforeWait):
                    waits.append(command)
            for wait in waits:
                await wait.work.run()
                pending.append(events.HookCompleted(wait))
        return answer


def obstacle(scenario: Scenario, policy: Policy) -> str | None:
    """Why the scenario cannot be replayed through the addon under the policy; None if it can."""
    if scenario.observed is not None:
        return "histories are put into the store as if the origin told them, so they are complete"
    return None if policy.needs is Needs.PAST else f"the proxy cannot run it: it needs {policy.needs.value}"


def replay(scenario: Scenario, policy: Policy, watch: Watch = iter) -> Counts:
    """As `plain.replay`, through the addon. Raises ValueError where there is an obstacle."""
    return Counts.total(replay_objects(scenario, policy, watch).values())


def replay_objects(scenario: Scenario, policy: Policy, watch: Watch = iter) -> dict[str, Counts]:
    """As `plain.replay_objects`, for the objects that were requested."""
    if (why := obstacle(scenario, policy)) is not None:
        raise ValueError(why)
    return asyncio.run(_replay(scenario, policy, watch))


async def _replay(scenario: Scenario, policy: Policy, watch: Watch) -> dict[str, Counts]:
    objects = Objects(scenario)
    clock = ManualClock(0.0)
    async with _store(clock) as store:
        bounded = policy if isinstance(policy, Bounded) else Bounded(policy)
        rules = Rules(Rule(Pattern.parse("*"), bounded))
        site = Site(name="bestbefore", salt=b"", max_cached_body=1 << 20)
        origin = PlayedOrigin(objects, clock)
        exchanges = Exchanges(clock, store, origin, rules, site, tell=lambda _: None)
        gateway = ReplayGateway(exchanges, clock)
        wire = Wire(gateway)
        try:
            return await _count(scenario, objects, clock, store, gateway, wire, watch)
        finally:
            await exchanges.close()


async def _count(
    scenario: Scenario,
    objects: Objects,
    clock: ManualClock,
    store: Store,
    gateway: ReplayGateway,
    wire: Wire,
    watch: Watch,
) -> dict[str, Counts]:
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reports = _reports(scenario, objects)
    report = next(reports, None)
    for r, client, name in watch(scenario.requests.rows()):
        while report is not None and report.t_s <= r:
            clock.set(report.t_s)
            await store.learn(report)
            report = next(reports, None)
        clock.set(r)
        gateway.partition = scenario.cache.partition_of(client)
        url = objects.url(name)
        head, _, body = (await wire.ask(url)).partition(b"\r\n\r\n")
        told = _FWD.search(head)
        if told is None:
            raise RuntimeError(f"{url} was answered with {head!r}")
        own = outcomes[name]
        if told[1]:
            own["hits"] += 1
            own["stale_hits"] += int(body) != objects.version(url, r)
        elif told[2] == b"uri-miss":
            own["misses"] += 1
        else:
            own["validations"] += 1
            own["unnecessary"] += told[3] == b"304"
    return {
        name: Counts(own["misses"], own["hits"], own["stale_hits"], own["validations"], own["unnecessary"])
        for name, own in outcomes.items()
    }


def _reports(scenario: Scenario, objects: Objects) -> Iterator[Observation]:
    """What an origin that tells all its updates would have told: each object at first, then each update in its time.

    They are of a variant of their own, so that nothing is compared with them.
    """

    def report(url: str, t_s: float, *times_s: float) -> Observation:
        return Observation(url, t_s, "trace", "trace", None, reported_s=times_s, reported_since_s=since_s)

    since_s = next((history.since_s for history in scenario.known.histories.values()), 0.0)
    at_first = {url: [since_s] if objects.version(url, since_s) else [] for url in objects.urls()}
    for url, times_s in at_first.items():
        yield report(url, since_s, *times_s)
    for time_s, name in scenario.updates.rows():
        if time_s > since_s:
            yield report(objects.url(name), time_s, time_s)


@asynccontextmanager
async def _store(clock: ManualClock) -> AsyncGenerator[Store]:
    """An embedded store of its own, gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="bestbefore-") as folder:
        store = await open_store(
            "embedded",
            clock=clock,
            domain_of=registrable_domain,
            state=Path(folder),
            clock_mark="accelerated",
            hot_max=HOT_BYTES,
        )
        try:
            yield store
        finally:
            await store.close()
