"""The record of an answered request, from which log line, metrics and summary are made."""

from dataclasses import dataclass

from bestbefore.addon.engine.outcome import Outcome


@dataclass(slots=True)
class Answered:
    """A request and how it was answered."""

    time_s: float
    """Policy time at which the request came."""
    client: str
    """The client's address."""
    method: str
    url: str
    duration_s: float = 0.0
    """Real seconds from the first byte of the request that was read to the last of the response that was written."""
    status: int = 0
    outcome: Outcome = Outcome.MISS
    reason: str = ""
    """The detail of Cache-Status: the policy or rule that decided."""
    ttl_s: float | None = None
    """The remaining lifetime of the copy, s; negative: how long it has been stale."""
    sent_bytes: int = 0
    """Bytes of content sent to the client."""
    received_bytes: int = 0
    """Bytes of content received from the origin."""
    uploaded_bytes: int = 0
    """Bytes of content received from the client."""
    user: str = ""
    """The proxy user who sent it; empty without valid credentials."""
    protocol: str = ""
    """The version of HTTP in which it was received, such as `HTTP/1.1`; empty: no client sent it."""
    agent: str = ""
    """The User-Agent of the request."""
    referer: str = ""
    encoding: str = ""
    """The Content-Encoding, which the proxy never changes."""
    contact: bool = False
    """Whether an origin was contacted."""
    validation: bool = False
    """Whether the contact validated a stored copy."""
    because: str = ""
    """The URL of the sibling because of whose change a fresh copy was validated; empty for all other validations."""
    unnecessary: bool = False
    """Whether a validation found the object unchanged."""
    update: bool = False
    """Whether this contact detected an update of the object."""
    stored: bool = False
    complete: bool = True
    """False: the response was truncated."""
    personal: bool = False
    """Whether the request had Cookie or Authorization."""
    background: bool = False
    """Whether no client waited for it: a stale copy was refreshed after it was served, or an object prefetched. It
    counts as a contact, but not as a request."""
    would_differ: str = ""
    """The different result under `shorten` (`validated`) or `override` (`hit`); empty if it is the same."""
    feed: str = ""
    """For a feed, what the client got: `full`, `delta` (only new items) or `not-modified`; empty for other objects."""
    spared_bytes: int = 0
    """Content of a feed that was not sent, since the client has it, bytes."""

    def again(self, time_s: float, duration_s: float, ttl_s: float | None, sent_bytes: int) -> "Answered":
        """Return the record of the same request, answered in the same way at another time."""
        return Answered(
            time_s, self.client, self.method, self.url, duration_s, self.status, self.outcome, self.reason, ttl_s,
            sent_bytes, self.received_bytes, self.uploaded_bytes, self.user, self.protocol, self.agent, self.referer,
            self.encoding, self.contact, self.validation, self.because, self.unnecessary, self.update, self.stored,
            self.complete, self.personal, self.background, self.would_differ, self.feed, self.spared_bytes,
        )  # fmt: skip
