"""The context of one request while it is answered: its log record, and its request to the origin."""

from dataclasses import dataclass, replace

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.engine.learning import RecordChange
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
    """The context of one request, logged when it is over. Its fields have the meaning of those of `Answered`.

    It is only written to while the request is answered: no decision reads it.
    """

    request: Request
    client: str
    reach: Reach
    """The addresses to which a contact for this request may connect."""
    started_s: float
    """When the request was received, by the monotonic clock."""
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
    """The status of the origin's response; None if there was none."""
    learnt: RecordChange | None = None
    """What was learnt from the contact; None if nothing."""
    feed: str = ""
    spared_bytes: int = 0

    @property
    def restricted(self) -> bool:
        """Whether the client may not reach addresses of the proxy's own machine."""
        return not self.reach.allows(LOOPBACK)

    def answered(self, now_s: float, sent_bytes: int, *, complete: bool) -> Answered:
        """Return the log record of the request, which ended at `now_s` (monotonic)."""
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
    """A request to the origin, and the request of a client that needs it."""

    context: RequestContext
    ask: Ask
    rule: DomainRule
    background: BackgroundTasks
    """Runs the task that reads the content of the response to its end, even if the client disconnects."""
    interim: Interim = no_interim
    """Called with each interim response."""
    upload: Upload | None = None
    """The content of the request."""

    def without_conditions(self) -> "Contact":
        """Return the contact without conditions, to be made again after a 304 that matches no stored copy."""
        return replace(self, ask=unconditional(self.ask))
