"""The companion that subscribes to hubs, and takes their pushes for signals."""

import asyncio
import logging
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from urllib.parse import urljoin

from bestbefore.addon.engine.request import marked
from bestbefore.addon.engine.signals.links import DeclaredHubs
from bestbefore.addon.engine.signals.subscription import PushProof, PushState, PushSubscription
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
from bestbefore.addon.websub.subscriptions import Subscriptions, ranges_wanted
from bestbefore.addon.wishes import Wishes

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


class WebSubSubscriber(Companion):
    """The subscriptions of a proxy, if the configuration enables them."""

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

    @property
    def counts_demand(self) -> bool:
        return self._settings.enabled

    async def start(self) -> None:
        """Listen, and take over the subscriptions in the store. Raises StartError."""
        settings, service = self._settings, self._service
        if not settings.enabled or service.settings.offline:
            return
        assert settings.listen is not None
        assert settings.callback_url is not None
        known = self._subscriptions = Subscriptions(service.store.positions, settings.callback_url)
        await known.read()
        for one in known:
            if await service.store.record(one.url) is None:
                known.forget(one.url)  # it was forgotten while no proxy ran
            else:
                self._announce(one)
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
            await self._subscriptions.write()

    # What hubs ask and send: `listener.Callbacks`

    def secret_of(self, path: str) -> str | None:
        """Return the secret of the subscription with this path, unless it is none yet."""
        one = self._subscriptions.at(path) if self._subscriptions is not None else None
        return None if one is None or one.state is PushState.KNOWN else one.secret

    def verify(self, path: str, query: Mapping[str, str]) -> str | None:
        """Return the challenge that confirms what was asked of the hub; empty for a denial; None: it was not asked."""
        assert self._subscriptions is not None
        one, now_s = self._subscriptions.at(path), self._service.clock.now()
        denied = None if one is None else one.denied(query, now_s)
        found = denied or (None if one is None else one.verified(query, now_s))
        if found is None:
            return None
        self._subscriptions.put(found)
        self._announce(found)
        self._count("denied" if denied else "verified")
        if denied:
            logger.info("the hub of %s has refused the subscription", found.url)
            return ""
        return query["hub.challenge"]

    async def pushed(self, path: str, proof: PushProof) -> None:
        """Take a push for a signal: of this moment if it is signed, else of no known time."""
        assert self._subscriptions is not None
        one, now_s = self._subscriptions.at(path), self._service.clock.now()
        if one is None or not one.is_live(now_s) or proof is PushProof.FORGED:
            self._count("forged" if proof is PushProof.FORGED else "unexpected")
            return
        self._count(proof)
        self._subscriptions.put(one.pushed(now_s))
        await self._service.signals.announced(one.url, now_s if proof is PushProof.SIGNED else None, WEBSUB)

    # What is asked of hubs

    def _declared(self, url: str, found: DeclaredHubs) -> None:
        if self._subscriptions is not None:
            self._wait_s = TICK_S if self._subscriptions.declared(url, found) else self._wait_s

    def _forget(self, matches: Callable[[str], bool]) -> None:
        """Remove subscriptions; hubs find out by the next push, which has no callback any more."""
        for one in self._subscriptions or ():
            if matches(one.url):
                self._service.signals.pushed_since(one.url, None)
                if self._subscriptions is not None:
                    self._subscriptions.forget(one.url)

    async def _run(self, known: Subscriptions) -> None:
        read_s = -DEMAND_S
        while True:
            try:
                now_s, mono_s = self._service.clock.now(), self._service.clock.monotonic()
                if mono_s - read_s >= self._wait_s:
                    self._wait_s = min(2.0 * self._wait_s, DEMAND_S)
                    self._wanted, read_s = await self._read_wanted(known), mono_s
                for one in known:
                    self._attend(one, now_s)
                await known.write()
            except Exception:
                logger.exception("subscriptions are tried again: this is a bug in bestbefore")
            await asyncio.sleep(TICK_S)

    async def _read_wanted(self, known: Subscriptions) -> Mapping[str, tuple[str, ...]]:
        service = self._service
        urls, watched = [one.url for one in known], service.config.prefetch.watched
        asked = await service.store.planning.asked(urls, ASKED_RANGES) if urls else []
        if asked is None:
            return self._wanted
        wanted = {}
        for url, ranges in zip(urls, asked, strict=True):
            stays = url in watched or self._wishes(url).prefetch == "always"
            found = ranges_wanted(ranges, self._wanted.get(url, ()), stays=stays)
            if found is not None:
                wanted[url] = found
        return wanted

    def _attend(self, one: PushSubscription, now_s: float) -> None:
        """Ask the hub of a subscription if it is time."""
        known = self._subscriptions
        assert known is not None
        if one.state is PushState.ENDING and now_s >= one.due_s():
            known.put(replace(one, state=PushState.KNOWN, until_s=0.0))
            return
        is_wanted = one.url in self._wanted and self._is_allowed(one)
        if is_wanted and one.state is not PushState.ENDING and now_s >= one.due_s():
            if one.passes_on(now_s):
                known.pass_on(one, now_s)  # which is due at once
                return
            self._ask(one, "subscribe", one.asked(now_s))
        elif not is_wanted and one.is_live(now_s):
            self._ask(one, "unsubscribe", one.ending(now_s))

    def _wishes(self, url: str) -> Wishes:
        own = Target.parse(url)
        return self._service.config.rules.rule_for(own.host, own.path).wishes

    def _is_allowed(self, one: PushSubscription) -> bool:
        """Whether the owner allows requests to the hub, and requests for the object without a client."""
        service, own, hub = self._service, Target.parse(one.url), Target.parse(one.hub)
        passed = service.settings.is_passthrough(own.host) or service.settings.is_passthrough(hub.host)
        return self._wishes(one.url).prefetch != "never" and not passed and "@" not in one.hub

    def _ask(self, one: PushSubscription, mode: str, then: PushSubscription) -> None:
        host = Target.parse(one.hub).host
        if host in self._asking or len(self._asking) >= CONCURRENT:
            return
        known = self._subscriptions
        assert known is not None
        known.put(then)
        if mode == "unsubscribe":
            self._announce(then)
        task = self._asking[host] = asyncio.create_task(self._send(then, mode))
        task.add_done_callback(lambda _: self._asking.pop(host, None))

    async def _send(self, one: PushSubscription, mode: str) -> None:
        """Send a request to a hub, and log if it does not accept it."""
        service = self._service
        copies = (await service.store.copies(one.url)).copies
        agent = service.config.prefetch.user_agent
        found = watched_fetch_of(one.url, copies, self._wanted.get(one.url, ()), agent)
        if isinstance(found, Refusal) and mode == "subscribe":
            self._count("refused")
            return  # no other hub would be asked either
        if isinstance(found, Refusal):  # a subscription ends though its object may not be fetched any more
            reach = Reach(frozenset(copy.range for copy in copies if copy.range))
        else:
            reach = found[1]
        content = one.form(mode, f"{self._settings.callback_url}/{one.path}")
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
            self._refused(one)
            return
        accepted = 200 <= fetched.head.status < 300
        self._count("asked" if accepted else "refused")
        if not accepted:
            logger.debug("the hub of %s answers %d", one.url, fetched.head.status)
            self._refused(one)

    def _refused(self, asked: PushSubscription) -> None:
        """Note that a hub has not accepted what it was asked for, unless it has answered otherwise meanwhile."""
        assert self._subscriptions is not None
        if asked.state is PushState.ASKED and self._subscriptions.at(asked.path) == asked:
            self._subscriptions.put(asked.refused(self._service.clock.now()))

    def _announce(self, one: PushSubscription) -> None:
        """Inform prefetching and the evidence whether pushes are due."""
        service, now_s = self._service, self._service.clock.now()
        live = one.is_live(now_s)
        service.signals.pushed_since(one.url, one.since_s if live else None)
        relied_on = live and service.signals.evidence(one.url, WEBSUB).recall >= TRUSTED_RECALL
        service.pushed_until(one.url, one.until_s if relied_on else 0.0)

    def _count(self, result: str) -> None:
        self._service.metrics.websub.labels(result).inc()
