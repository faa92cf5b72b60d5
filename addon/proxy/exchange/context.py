"""The context of one request while it is answered: its log record, and its request to the origin."""

from dataclasses import dataclass, replace
from typing import Self

from mitmproxy.connection import Client

from bestbefore.addon.admin.event import Answered
from bestbefore.addon.engine.learning import RecordChange
from bestbefore.addon.engine.outcome import Outcome
from bestbefore.addon.engine.request import Ask, Decision, Load, unconditional
from bestbefore.addon.proxy.access.reach import LOOPBACK, Reach
from bestbefore.addon.proxy.exchange.answer import Ready
from bestbefore.addon.proxy.exchange.background import BackgroundTasks
from bestbefore.addon.proxy.exchange.interim import Interim, no_interim
from bestbefore.addon.proxy.origin.upload import Upload
from bestbefore.addon.rfc9111.copy import Copy
from bestbefore.addon.rfc9111.message import Head, Request
from bestbefore.addon.rules import DomainRule
from bestbefore.addon.store.backend.interface import CopySet
from bestbefore.addon.store.contacts.leases import ContactLease


@dataclass(slots=True)
class RequestContext:
    """The context of one request while it is answered.

    Its log record is completed while the request is answered; decisions read nothing of it but the time.
    """

    request: Request
    reach: Reach
    """The addresses to which a contact for this request may connect."""
    started_s: float
    """When the request was received, by the monotonic clock."""
    record: Answered
    origin_head: Head | None = None
    """The head of the origin's response; None if there was none."""
    client_hash: str = ""
    """The hash of the client (`personal.client_hash`); empty for a background fetch."""
    learnt: RecordChange | None = None
    """What was learnt from the contact; None if nothing."""
    upload: Upload | None = None
    """The content of the request."""
    ready: Ready | None = None
    """None: the client gets the answer when all is done, or the answer may still be changed."""
    lease: ContactLease | None = None
    """The lease of a contact that was taken with a look-up."""
    decided_on: tuple[Copy, ...] = ()
    """The copies on which the decision to make a contact is based."""
    found: CopySet | None = None
    """The copies that the look-up of a likely contact has found: others were stored after the request came."""

    @classmethod
    def of(
        cls,
        request: Request,
        client: str,
        reach: Reach,
        started_s: float,
        time_s: float,
        *,
        user: str = "",
        background: bool = False,
    ) -> Self:
        """Return the context of a request received at `time_s` (policy time), and at `started_s` (monotonic)."""
        fields = request.fields
        personal = "cookie" in fields or "authorization" in fields
        url = request.target.url
        record = Answered(time_s, client, request.method, url, personal=personal, background=background)
        record.user, record.protocol = user, "" if background else request.version
        record.agent, record.referer = fields.get("user-agent") or "", fields.get("referer") or ""
        return cls(request, reach, started_s, record)

    @property
    def requested_s(self) -> float | None:
        """When a client sent the request; None for a background fetch."""
        return None if self.record.background else self.record.time_s

    @property
    def restricted(self) -> bool:
        """Whether the client may not reach addresses of the proxy's own machine."""
        return LOOPBACK not in self.reach.ranges

    def answered(self, now_s: float, sent_bytes: int, *, complete: bool) -> Answered:
        """Return the log record of the request, which ended at `now_s` (monotonic)."""
        self.record.duration_s = now_s - self.started_s
        self.record.sent_bytes, self.record.complete = sent_bytes, complete
        self.record.uploaded_bytes = 0 if self.upload is None else self.upload.size_bytes
        return self.record


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


@dataclass(frozen=True, slots=True)
class Pending:
    """A request that needs the store or the origin, and the decision on it so far."""

    context: RequestContext
    client: Client
    rule: DomainRule
    decision: Decision | Load
    copies: tuple[Copy, ...] = ()
    """The copies on which the decision is based."""
    in_memory: CopySet | None = None
    """The copies that were in memory at the decision."""


@dataclass(frozen=True, slots=True)
class Prefetched:
    """What the origin answered to a prefetch."""

    outcome: Outcome
    status: int | None
    """None: there was no answer."""
    received_bytes: int
    learnt: RecordChange | None
    """None: the answer taught nothing."""
