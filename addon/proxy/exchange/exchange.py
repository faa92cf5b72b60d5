"""The exchanges: one request from its arrival to its answer, by the engine's decisions, with store and origin.

This is the shell's main path. It decides nothing: `engine` and the policies do.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from mitmproxy.connection import Client

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import feed_delta, heads, piggyback
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Ask, Decision, Load, Refuse, Serve, ask_again, on_request, on_untouched
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access.access import is_restricted, peer_of
from bestbefore.addon.proxy.access.new_objects import NewObjects
from bestbefore.addon.proxy.access.reach import BEYOND_THIS_MACHINE, EVERYWHERE, Reach, range_of
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.budget import Budget
from bestbefore.addon.proxy.exchange.collecting import Collecting
from bestbefore.addon.proxy.exchange.contacts import Contacts
from bestbefore.addon.proxy.exchange.context import Contact, RequestContext
from bestbefore.addon.proxy.exchange.expiry_evaluator import ExpiryEvaluator
from bestbefore.addon.proxy.exchange.flight import Flights
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.exchange.joining import Joining
from bestbefore.addon.proxy.exchange.relaying import Relaying
from bestbefore.addon.proxy.exchange.sending import Present, Sending
from bestbefore.addon.proxy.exchange.stored import StoredContent
from bestbefore.addon.proxy.feeds.deltas import Deltas
from bestbefore.addon.proxy.feeds.feeds import FeedReader
from bestbefore.addon.proxy.origin.contact import OriginError, Source
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import DomainRule, Rules
from bestbefore.addon.store.backend.interface import Body, CopySet
from bestbefore.addon.store.store import Store


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that the store or the origin must be asked for, and what is decided on it."""

    context: RequestContext
    client: Client
    rule: DomainRule
    decision: Decision | Load
    copies: tuple[Copy, ...] = ()
    """Those that it was decided on."""
    held: CopySet | None = None
    """Those that were in memory then."""


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
        new_objects: NewObjects | None = None,
    ) -> None:
        """`budget`: of content in flight; None: there is no bound."""
        self._clock = clock
        self.counts_wants = False
        """Whether it is counted who asks for what, for prefetching."""
        self._store = store
        self._present = Present(rules, site)
        self._evaluator = ExpiryEvaluator(store, lambda: self._present.rules)
        self._sending = Sending(clock, self._present, on_answered)
        self._background = BackgroundTasks()
        feeds = FeedReader()
        budget = budget or Budget()
        self._stored = StoredContent(store, budget)
        collecting = Collecting(clock, store, self._evaluator, self._present, feeds, budget)
        contacts = Contacts(
            clock,
            store,
            origin,
            self._evaluator,
            self._present,
            self._sending,
            self._stored,
            collecting,
            Relaying(clock, store, self._present, self._sending, collecting, budget),
            new_objects or NewObjects(),
        )
        self._joining = Joining(clock, store, self._present, self._sending, contacts, flights or Flights())
        self._deltas = Deltas(store, feeds)

    @property
    def site(self) -> Site:
        """The settings that enter decisions."""
        return self._present.site

    def reconfigured(self, rules: Rules, site: Site) -> None:
        """Apply new rules from the next request on; copies are evaluated again when they are next used."""
        self._present.rules, self._present.site = rules, site
        self._evaluator.forget()

    async def close(self) -> None:
        """End what runs in the background."""
        await self._background.close()

    def decide(self, request: Request, client: Client, *, untouched: bool = False) -> Answer | Pending:
        """Return the answer from a copy in memory, or what is decided without it.

        Contacts no origin, and waits for nothing.

        `untouched`: the request only passes, whatever it is.
        """
        now_s = self._clock.now()
        rule = self._rule(request)
        if untouched:
            passing = on_untouched(request, self.site)
            return Pending(self._context(request, client, now_s), client, rule, passing)
        held = self._store.hot(request.target.url, request.partition)
        copies: tuple[Copy, ...] = ()
        complete = False
        if held is not None:
            copies, complete = _visible_to(client, held.copies), held.complete
            if any(copy.rule != rule.key for copy in copies):
                copies, complete = (), False  # they are to be evaluated, which takes time
        decision = on_request(request, copies, rule, self.site, now_s, complete=complete)
        context = self._context(request, client, now_s)
        if held is not None and isinstance(decision, Serve) and decision.refresh is None:
            body, fields = held.bodies.get(decision.copy.body.digest), request.fields
            # Else the answer may be cut, or be given the object's history, and that takes time.
            is_final = feed_delta.A_IM not in fields and not (self.site.reverse and piggyback.WANT in fields)
            if body is not None and is_final:
                self._count(context)
                return self._served(context, decision, body)
        return Pending(context, client, rule, decision, copies, held)

    async def answer(self, pending: Pending, interim: Interim = no_interim, upload: Upload | None = None) -> Answer:
        """The answer after asking the store and, if it must be, the origin; interim responses come before it.

        `upload`: the content of the request.
        """
        context, client, rule, decision = pending.context, pending.client, pending.rule, pending.decision
        request, copies = context.request, pending.copies
        if isinstance(decision, Load) or self._is_outdated(pending):
            copies = await self._copies(request, client, rule)
            decision = on_request(request, copies, rule, self.site, context.time_s)
        while isinstance(decision, Serve):
            body = await self._stored.of(decision.copy)
            if body is not None:
                if decision.refresh is not None:
                    refreshing = self._context(request, client, context.time_s, background=True)
                    self._joining.refresh(Contact(refreshing, decision.refresh, rule, self._background))
                answer = self._served(context, decision, body)
                break
            # Its content is gone (evicted, say): as if there were no such copy.
            gone = decision.copy
            copies = tuple(copy for copy in copies if copy is not gone)
            decision = on_request(request, copies, rule, self.site, context.time_s)
        if isinstance(decision, Refuse):
            return self._sending.refused(context, decision.status, decision.detail)
        if isinstance(decision, Ask):
            shown = partial(_pass_interim, interim, self.site)
            answer = await self._joining.ask(Contact(context, decision, rule, self._background, shown, upload))
            if decision.bypass:
                return answer
        if not answer.is_refusal:
            self._count(context)
        try:
            await self._deltas.shorten(answer, context, rule)
        except OriginError as error:
            return self._sending.refused(context, 502, error.failure, str(error))
        return await self._with_history(answer, request)

    def _is_outdated(self, pending: Pending) -> bool:
        """Whether other copies are in memory now than those that it was decided on."""
        request, held = pending.context.request, pending.held
        return held is not None and held is not self._store.hot(request.target.url, request.partition)

    async def prefetch(self, request: Request, reach: Reach) -> RequestContext | None:
        """Ask the origin for a copy although no client did, and learn and keep what comes as if one had.

        None if there is no copy with a validator that answers this request, or the origin is being asked already.
        Raises OriginError if the content breaks off.
        """
        rule = self._rule(request)
        found = await self._store.copies(request.target.url, request.partition)
        ask = ask_again(request, found.copies, rule, self.site)
        if ask is None:
            return None
        context = RequestContext(
            request, "", reach, self._clock.monotonic(), self._clock.now(), background=True
        )
        return context if await self._joining.prefetch(Contact(context, ask, rule, self._background)) else None

    def refused(self, request: Request, client: Client, status: int, detail: str, message: str = "") -> Answer:
        """An error of our own."""
        return self._sending.refused(self._context(request, client, self._clock.now()), status, detail, message)

    async def _copies(self, request: Request, client: Client, rule: DomainRule) -> tuple[Copy, ...]:
        found = await self._store.copies(request.target.url, request.partition)
        return tuple([await self._evaluated(copy, rule) for copy in _visible_to(client, found.copies)])

    def _rule(self, request: Request) -> DomainRule:
        return self._present.rules.rule_for(request.target.host, request.target.path)

    def _count(self, context: RequestContext) -> None:
        """Count a request that was answered. Of hosts that do not exist, which clients make up, nothing is kept."""
        url = context.request.target.url
        self._store.requested(url)
        if self.counts_wants and _is_for_all(context.request):
            self._store.planning.want(url, range_of(context.client))

    def _context(
        self, request: Request, client: Client, now_s: float, *, background: bool = False
    ) -> RequestContext:
        reach = BEYOND_THIS_MACHINE if is_restricted(client) else EVERYWHERE
        started_s = self._clock.monotonic()
        return RequestContext(request, peer_of(client), reach, started_s, now_s, background=background)

    async def _evaluated(self, copy: Copy, rule: DomainRule) -> Copy:
        """The copy with the verdict of the present rule: a changed configuration takes effect at its next use."""
        if copy.rule == rule.key:
            return copy
        record = await self._store.record(copy.url)
        evaluated = await self._evaluator.evaluated(copy, record, rule)
        self._store.put(evaluated, None)
        return evaluated

    def _served(self, context: RequestContext, serve: Serve, body: Body) -> Answer:
        reuse = serve.reuse
        context.outcome = Outcome.HIT if reuse.ttl_s is None or reuse.ttl_s > 0 else Outcome.STALE
        context.reason, context.ttl_s = reuse.reason, reuse.ttl_s
        context.would_differ = "validated" if serve.shorten_would_validate else ""
        member = cache_status.hit(ttl_s=reuse.ttl_s, detail=reuse.reason)
        return self._sending.from_copy(context, serve.copy, body, member)

    async def _with_history(self, answer: Answer, request: Request) -> Answer:
        """Add the object's updates for a downstream proxy that asks for them."""
        if self.site.reverse and piggyback.is_requested(request.fields):
            record = await self._store.record(request.target.url)
            history = None if record is None else record.history()
            value = None if history is None else piggyback.written(history.times_s.tolist(), history.since_s)
            if value is not None:
                answer.head = replace(answer.head, fields=answer.head.fields.replaced(piggyback.UPDATES, value))
        return answer


def _pass_interim(interim: Interim, site: Site, head: Head) -> None:
    interim(heads.interim(head, site))


def _is_for_all(request: Request) -> bool:
    """Return whether a request is bound to no person: a GET without Cookie and credentials."""
    return request.method == "GET" and "cookie" not in request.fields and "authorization" not in request.fields


def _visible_to(client: Client, copies: tuple[Copy, ...]) -> tuple[Copy, ...]:
    """Return the copies less those of this machine itself, for a client that may not reach it."""
    if not is_restricted(client) or not any(copy.local for copy in copies):
        return copies  # these very ones, whose index is kept with them
    return tuple(copy for copy in copies if not copy.local)
