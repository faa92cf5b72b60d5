"""The context of one request while it is answered: what is gathered for the log, and its question to the origin."""

from dataclasses import dataclass, replace

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.engine.learning import Learnt
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Ask, unconditional
from bestbefore.addon.proxy.access.reach import LOOPBACK, Reach
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.message import Request
from bestbefore.addon.rules import DomainRule


@dataclass(slots=True)
class RequestContext:
    """The context of one request, logged when it is over. Its fields mean what those of `Answered` do.

    It is written while the request is answered; what is done next goes by what is returned, not by this.
    """

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
    contact: bool = False
    validation: bool = False
    unnecessary: bool = False
    update: bool = False
    stored: bool = False
    background: bool = False
    would_differ: str = ""
    origin_status: int | None = None
    """The status of the origin's answer, if there was one."""
    learnt: Learnt | None = None
    """What the contact taught, if it did."""
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
            contact=self.contact,
            validation=self.validation,
            unnecessary=self.unnecessary,
            update=self.update,
            stored=self.stored,
            background=self.background,
            feed=self.feed,
            spared_bytes=self.spared_bytes,
        )


@dataclass(frozen=True, slots=True)
class Contact:
    """A question to the origin, and what it is asked for."""

    context: RequestContext
    ask: Ask
    rule: DomainRule
    background: BackgroundTasks
    """Where the content of the answer is read to its end, whether or not the client is still there."""
    interim: Interim = no_interim
    """Who is told of interim responses, which go before the answer."""
    upload: Upload | None = None
    """The content of the request."""

    def without_conditions(self) -> "Contact":
        """The same question, to be asked again after an answer about none of our copies."""
        return replace(self, ask=unconditional(self.ask))
