"""Answers from copies, counted as requests; and their repetition while nothing changes."""

import weakref
from collections.abc import Callable

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import feed_delta, piggyback
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Serve
from bestbefore.addon.proxy.access.reach import range_of
from bestbefore.addon.proxy.exchange.answer import Answer
from bestbefore.addon.proxy.exchange.answer_builder import ActiveConfig, AnswerBuilder
from bestbefore.addon.proxy.exchange.context import RequestContext
from bestbefore.addon.rfc9111.caching.reuse import Reuse
from bestbefore.addon.rfc9111.caching.unchanged import unchanged_until_s
from bestbefore.addon.rfc9111.fields import cache_status
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.backend.interface import Body, CopySet
from bestbefore.addon.store.store import Store


class Hits:
    """Answers requests with copies."""

    def __init__(
        self,
        clock: Clock,
        store: Store,
        active: ActiveConfig,
        answers: AnswerBuilder,
        on_answered: Callable[[Answered], None],
        counts_demand: Callable[[], bool],
    ) -> None:
        """`counts_demand`: whether the store counts which networks request which object, for prefetching."""
        self.clock = clock
        self.store = store
        self.active = active
        self.on_answered = on_answered
        self._answers = answers
        self._counts_demand = counts_demand

    def from_memory(
        self, context: RequestContext, serve: Serve, in_memory: CopySet, rule: DomainRule
    ) -> Answer | None:
        """Return the answer from a copy whose content is in memory; None if that needs the store."""
        body, fields = in_memory.bodies.get(serve.copy.body.digest), context.request.fields
        # The answer may become a delta, or get the object's history.
        if body is None or feed_delta.A_IM in fields or piggyback.WANT in fields:
            return None
        self.count(context.request, context.record.client)
        answer = self.served(context, serve, body, rule)
        now_s = context.record.time_s
        until_s = unchanged_until_s(context.request, serve.copy, serve.reuse, now_s)
        if until_s > now_s:
            answer.repeat = Repeat(self, context, serve, in_memory, until_s, len(answer.body), rule.counts_demand)
        return answer

    def served(self, context: RequestContext, serve: Serve, body: Body, rule: DomainRule) -> Answer:
        """Return the answer from a copy with this content."""
        if rule.counts_demand:
            self.store.demand.count(serve.copy, context.record.time_s)
        member = note_hit(context, serve.reuse)
        context.record.would_differ = "validated" if serve.shorten_would_validate else ""
        return self._answers.from_copy(context, serve.copy, body, member)

    def count(self, request: Request, client: str) -> None:
        """Count a request that was answered. Failed requests, such as those to invented host names, are not counted."""
        url = request.target.url
        self.store.requested(url)
        if self._counts_demand() and _is_anonymous(request):
            self.store.planning.want(url, range_of(client))


class Repeat:
    """A hit that the same request of the same client gets again, until the copies, settings or time change it.

    The decision is a function of these, of the request, and of what the client's connection has sent before.
    """

    __slots__ = (
        "_context", "_counts_demand", "_hits", "_in_memory", "_key", "_serve", "_site", "_size", "_started_s",
        "_time_s", "_until_s",
    )  # fmt: skip

    def __init__(
        self,
        hits: Hits,
        context: RequestContext,
        serve: Serve,
        in_memory: CopySet,
        until_s: float,
        size: int,
        counts_demand: bool,
    ) -> None:
        request = context.request
        self._hits = hits
        self._context = context
        self._serve = serve
        self._in_memory = weakref.ref(in_memory)  # it has the content of all variants, which memory may evict
        self._key = (request.target.url, request.partition)
        self._site = hits.active.site
        self._until_s = until_s
        self._size = size
        self._counts_demand = counts_demand
        self._time_s = self._started_s = 0.0

    def begin(self) -> bool:
        """Whether the request, received again now, gets this answer; `finish` must follow then, before another."""
        hits, site, copy = self._hits, self._site, self._serve.copy
        now_s = hits.clock.now()
        if not self._context.record.time_s <= now_s < self._until_s or hits.active.site is not site:
            return False  # each configuration has another `site`
        in_memory = hits.store.hot(*self._key)
        if in_memory is None or in_memory is not self._in_memory():
            return False
        if copy.sibling_chance < 1.0 and site.outdating(copy) is not None:
            return False
        self._time_s, self._started_s = now_s, hits.clock.monotonic()
        return True

    def finish(self) -> None:
        """Count the request, and record that the answer was sent."""
        hits, first, now_s = self._hits, self._context.record, self._time_s
        hits.count(self._context.request, first.client)
        if self._counts_demand:
            hits.store.demand.count(self._serve.copy, now_s)
        ttl_s = None if first.ttl_s is None else first.ttl_s - (now_s - first.time_s)
        hits.on_answered(first.again(now_s, hits.clock.monotonic() - self._started_s, ttl_s, self._size))


def note_hit(context: RequestContext, reuse: Reuse) -> str:
    """Record that a stored response answers; return the proxy's member of Cache-Status."""
    context.record.outcome = Outcome.HIT if reuse.ttl_s is None or reuse.ttl_s > 0 else Outcome.STALE
    context.record.reason, context.record.ttl_s = reuse.reason, reuse.ttl_s
    return cache_status.hit(ttl_s=reuse.ttl_s, detail=reuse.reason)


def _is_anonymous(request: Request) -> bool:
    """Whether a request identifies no user: a GET without Cookie and credentials."""
    return request.method == "GET" and "cookie" not in request.fields and "authorization" not in request.fields
