"""One request from its arrival to its answer: asks the engine, and does what it says with store and origin.

This is the shell's main path. It decides nothing: `engine` and the policies do.
"""

import asyncio
import hashlib
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from dataclasses import replace
from pathlib import Path

from mitmproxy.connection import Client

from bestbefore.addon.admin.event import Answered, Outcome
from bestbefore.addon.clock import Clock
from bestbefore.addon.engine import heads, piggyback
from bestbefore.addon.engine.learning import Learnt
from bestbefore.addon.engine.observation import Observation
from bestbefore.addon.engine.request import Ask, Refuse, Serve, on_request, unconditional
from bestbefore.addon.engine.response import (
    Again,
    Confirmed,
    Fallback,
    Relay,
    Times,
    completed,
    observed,
    observed_unchanged,
    on_failure,
    on_response,
)
from bestbefore.addon.engine.site import Site
from bestbefore.addon.proxy.access import is_local
from bestbefore.addon.proxy.answer import Answer
from bestbefore.addon.proxy.judge import Judge
from bestbefore.addon.proxy.origin import Failure, Fetched, Origin, OriginError
from bestbefore.addon.proxy.tale import Tale
from bestbefore.addon.rfc9111 import cache_status
from bestbefore.addon.rfc9111.cache_status import Fwd
from bestbefore.addon.rfc9111.copy import BodyRef, Copy
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rfc9111.reuse import expiry
from bestbefore.addon.rules import Rule, Rules
from bestbefore.addon.store.store import Store

logger = logging.getLogger(__name__)

WHOLE_BYTES = 16 * 1024
"""Content announced to be no larger is read whole before it is sent, which saves two turns of the event loop."""


class Exchanges:
    """Answers requests from the store and the origin."""

    def __init__(
        self, clock: Clock, store: Store, origin: Origin, rules: Rules, site: Site, tell: Callable[[Answered], None]
    ) -> None:
        self.rules = rules
        self.site = site
        self._clock = clock
        self._store = store
        self._origin = origin
        self._tell = tell
        self._judge = Judge(store)
        self._background: set[asyncio.Task[None]] = set()

    def reconfigured(self, rules: Rules, site: Site) -> None:
        """New rules from the next request on; copies are judged anew when they are next used."""
        self.rules, self.site = rules, site
        self._judge.forget()

    async def close(self) -> None:
        """End what runs in the background."""
        for task in self._background:
            task.cancel()
        await asyncio.gather(*self._background, return_exceptions=True)

    # The two ways in.

    def hit(self, request: Request, client: Client) -> Answer | None:
        """The answer from copies in memory; None if the store or the origin must be asked."""
        held = self._store.hot(request.target.url, request.partition)
        if held is None or (self.site.reverse and piggyback.WANT in request.fields):
            return None
        now_s = self._clock.now()
        rule = self.rules.rule_for(request.target.host, request.target.path)
        if any(copy.rule != rule.key for copy in held.copies):
            return None
        decision = on_request(request, held.copies, rule, self.site, now_s)
        if not isinstance(decision, Serve) or decision.refresh is not None:
            return None
        body = held.bodies.get(decision.copy.body.digest)
        if body is None:
            return None
        return self._served(self._begin(request, client, now_s), decision, body)

    async def answer(self, request: Request, client: Client) -> Answer:
        """The answer after asking the store and, if it must be, the origin."""
        now_s = self._clock.now()
        tale = self._begin(request, client, now_s)
        rule = self.rules.rule_for(request.target.host, request.target.path)
        copies = (await self._store.copies(request.target.url, request.partition)).copies
        copies = tuple([await self._judged(copy, rule) for copy in copies])
        while True:
            decision = on_request(request, copies, rule, self.site, now_s)
            if isinstance(decision, Refuse):
                return self._refused(tale, decision.status, decision.detail)
            if isinstance(decision, Ask):
                return await self._ask(tale, decision, rule)
            served = await self._from_store(tale, decision)
            if served is not None:
                if decision.refresh is not None:
                    self._spawn(self._refresh(self._begin(request, client, now_s), decision.refresh, rule))
                return await self._with_history(served, request)
            # Its content is gone (evicted, say): as if there were no such copy.
            copies = tuple(copy for copy in copies if copy is not decision.copy)

    def refused(self, request: Request, client: Client, status: int, detail: str) -> Answer:
        """An error of our own."""
        return self._refused(self._begin(request, client, self._clock.now()), status, detail)

    def _begin(self, request: Request, client: Client, now_s: float) -> Tale:
        self._store.requested(request.target.url)
        address = client.peername[0] if client.peername else ""
        return Tale(request, address, not is_local(address), self._clock.monotonic(), now_s)

    async def _judged(self, copy: Copy, rule: Rule) -> Copy:
        """The copy with the verdict of the present rule: a changed configuration takes effect at its next use."""
        if copy.rule == rule.key:
            return copy
        record = await self._store.record(copy.url)
        judged = await self._judge.judged(copy, record, rule, self.rules)
        self._store.put(judged, None)
        return judged

    # From the store.

    def _served(self, tale: Tale, serve: Serve, body: bytes) -> Answer:
        head = self._head_from_store(tale, serve)
        return self._answer(tale, head, body if tale.request.method == "GET" and head.status != 304 else b"")

    def _head_from_store(self, tale: Tale, serve: Serve) -> Head:
        reuse = serve.reuse
        tale.outcome = Outcome.HIT if reuse.ttl_s is None or reuse.ttl_s > 0 else Outcome.STALE
        tale.reason, tale.ttl_s = reuse.reason, reuse.ttl_s
        tale.encoding = serve.copy.head.fields.get("content-encoding") or ""
        tale.would_differ = "validated" if serve.shorten_would_validate else ""
        member = cache_status.hit(ttl_s=reuse.ttl_s, detail=reuse.reason)
        return heads.from_copy(tale.request, serve.copy, tale.time_s, member, self.site)

    async def _from_store(self, tale: Tale, serve: Serve) -> Answer | None:
        body = await self._store.body(serve.copy)
        if body is None:
            return None
        if isinstance(body, bytes):
            return self._served(tale, serve, body)
        head = self._head_from_store(tale, serve)
        return self._from_file(tale, head, body)

    def _from_file(self, tale: Tale, head: Head, path: Path) -> Answer:
        if tale.request.method == "HEAD" or head.status == 304:
            return self._answer(tale, head)
        return self._answer(tale, head, chunks=_file_chunks(path))

    async def _refresh(self, tale: Tale, ask: Ask, rule: Rule) -> None:
        """Validate in the background; the answer has no reader."""
        tale = replace(tale, started_s=self._clock.monotonic(), time_s=self._clock.now())
        answer = await self._ask(tale, ask, rule)
        if answer.chunks is not None:
            async for _ in answer.chunks:
                pass
        answer.finish(0, complete=True)

    async def _with_history(self, answer: Answer, request: Request) -> Answer:
        """Add the object's updates for a downstream proxy that asks for them."""
        if self.site.reverse and piggyback.wanted(request.fields):
            record = await self._store.record(request.target.url)
            history = record.history() if record is not None else None
            value = piggyback.written(history.times_s.tolist(), history.since_s) if history is not None else None
            if value is not None:
                answer.head = replace(answer.head, fields=answer.head.fields.replaced(piggyback.UPDATES, value))
        return answer

    # From the origin.

    async def _ask(self, tale: Tale, ask: Ask, rule: Rule) -> Answer:
        tale.facts.update(contact=True, validation=ask.chosen is not None)
        tale.would_differ = "hit" if ask.override_would_serve else ""
        if ask.bypass:
            tale.outcome = Outcome.BYPASS
        try:
            fetched = await self._origin.fetch(ask.sent, restricted=tale.restricted)
        except OriginError as error:
            return await self._failed(tale, ask, rule, error)
        tale.encoding = fetched.head.fields.get("content-encoding") or ""
        times = Times(fetched.request_time_s, fetched.response_time_s)
        decision = on_response(ask, fetched.head, times, rule, self.site)
        if isinstance(decision, Relay):
            return await self._relay(tale, ask, rule, fetched, decision)
        await fetched.chunks.aclose()
        if isinstance(decision, Again):
            return await self._ask(tale, unconditional(ask), rule)
        if isinstance(decision, Fallback):
            return await self._fallback(tale, decision, fetched.head.status) or self._refused(
                tale, 502, Failure.MALFORMED
            )
        return await self._confirmed(tale, ask, rule, decision)

    async def _failed(self, tale: Tale, ask: Ask, rule: Rule, error: OriginError) -> Answer:
        fallback = on_failure(ask, rule, self._clock.now())
        answer = await self._fallback(tale, fallback, None) if fallback is not None else None
        status = 504 if error.failure is Failure.TIMEOUT else 502
        return answer or self._refused(tale, status, error.failure, str(error))

    async def _fallback(self, tale: Tale, fallback: Fallback, status: int | None) -> Answer | None:
        """Serve a copy in place of the answer that the origin did not give."""
        body = await self._store.body(fallback.copy)
        if body is None:
            return None
        reuse = fallback.reuse
        tale.outcome, tale.reason, tale.ttl_s = Outcome.STALE, reuse.reason, reuse.ttl_s
        member = cache_status.forwarded(Fwd.STALE, fwd_status=status, ttl_s=reuse.ttl_s, detail=reuse.reason)
        head = heads.from_copy(tale.request, fallback.copy, tale.time_s, member, self.site)
        if isinstance(body, Path):
            return self._from_file(tale, head, body)
        return self._answer(tale, head, body if tale.request.method == "GET" and head.status != 304 else b"")

    async def _confirmed(self, tale: Tale, ask: Ask, rule: Rule, decision: Confirmed) -> Answer:
        copy = decision.copy
        body = await self._store.body(copy)
        if body is None:
            return await self._ask(tale, unconditional(ask), rule)
        learnt = await self._learn(observed_unchanged(ask.request, copy, rule, self.site, decision.reported), tale)
        copy = await self._judge.judged(copy, learnt.record, rule, self.rules)
        if decision.storable:
            for renewed in (copy, *decision.others):
                self._store.put(renewed, None)
        else:
            self._store.drop(copy.url)
        now_s = self._clock.now()
        tale.outcome = Outcome.VALIDATED
        tale.reason, tale.ttl_s = _prospect(ask.request, copy, rule, now_s)
        tale.facts.update(unnecessary=True, stored=decision.storable)
        member = cache_status.forwarded(
            ask.fwd, fwd_status=304, ttl_s=tale.ttl_s, stored=decision.storable, detail=ask.detail
        )
        head = heads.from_copy(tale.request, copy, now_s, member, self.site)
        if isinstance(body, Path):
            answer = self._from_file(tale, head, body)
        else:
            answer = self._answer(tale, head, body if tale.request.method == "GET" and head.status != 304 else b"")
        return await self._with_history(answer, tale.request)

    async def _relay(self, tale: Tale, ask: Ask, rule: Rule, fetched: Fetched, relay: Relay) -> Answer:
        """Pass an answer on, collecting its content on the way if it is to be kept."""
        if relay.drops:
            self._store.drop(ask.request.target.url)
        for copy in relay.replaces:
            self._store.put(copy, None)
        stores = not relay.why_not_stored
        if tale.outcome is not Outcome.BYPASS:
            tale.outcome = Outcome.UPDATED if ask.chosen is not None else Outcome.MISS
        tale.reason = ask.detail or relay.why_not_stored or ask.fwd
        tale.facts["stored"] = stores
        member = cache_status.forwarded(
            ask.fwd, fwd_status=fetched.head.status, stored=stores, detail=ask.detail or relay.why_not_stored
        )
        answer = self._answer(tale, heads.passed_on(relay.head, self._clock.now(), member, self.site))
        chunks = self._collected(tale, ask.request, rule, fetched, relay)
        if fetched.length is not None and fetched.length <= WHOLE_BYTES:
            try:
                answer.body = b"".join([chunk async for chunk in chunks])
            except OriginError as error:
                return await self._failed(tale, ask, rule, error)
        else:
            answer.chunks = chunks
        return await self._with_history(answer, tale.request)

    async def _collected(
        self, tale: Tale, request: Request, rule: Rule, fetched: Fetched, relay: Relay
    ) -> AsyncGenerator[bytes]:
        """The content as it comes. Once it is complete, and before its end is passed on, the copy is stored."""
        kept: list[bytes] | None = [] if not relay.why_not_stored else None
        digest, size, ended = hashlib.blake2b(digest_size=20), 0, False
        try:
            async for chunk in fetched.chunks:
                size += len(chunk)
                tale.received_bytes = size
                if relay.draft is not None:
                    digest.update(chunk)
                if kept is not None:
                    kept.append(chunk)
                    if size > self.site.max_cached_body:
                        kept, tale.facts["stored"] = None, False
                if size == fetched.length:
                    # Now rather than after it has been sent: the client's next request may be here at once.
                    ended = True
                    await self._keep(tale, request, rule, relay, BodyRef(digest.hexdigest(), size), kept)
                yield chunk
            if not ended:
                await self._keep(tale, request, rule, relay, BodyRef(digest.hexdigest(), size), kept)
        finally:
            await fetched.chunks.aclose()

    async def _keep(
        self, tale: Tale, request: Request, rule: Rule, relay: Relay, body: BodyRef, kept: list[bytes] | None
    ) -> None:
        """Learn from a complete answer, and store it if it may be."""
        if relay.draft is None:
            return
        copy = completed(relay, body, complete=kept is not None)
        told = relay.draft if copy is None else copy
        digest = "" if told.head.status == 304 else body.digest
        learnt = await self._learn(
            observed(request, told, digest, rule, self.site, relay.reported), tale
        )
        tale.facts["stored"] = copy is not None
        if copy is not None and kept is not None:
            judged = await self._judge.judged(copy, learnt.record, rule, self.rules)
            self._store.put(judged, b"".join(kept))
            _, tale.ttl_s = _prospect(request, judged, rule, self._clock.now())

    async def _learn(self, observation: Observation, tale: Tale) -> Learnt:
        learnt = await self._store.learn(observation)
        tale.facts["update"] = bool(learnt.new_updates_s) and learnt.changed is True
        return learnt

    # To the client.

    def _refused(self, tale: Tale, status: int, detail: str, message: str = "") -> Answer:
        tale.outcome, tale.reason, tale.ttl_s = Outcome.REFUSED, detail, None
        body = f"bestbefore: {message or detail}\n".encode()
        member = f"{cache_status.NAME}; detail={detail}"
        head = heads.of_our_own(status, tale.time_s, member, len(body))
        return self._answer(tale, head, body if tale.request.method == "GET" else b"")

    def _answer(
        self, tale: Tale, head: Head, body: bytes = b"", chunks: AsyncGenerator[bytes] | None = None
    ) -> Answer:
        tale.status = head.status

        def sent(size: int, complete: bool) -> None:
            self._tell(tale.told(self._clock.monotonic(), size, complete=complete))

        return Answer(head, body, chunks, sent)

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._background.add(task)
        task.add_done_callback(self._background.discard)


def _prospect(request: Request, copy: Copy, rule: Rule, now_s: float) -> tuple[str, float | None]:
    """What will decide on the next request like this one, and for how long it will be served without contact."""
    expiry_s, reason = expiry(request, copy, rule)
    return reason, None if expiry_s is None else expiry_s - now_s


async def _file_chunks(path: Path) -> AsyncGenerator[bytes]:
    """The content of a file that may be unlinked while it is read."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        while chunk := await asyncio.to_thread(file.read, 256 * 1024):
            yield chunk
    finally:
        file.close()
