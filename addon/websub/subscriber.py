"""The companion that subscribes to hubs, and takes their pushes as signals."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from enum import StrEnum
from functools import partial
from urllib.parse import urljoin

from bestbefore.addon.engine.request import marked
from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.subscription import PushProof, PushState, PushSubscription
from bestbefore.addon.prefetch_limits import PrefetchLimits
from bestbefore.addon.prefetcher.eligibility import ASKED_RANGES, Refusal
from bestbefore.addon.prefetcher.watching import watched_fetch_of
from bestbefore.addon.proxy.access.reach import Reach
from bestbefore.addon.proxy.companion import Companion
from bestbefore.addon.proxy.origin.contact import OriginError
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.service import Service
from bestbefore.addon.proxy.signals.signals import WEBSUB
from bestbefore.addon.rfc9111.message import Fields, Request, Target
from bestbefore.addon.websub.listener import HubListener
from bestbefore.addon.websub.subscriptions import MOST, Subscriptions, ranges_wanted

logger = logging.getLogger(__name__)

TICK_S = 1.0
DEMAND_S = 60.0
"""How often the demand is read; more often after an object has declared a hub. Both in real seconds."""
REQUEST_S = 30.0
"""How long a hub may take to answer, in real seconds."""
CONCURRENT = 4
"""How many hubs are asked at a time."""
REDIRECTS = 2
TRUSTED_RECALL = 0.5
"""From which share of announced changes on polls fall to their floor."""


class _Step(StrEnum):
    """What is to be done about a subscription; the first two are modes of requests to hubs."""

    SUBSCRIBE = "subscribe"
    UNSUBSCRIBE = "unsubscribe"
    END = "end"
    """The hub has not verified the end: it is over all the same."""


class WebSubSubscriber(Companion):
    """Keeps the subscriptions of a proxy, if `[websub]` is set. Proxies with one store and callback share them."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._settings = service.config.websub  # all of it needs a restart
        self._listener: HubListener | None = None
        self._subscriptions: Subscriptions | None = None
        self._running: asyncio.Task[None] | None = None
        self._wanted: Mapping[str, tuple[str, ...]] = {}
        """The objects in demand or watched, with the private ranges from which they were requested."""
        self._wait_s = TICK_S
        """How long after a reading of the demand the next follows; it doubles after an object has declared a hub."""
        self._asking: dict[str, asyncio.Task[None]] = {}
        """The requests under way, by the host of the hub."""
        self._looked_at: frozenset[str] = frozenset()
        """The objects whose demand was read the last time."""
        self._queued: list[Callable[[Subscriptions], object]] = []
        """The changes of subscriptions that wait for the next tick."""
        self._announced: Mapping[str, PushSubscription] = {}
        """The subscriptions of which prefetching and the evidence are informed."""
        self._relied_on: dict[str, float] = {}
        """Until when pushes take the place of polls, as prefetching has it, by URL; 0: they do not."""
        self._own_pushes: dict[str, float] = {}
        """When the last push came to this process, by URL."""

    @property
    def counts_demand(self) -> bool:
        return self._settings.enabled

    async def start(self) -> None:
        """Listen, and go on with the subscriptions in the store; of several workers only the first listens and asks.

        Raises StartError.
        """
        settings, service = self._settings, self._service
        if not settings.enabled or service.settings.offline:
            return
        assert settings.listen is not None
        assert settings.callback_url is not None
        known = self._subscriptions = Subscriptions(service.store.positions, settings.callback_url)
        await known.read()
        for one in known:
            if await service.store.record(one.url) is None:  # it was forgotten while no proxy ran
                self._queued.append(partial(Subscriptions.forget, url=one.url))
        self._announce_changes(known)
        if service.place.is_first:
            self._listener = await HubListener.start(settings.listen.host, settings.listen.port, self)
        service.signals.on_hub, service.signals.on_forgotten = self._declared, self._forget
        self._running = asyncio.create_task(self._run(known))

    async def close(self) -> None:
        """Stop listening. The subscriptions go on, and are taken over at the next start."""
        for task in (*self._asking.values(), *((self._running,) if self._running else ())):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._listener is not None:
            await self._listener.close()
        if self._subscriptions is not None:
            await self._apply_queued(self._subscriptions)

    # What hubs ask and send: `listener.Callbacks`

    async def secret_of(self, path: str) -> str | None:
        """Return the secret of the subscription with this path, unless it is none yet."""
        assert self._subscriptions is not None
        await self._subscriptions.read()
        one = self._subscriptions.at(path)
        return None if one is None or one.state is PushState.KNOWN else one.secret

    async def verify(self, path: str, query: Mapping[str, str]) -> str | None:
        """Return the challenge that confirms what was asked of the hub; empty for a denial; None: it was not asked."""
        assert self._subscriptions is not None
        now_s = self._service.clock.now()

        def answered(known: Subscriptions) -> PushSubscription | None:
            one = known.at(path)
            found = None if one is None else one.denied(query, now_s) or one.verified(query, now_s)
            if found is not None:
                known.put(found)
            return found

        found = await self._subscriptions.update(answered)
        if found is None:
            return None
        self._announce_changes(self._subscriptions)
        is_denied = found.state is PushState.DENIED
        self._count("denied" if is_denied else "verified")
        if is_denied:
            logger.info("the hub of %s has refused the subscription", found.url)
            return ""
        return query["hub.challenge"]

    async def pushed(self, path: str, proof: PushProof) -> None:
        """Take a push as a signal: of this moment if it is signed, else of no known time."""
        assert self._subscriptions is not None
        one, now_s = self._subscriptions.at(path), self._service.clock.now()
        if one is None or not one.is_live(now_s) or proof is PushProof.FORGED:
            self._count("forged" if proof is PushProof.FORGED else "unexpected")
            return
        self._count(proof)
        at_s = now_s if proof is PushProof.SIGNED else None
        self._queued.append(partial(Subscriptions.note_push, path=path, at_s=now_s, is_signed=at_s is not None))
        self._own_pushes[one.url] = now_s
        await self._service.signals.announced(one.url, at_s, WEBSUB, one.pushed_s)

    # What is asked of hubs

    def _declared(self, url: str, found: DeclaredHubs) -> None:
        known = self._subscriptions
        if known is not None and not known.has_declared(url, found):
            self._queued.append(partial(Subscriptions.declared, url=url, found=found))
            self._wait_s = TICK_S

    def _forget(self, matches: Callable[[str], bool]) -> None:
        """Remove subscriptions; hubs find out by the next push, which has no callback any more."""
        for one in self._subscriptions or ():
            if matches(one.url):
                self._queued.append(partial(Subscriptions.forget, url=one.url))

    async def _apply_queued(self, known: Subscriptions) -> None:
        """Make the changes that wait; while the store is down they go on waiting."""
        changes = self._queued[:MOST]

        def apply(known: Subscriptions) -> bool:
            for change in changes:
                change(known)
            return True

        if not changes:
            await known.read()
            return
        applied = await known.update(apply)
        if applied:
            del self._queued[: len(changes)]
        del self._queued[:-MOST]

    async def _run(self, known: Subscriptions) -> None:
        read_s = -DEMAND_S
        while True:
            try:
                await self._apply_queued(known)
                self._announce_changes(known)
                self._service.signals.judge_pushes({one.url: one.pushed_s for one in known})
                now_s, mono_s = self._service.clock.now(), self._service.clock.monotonic()
                if self._service.place.is_first:
                    if mono_s - read_s >= self._wait_s:
                        self._wait_s = min(2.0 * self._wait_s, DEMAND_S)
                        self._wanted, read_s = await self._read_wanted(known), mono_s
                    for one in known:
                        await self._attend(known, one.url, now_s)
            except Exception:
                logger.exception("subscriptions are tried again: this is a bug in bestbefore")
            await asyncio.sleep(TICK_S)

    async def _read_wanted(self, known: Subscriptions) -> Mapping[str, tuple[str, ...]]:
        service = self._service
        urls, watched = [one.url for one in known], service.config.prefetch.watched
        asked = await service.store.planning.asked(urls, ASKED_RANGES) if urls else []
        if asked is None:
            return self._wanted
        self._looked_at, wanted = frozenset(urls), {}
        for url, ranges in zip(urls, asked, strict=True):
            stays = url in watched or self._limits(url).prefetch == "always"
            found = ranges_wanted(ranges, self._wanted.get(url, ()), stays=stays)
            if found is not None:
                wanted[url] = found
        return wanted

    def _next_step(self, one: PushSubscription | None, now_s: float) -> _Step | None:
        """Return what is to be done about a subscription now; None if nothing."""
        if one is None or one.url not in self._looked_at:
            return None
        if one.state is PushState.ENDING:
            return _Step.END if now_s >= one.due_s() else None
        is_wanted = one.url in self._wanted and self._is_allowed(one)
        if is_wanted and now_s >= one.due_s():
            return _Step.SUBSCRIBE
        return _Step.UNSUBSCRIBE if not is_wanted and one.is_live(now_s) else None

    async def _attend(self, known: Subscriptions, url: str, now_s: float) -> None:
        """Ask the hub of a subscription if it is time. Of several proxies the first one that has noted so does."""

        def noted(known: Subscriptions) -> tuple[PushSubscription, _Step] | None:
            one = known.of(url)
            step = self._next_step(one, now_s)
            if one is None or step is None:
                return None
            if step is _Step.END:
                known.put(replace(one, state=PushState.KNOWN, until_s=0.0))
                return None
            if step is _Step.SUBSCRIBE and one.passes_on(now_s):
                one = known.pass_on(one, now_s)
            if Target.parse(one.hub).host in self._asking:
                return None
            then = one.asked(now_s) if step is _Step.SUBSCRIBE else one.ending(now_s)
            known.put(then)
            return then, step

        if self._next_step(known.of(url), now_s) is None or len(self._asking) >= CONCURRENT:
            return
        found = await known.update(noted)
        if found is not None:
            one, step = found
            self._announce_changes(known)
            host = Target.parse(one.hub).host
            task = self._asking[host] = asyncio.create_task(self._send(one, step))
            task.add_done_callback(lambda _: self._asking.pop(host, None))

    def _limits(self, url: str) -> PrefetchLimits:
        own = Target.parse(url)
        return self._service.config.rules.rule_for(own.host, own.path).prefetch_limits

    def _is_allowed(self, one: PushSubscription) -> bool:
        """Whether the owner allows requests to the hub, and requests for the object without a client."""
        service, own, hub = self._service, Target.parse(one.url), Target.parse(one.hub)
        passed = service.settings.is_passthrough(own.host) or service.settings.is_passthrough(hub.host)
        return self._limits(one.url).prefetch != "never" and not passed and "@" not in one.hub

    async def _send(self, one: PushSubscription, step: _Step) -> None:
        """Send a request to a hub, and log if it does not accept it."""
        service = self._service
        copies = (await service.store.copies(one.url)).copies
        agent = service.config.prefetch.user_agent
        found = watched_fetch_of(one.url, copies, self._wanted.get(one.url, ()), agent)
        if isinstance(found, Refusal) and step is _Step.SUBSCRIBE:
            self._count("refused")
            return  # no other hub would be asked either
        if isinstance(found, Refusal):  # a subscription ends though its object may not be fetched any more
            reach = Reach(frozenset(copy.range for copy in copies if copy.range))
        else:
            reach = found[1]
        content = one.form(step, f"{self._settings.callback_url}/{one.path}")
        lines = Fields([("Content-Type", "application/x-www-form-urlencoded"), ("User-Agent", agent)])
        fields, url = marked(lines, service.site), one.hub
        try:
            async with asyncio.timeout(REQUEST_S):
                for _ in range(1 + REDIRECTS):
                    upload = Upload(len(content))
                    upload.feed(content)
                    upload.end()
                    request = Request("POST", Target.parse(url), fields, has_body=True)
                    fetched = await service.origin.fetch(request, reach=reach, upload=upload)
                    fetched.close()
                    location = fetched.head.fields.first("location")
                    if fetched.head.status not in (307, 308) or not location:
                        break
                    url = urljoin(url, location)
        except (OriginError, TimeoutError, ValueError) as error:
            self._count("unanswered")
            logger.debug("the hub of %s does not answer: %s", one.url, error)
            await self._refused(one)
            return
        accepted = 200 <= fetched.head.status < 300
        self._count("asked" if accepted else "refused")
        if not accepted:
            logger.debug("the hub of %s answers %d", one.url, fetched.head.status)
            await self._refused(one)

    async def _refused(self, asked: PushSubscription) -> None:
        """Note that a hub has not accepted what it was asked for, unless it has answered otherwise meanwhile."""
        assert self._subscriptions is not None
        now_s = self._service.clock.now()

        def noted(known: Subscriptions) -> None:
            if asked.state is PushState.ASKED and known.at(asked.path) == asked:
                known.put(asked.refused(now_s))

        await self._subscriptions.update(noted)

    def _announce_changes(self, known: Subscriptions) -> None:
        """Inform prefetching and the evidence of what has changed, here or in other processes, and with time."""
        before, self._announced = self._announced, {one.url: one for one in known}
        for url in before.keys() - self._announced.keys():
            self._service.signals.pushed_since(url, None)
            self._rely_until(url, 0.0)
            del self._relied_on[url]
            self._own_pushes.pop(url, None)
        for one in known:
            self._announce(one)
            last = before.get(one.url)
            if last is not None and one.pushed_s > max(last.pushed_s, self._own_pushes.get(one.url, 0.0)):
                self._service.signals.pushed_elsewhere(one.url, one.pushed_s, is_signed=one.is_signed)

    def _announce(self, one: PushSubscription) -> None:
        """Inform prefetching and the evidence whether pushes are due, and whether enough of them come."""
        signals, live = self._service.signals, one.is_live(self._service.clock.now())
        signals.pushed_since(one.url, one.since_s if live else None)
        relied_on = live and signals.evidence(one.url, WEBSUB).recall >= TRUSTED_RECALL
        self._rely_until(one.url, one.until_s if relied_on else 0.0)

    def _rely_until(self, url: str, until_s: float) -> None:
        if self._relied_on.get(url) != until_s:
            self._relied_on[url] = until_s
            self._service.pushed_until(url, until_s)

    def _count(self, result: str) -> None:
        self._service.metrics.websub.labels(result).inc()
