"""What is gathered of one request while it is answered, to be told when it is over."""

import asyncio
from dataclasses import dataclass, field

from bestbefore.addon.admin.event import Answered, Outcome
from bestbefore.addon.engine.learning import Learnt
from bestbefore.addon.proxy.access.reach import LOOPBACK, Reach
from bestbefore.addon.proxy.exchange.interim import Interim, nobody
from bestbefore.addon.rfc9111.message import Request


@dataclass(slots=True)
class RequestContext:
    """One request. Its parts have the meaning of those of `Answered`."""

    request: Request
    client: str
    reach: Reach
    """Which addresses may be connected to for it."""
    started_s: float
    """Monotonic."""
    time_s: float
    outcome: Outcome = Outcome.MISS
    reason: str = ""
    status: int = 0
    ttl_s: float | None = None
    received_bytes: int = 0
    encoding: str = ""
    facts: dict[str, bool] = field(default_factory=dict)
    """Those of contact, validation, unnecessary, update, stored and background that are known."""
    would_differ: str = ""
    filling: asyncio.Task[None] | None = None
    """What reads the content of the origin's answer, if that goes on whether or not the client is still there."""
    origin_status: int | None = None
    """The status of the origin's answer, if there was one."""
    learnt: Learnt | None = None
    """What the contact taught, if it did."""
    interim: Interim = nobody
    """Who is told of interim responses, which go before the answer."""
    feed: str = ""
    spared_bytes: int = 0

    @property
    def restricted(self) -> bool:
        """Whether the client reaches no address of this machine itself."""
        return not self.reach.allows(LOOPBACK)

    def answered(self, now_s: float, sent_bytes: int, *, complete: bool) -> Answered:
        """The record of the request, which ended at `now_s` (monotonic)."""
        return Answered(
            time_s=self.time_s,
            duration_s=now_s - self.started_s,
            client=self.client,
            method=self.request.method,
            url=self.request.target.url,
            status=self.status,
            outcome=self.outcome,
            reason=self.reason,
            ttl_s=self.ttl_s,
            sent_bytes=sent_bytes,
            received_bytes=self.received_bytes,
            encoding=self.encoding,
            complete=complete,
            personal="cookie" in self.request.fields or "authorization" in self.request.fields,
            would_differ=self.would_differ,
            feed=self.feed,
            spared_bytes=self.spared_bytes,
            **self.facts,
        )
