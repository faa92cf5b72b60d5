"""The exchange of one request for its answer, by the engine's decisions, with store and origin.

This is the shell's main path. It decides nothing: `engine` and the policies do.
"""

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from mitmproxy.connection import Client

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import feed_delta, heads, piggyback
from bestbefore.addon.engine.channel.coverage import Coverage
from bestbefore.addon.engine.equivalence import equivalent, on_equivalent
from bestbefore.addon.engine.partial.decision import ServeParts, may_use_parts, on_parts
from bestbefore.addon.engine.request import Ask, Decision, Load, Refuse, Serve, ask_again, on_passed_through, on_request
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.access import is_restricted, peer_of
from bestbefore.addon.proxy.access.new_objects import NewObjects
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, Reach
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.collecting import AnswerCollector
from bestbefore.addon.proxy.exchange.contacts import Contacts
from bestbefore.addon.proxy.exchange.context import Contact, Pending, Prefetched, RequestContext
from bestbefore.addon.proxy.exchange.dictionaries import Dictionaries
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.exchange.hit import Hits, note_hit
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.exchange.relaying import AnswerRelayer
from bestbefore.addon.proxy.exchange.sharing.flight import Flights
from bestbefore.addon.proxy.exchange.sharing.hit_for_miss import HitForMiss
from bestbefore.addon.proxy.exchange.sharing.joining import RequestJoiner
from bestbefore.addon.proxy.exchange.sharing.rest_reader import RestReader
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.feeds.deltas import Deltas
from bestbefore.addon.proxy.feeds.feeds import FeedReader
from bestbefore.addon.proxy.feeds.upstream_deltas import UpstreamDeltas
from bestbefore.addon.proxy.origin.contact import OriginError, Source
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.proxy.partial.stored_parts import StoredParts
from bestbefore.addon.proxy.signals.signals import Signals
from bestbefore.addon.rfc9111.caching.personal import client_hash
from bestbefore.addon.rfc9111.conditional.parts import as_complete, partition_of
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Fields, Head, Request
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.backend.interface import CopySet
from bestbefore.addon.store.store import Store


class Exchanges:
    """Answers requests from the store and the origin."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        origin: Source,
        rules: Rules,
        site: Site,
        on_answered: Callable[[Answered], None],
        budget: Budget | None = None,
        flights: Flights | None = None,
        hit_for_miss: HitForMiss | None = None,
        new_objects: NewObjects | None = None,
        counts_demand: Callable[[], bool] = lambda: False,
        proxy_credentials: Callable[[Client, Fields], str] = lambda _client, _fields: "",
        proxy_user: Callable[[Client, Fields], str] = lambda _client, _fields: "",
        evaluator: ExpiryEvaluator | None = None,
        signals: Signals | None = None,
    ) -> None:
        """`budget` bounds the content in flight; None: no bound. `evaluator`: None: one for these rules.

        `counts_demand`: whether the store counts which networks request which object, for prefetching.
        `proxy_credentials` returns the credentials that a client sent to the proxy with these fields or before, and
        `proxy_user` the user whose valid credentials these are.
        """
        self._clock = clock
        self._origin = origin
        self._proxy_credentials = proxy_credentials
        self._proxy_user = proxy_user
        self._store = store
        self._active = ActiveConfig(rules, replace(site, siblings=store.sites))
        self._evaluator = evaluator or ExpiryEvaluator(store, lambda: self._active.rules)
        self._answers = AnswerBuilder(clock, self._active, on_answered)
        self._hits = Hits(clock, store, self._active, self._answers, on_answered, counts_demand)
        self._background = BackgroundTasks()
        feeds = FeedReader()
        budget = budget or Budget()
        self._stored = StoredContent(store, budget)
        self._parts = StoredParts(store, self._stored, budget)
        signals = signals or Signals(clock, store)
        collector = AnswerCollector(
            clock, store, self._evaluator, self._active, feeds, budget, self._parts, signals, self._background
        )
        contacts = Contacts(
            clock,
            store,
            origin,
            self._evaluator,
            self._active,
            self._answers,
            self._stored,
            collector,
            AnswerRelayer(clock, store, origin, self._active, self._answers, collector, budget),
            self._parts,
            new_objects or NewObjects(),
            Dictionaries(store, self._stored),
            UpstreamDeltas(self._stored),
        )
        self._joiner = RequestJoiner(
            clock, store, self._active, self._answers, contacts, flights or Flights(), hit_for_miss or HitForMiss()
        )
        self._deltas = Deltas(store, feeds)

    @property
    def site(self) -> Site:
        """The settings of the whole proxy on which decisions depend."""
        return self._active.site

    def reconfigured(self, rules: Rules, site: Site) -> None:
        """Apply new rules from the next request on; copies are evaluated again when they are next used."""
        self._active.rules, self._active.site = rules, replace(site, siblings=self._store.sites)
        self._evaluator.forget()

    def covered(self, coverage: Coverage | None) -> None:
        """Take the copies that a channel covers for current from the next request on."""
        self._active.site = replace(self._active.site, coverage=coverage)

    async def close(self) -> None:
        """Stop the background tasks."""
        await self._background.close()

    def decide(
        self, request: Request, client: Client, started_s: float | None = None, *, passes_through: bool = False
    ) -> Answer | Pending:
        """Return the answer if a copy in memory gives it, else the pending decision.

        Does no I/O.

        `started_s`: when the first byte of the request was read, by the monotonic clock; None: now.
        `passes_through`: the request is forwarded without use of the cache.
        """
        now_s = self._clock.now()
        rule = self._rule(request)
        if passes_through:
            forwarded = on_passed_through(request, self.site)
            return Pending(self._context(request, client, now_s, started_s), client, rule, forwarded)
        in_memory = self._store.hot(request.target.url, request.partition)
        copies: tuple[Copy, ...] = ()
        complete = False
        if in_memory is not None:
            copies, complete = self._visible_to(request, client, in_memory.copies), in_memory.complete
            if any(copy.rule != rule.key for copy in copies):
                copies, complete = (), False  # their expiry must be evaluated, which needs the store
        decision = on_request(request, copies, rule, self.site, now_s, complete=complete)
        context = self._context(request, client, now_s, started_s)
        if in_memory is not None and isinstance(decision, Serve) and decision.refresh is None:
            answer = self._hits.from_memory(context, decision, in_memory, rule)
            if answer is not None:
                return answer
        return Pending(context, client, rule, decision, copies, in_memory)

    async def answer(self, pending: Pending, interim: Interim = no_interim, upload: Upload | None = None) -> Answer:
        """Return the answer, from the store or, if necessary, the origin. `interim` gets interim responses.

        `upload`: the content of the request.
        """
        pending.context.upload = upload
        try:
            return await self._answer(pending, interim)
        finally:
            self._store.contact_leases.drop_unused(pending.context.lease)

    async def _answer(self, pending: Pending, interim: Interim) -> Answer:
        context, client, rule, request = pending.context, pending.client, pending.rule, pending.context.request
        context.client_hash = self._hash_of(request, client)
        if feed_delta.A_IM in request.fields or piggyback.WANT in request.fields:
            context.ready = None  # the answer may become a delta, or get the object's history
        upload = context.upload
        decision, copies, may_have_parts = await self._looked_up(pending)
        while isinstance(decision, Serve):
            body = await self._stored.of(decision.copy)
            if body is not None:
                if decision.refresh is not None:
                    background = self._context(request, client, context.record.time_s, background=True)
                    self._joiner.refresh(Contact(background, decision.refresh, rule, self._background))
                answer = self._hits.served(context, decision, body, rule)
                break
            # Its content is gone (evicted, for example): decide without this copy.
            missing = decision.copy
            copies = tuple(copy for copy in copies if copy is not missing)
            decision = on_request(request, copies, rule, self.site, context.record.time_s)
        by_parts = await self._by_parts(context, client, rule, decision, copies) if may_have_parts else decision
        if isinstance(by_parts, Answer):
            self._hits.count(request, context.record.client)
            return by_parts
        decision = by_parts
        if isinstance(decision, Refuse):
            return self._answers.refused(context, decision.status, decision.detail)
        if isinstance(decision, Ask):
            context.decided_on = copies
            pass_interim = partial(_pass_interim, interim, self.site) if rule.interim else no_interim
            answer = await self._joiner.ask(Contact(context, decision, rule, self._background, pass_interim, upload))
            if decision.bypass:
                return answer
        if not answer.is_refusal:
            self._hits.count(request, context.record.client)
        try:
            await self._deltas.shorten(answer, context, rule)
        except OriginError as error:
            return self._answers.failed(context, error)
        return await self._with_history(answer, request, rule)

    async def _looked_up(self, pending: Pending) -> tuple[Decision, tuple[Copy, ...], bool]:
        """Return the decision with what the store has, its copies, and whether the object may have stored parts."""
        request, client, rule = pending.context.request, pending.client, pending.rule
        now_s = pending.context.record.time_s
        decision, copies, may_have_parts = pending.decision, pending.copies, True
        loads = isinstance(decision, Load) or self._is_outdated(pending)
        if not loads and (isinstance(decision, Serve) or (isinstance(decision, Ask) and decision.bypass)):
            return decision, copies, may_have_parts
        copy_set, other, pending.context.lease = await self._store.look_up(
            request.target.url,
            request.partition,
            copies=loads,
            lease=self._joiner.contact_name(request, rule) if loads and pending.context.upload is None else None,
        )
        pending.context.found = copy_set
        if copy_set is not None:
            copies, may_have_parts = await self._usable(copy_set, request, client, rule), copy_set.may_have_parts
        if copy_set is not None or isinstance(decision, Load):
            decision = on_request(request, copies, rule, self.site, now_s)
        if isinstance(decision, Ask | Refuse) and other is not None:
            decision = await self._on_equivalent(other, request, client, now_s) or decision
        return decision, copies, may_have_parts

    async def _on_equivalent(self, url: str, request: Request, client: Client, now_s: float) -> Serve | None:
        """Return how a copy of another URL, which differs only in what does not matter, answers a request."""
        other = equivalent(request, url)
        if other is None:
            return None
        rule = self._rule(other)
        copy_set = await self._store.copies(other.target.url, other.partition)
        copies = await self._usable(copy_set, other, client, rule)
        return on_equivalent(request, other, copies, rule, self.site, now_s)

    async def _by_parts(
        self, context: RequestContext, client: Client, rule: DomainRule, decision: Decision, copies: tuple[Copy, ...]
    ) -> Answer | Decision:
        """Return the answer by stored parts, or the decision on what the origin is asked for."""
        request = context.request
        if not may_use_parts(request, decision):
            return decision
        in_parts = await self._store.copies(request.target.url, partition_of(request.partition))
        parts = await self._usable(in_parts, request, client, rule)
        while parts:
            found = on_parts(request, decision, parts, copies, rule, self.site, context.record.time_s)
            if not isinstance(found, ServeParts):
                return found
            sources = await self._parts.sources(found.parts)
            if sources is not None:
                member = note_hit(context, found.reuse)
                if rule.counts_demand:
                    for part in found.parts:
                        self._store.demand.count(part, context.record.time_s)
                instead = None
                if isinstance(decision, Ask):
                    contact = Contact(context, decision, rule, self._background)
                    head = as_complete(found.parts[0], found.size).head
                    instead = RestReader(self._origin, contact, head).read_span
                return self._answers.from_parts(context, found, sources, member, instead)
            parts = await self._present(parts)
        return decision

    async def _present(self, parts: tuple[Copy, ...]) -> tuple[Copy, ...]:
        """Return the parts whose content is still in the store."""
        return tuple([part for part in parts if await self._stored.of(part) is not None])

    def _is_outdated(self, pending: Pending) -> bool:
        """Whether the copies in memory have changed since the decision."""
        request, in_memory = pending.context.request, pending.in_memory
        return in_memory is not None and in_memory is not self._store.hot(request.target.url, request.partition)

    async def prefetch(self, request: Request, reach: Reach, *, watched: bool = False) -> Prefetched | None:
        """Refresh a copy that no client has requested; learn from the response and store it as usual.

        Returns None if the object is being fetched already, or if there is no copy with a validator that answers this
        request; if the object is `watched`, it is fetched whole then. Raises OriginError if the content is truncated.
        """
        rule = self._rule(request)
        copy_set = await self._store.copies(request.target.url, request.partition)
        ask = ask_again(request, copy_set.copies, rule, self.site, watched=watched)
        if ask is None:
            return None
        context = RequestContext.of(request, "", reach, self._clock.monotonic(), self._clock.now(), background=True)
        if not await self._joiner.prefetch(Contact(context, ask, rule, self._background)):
            return None
        status = None if context.origin_head is None else context.origin_head.status
        return Prefetched(context.record.outcome, status, context.record.received_bytes, context.learnt)

    def refused(self, request: Request, client: Client, status: int, detail: str, message: str = "") -> Answer:
        """Return an error response of the proxy's own."""
        return self._answers.refused(self._context(request, client, self._clock.now()), status, detail, message)

    async def _usable(
        self, copy_set: CopySet, request: Request, client: Client, rule: DomainRule
    ) -> tuple[Copy, ...]:
        """Return the copies that the client may get, with the verdict of the current rule."""
        return tuple([await self._evaluated(copy, rule) for copy in self._visible_to(request, client, copy_set.copies)])

    def _visible_to(self, request: Request, client: Client, copies: tuple[Copy, ...]) -> tuple[Copy, ...]:
        """Return the copies, without those bound to other clients, or from this machine if the client is restricted."""
        if any(copy.client for copy in copies):
            own = ("", self._hash_of(request, client))
            copies = tuple(copy for copy in copies if copy.client in own)
        if not is_restricted(client) or not any(copy.local for copy in copies):
            return copies  # usually the same tuple, with which its index is cached
        return tuple(copy for copy in copies if not copy.local)

    def _hash_of(self, request: Request, client: Client) -> str:
        credentials = self._proxy_credentials(client, request.fields)
        return client_hash(peer_of(client), credentials, request.fields, self.site.salt)

    def _rule(self, request: Request) -> DomainRule:
        return self._active.rules.rule_for(request.target.host, request.target.path)

    def _context(
        self, request: Request, client: Client, now_s: float, read_s: float | None = None, *, background: bool = False
    ) -> RequestContext:
        reach = BEYOND_THIS_MACHINE if is_restricted(client) else EVERYWHERE
        started_s = self._clock.monotonic() if read_s is None else read_s
        user = "" if background else self._proxy_user(client, request.fields)
        return RequestContext.of(request, peer_of(client), reach, started_s, now_s, user=user, background=background)

    async def _evaluated(self, copy: Copy, rule: DomainRule) -> Copy:
        """Return the copy with the verdict of the current rule: a new configuration applies at a copy's next use."""
        if copy.rule == rule.key:
            return copy
        record = await self._store.record(copy.url)
        evaluated = await self._evaluator.evaluated(copy, record, rule)
        self._store.put(evaluated, None)
        return evaluated

    async def _with_history(self, answer: Answer, request: Request, rule: DomainRule) -> Answer:
        """Add the object's updates for a downstream proxy that asks for them."""
        sends = self.site.reverse or rule.send_update_history
        if sends and piggyback.is_requested(request.fields) and not answer.is_refusal:
            record = await self._store.record(request.target.url)
            if record is not None:
                fields = answer.head.fields.without(piggyback.RESPONSE_FIELDS)
                value = piggyback.written(record.updates, record.since_s, record.unseen)
                pattern = None
                if record.n_updates < piggyback.PATTERN_BELOW:
                    group = await self._evaluator.group(request.target.host, rule, record.cache_group)
                    pattern = piggyback.pattern_written(group, self._clock.now())
                lines = [(piggyback.UPDATES, value), *([(piggyback.PATTERN, pattern)] if pattern else [])]
                answer.head = replace(answer.head, fields=fields.added(*lines))
        return answer


def _pass_interim(interim: Interim, site: Site, head: Head) -> None:
    interim(heads.interim(head, site))
