"""The record of an answered request, from which log line, metrics and summary are made."""

from dataclasses import dataclass

from bestbefore.addon.engine.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Answered:
    """A request and how it was answered."""

    time_s: float
    """Policy time at which the request came."""
    duration_s: float
    """Real seconds from the request to the end of the answer."""
    client: str
    """The client's address."""
    method: str
    url: str
    status: int
    outcome: Outcome
    reason: str
    """The word of Cache-Status' detail: the policy or rule that decided."""
    ttl_s: float | None = None
    """For how long the copy may still be served without contact; negative: for how long it has been stale."""
    sent_bytes: int = 0
    """Bytes of content sent to the client."""
    received_bytes: int = 0
    """Bytes of content received from the origin."""
    encoding: str = ""
    """The Content-Encoding of the content, as sent and as received: the proxy never changes it."""
    contact: bool = False
    """Whether an origin was asked."""
    validation: bool = False
    """Whether the contact asked if a stored copy is current."""
    unnecessary: bool = False
    """A validation that found the object unchanged."""
    update: bool = False
    """Whether this contact taught an update of the object."""
    stored: bool = False
    complete: bool = True
    """False: the answer was cut short."""
    personal: bool = False
    """Whether the request bore Cookie or Authorization."""
    background: bool = False
    """Whether no client waited for it: a copy was refreshed after it had been served, or before it is requested. It is
    no request of anybody, and yet a contact."""
    would_differ: str = ""
    """What `shorten` or `override` would have done otherwise: `validated`, `hit`, or nothing."""
    feed: str = ""
    """Of a feed, what the client got: `full`, `delta` (only new items) or `not-modified`; empty for what is none."""
    spared_bytes: int = 0
    """Content of a feed that the client was not sent, since it had it already."""
